package program

import "testing"

func TestAwkProgramsThatReachFurtherAreNotReadOnly(t *testing.T) {
	for _, text := range []string{
		`{print /a;b/,"x" > "MK"}`, "{print 1,\n2 > \"MK\"}", "{print 1 &&\n2 > \"MK\"}",
		"{print 1 ||\n2 >\"MK\"}", `{print > $1}`, `{print >> "MK"}`, `{printf "x" > "MK"}`,
		`{printf("x") > "MK"}`, `{print (1)(2) > "MK"}`, `{print (1,2) > "MK"}`, `{print $1>5?"a":"b"}`,
		`{print a[1] > "MK"}`, `{print | "sh"}`, `{print |& "sh"}`, `{"id" | getline}`, `{"id" |& getline x}`,
		`{getline < "/etc/passwd"}`, `{getline x < "/etc/passwd"}`, `{while ((getline l < "f") > 0) print l}`,
		`{system("id")}`, `{system ("id")}`, `BEGIN{system("id")}`, `@load "x"`, `@include "x"`,
		"@namespace \"x\"\n{print}", `{f = "system"; @f("id")}`, `{print ENVIRON["HOME"]}`, `{SYMTAB["ARGV"]}`,
		`BEGIN{ARGV[1]="/etc/passwd"}`, `BEGIN {ARGC=3}`, `{PROCINFO["x","pty"]=1}`, `{asort(a, b, "system")}`,
		`{print /[/]/ > "MK"; x = "]/"}`, `/[/]{print>"MK"}#/`, "\"a\\\nb\" {print > \"MK\"}",
		"# x\\\n{print > \"MK\"}", `{print "a" "b" > "MK" ".x"}`, `{x++ /a;print>"MK";b/ 1}`,
		`{print a -- > "MK"}`, `{print length > "MK"}`, `{length /a;print>"MK"/}`, `{print 0system("id")}`,
		`{print 0x1system("id")}`, `{print "x" > "/dev/stderr" "x"}`, `{print "x" > "/dev/tcp/a/1"}`,
		"{print\r> \"MK\"}", `{switch (x) {case 1: print > "MK"}}`,
		`function system2(x) {print x > "MK"} {system2(1)}`, `{print; print > "MK"}`, `{print a, b > c}`,
		`{print !a > b}`, `{print a >= b}`, "{print a\n> b}", `{print $1 in a > "MK"}`,
		`{print getline > "MK"}`, `{x = y |& getline}`, `{print (a) /b/ c > "MK"}`, `/a/{print /b/ > "MK"}`,
		`{print "a\"b" > "MK"}`, `{ print > "/dev/stdout"; print > "MK" }`, `a = 1 ? print > "x" : 2`,
	} {
		if u := Analyze([]Word{{Text: "awk"}, {Text: text, Quoted: true}, {Text: "f"}}, env); u.Class.ReadOnly() || !u.Literal {
			t.Errorf("%q: class %s, literal %v", text, u.Class, u.Literal)
		}
	}
}
