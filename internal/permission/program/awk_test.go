package program

import "testing"

func TestAwkProgramsThatOnlyPrintAreReadOnly(t *testing.T) {
	for _, text := range []string{
		``, `1`, `{print $1}`, `{ print $1, $NF }`, `/foo/`, `/foo/ {print}`, `$1 > 5`, `$1 > 5 {print $2}`,
		`NR>=10 && NR<=20`, `NR==1, /end/`,
		`BEGIN {FS=","} {print $2} END {print NR}`, `{s+=$1} END {print s/NR}`, `!seen[$0]++`,
		`{a[$1]++} END {for (k in a) print k, a[k]}`,
		`{print ($1>5 ? "a" : "b")}`, `{x = $1 > 5 ? "a" : "b"; print x}`, `{printf "%-10s %d\n", $1, $2}`,
		`{printf("%s|%s\n", $1, $2)}`,
		`length > 80`, `length($0) > 80 {print FILENAME ":" FNR ": " $0}`, `{gsub(/[^a-z]/, ""); print}`,
		`{sub("/$", ""); print}`,
		`function f(a, b) { return a > b ? a : b } {m = f(m, $1)} END {print m}`, `/a\/b/`, `/^[[:space:]]*#/ {next} {print}`,
		`{n = split($0, p, "/"); print p[n] / 2}`, `{print $1 / $2 / 3}`, `/start/{f=1} f; /end/{f=0}`, `{getline; print}`,
		`{ while ((getline line) > 0) n++ } END {print n}`,
		`BEGIN { while (getline > 0) n++; print n }`, `{print "x" > "/dev/stderr"}`,
		"{ if (/a/) {\n  print \"b\"\n} else\n  print \"c\" # d > e\n}",
		"BEGIN {\n\tfor (i = 0; i < 3; i++) {\n\t\tprint i\n\t}\n}\n",
		`BEGIN {PROCINFO["sorted_in"] = "@ind_str_asc"} {a[$1]} END {for (k in a) print k}`,
		`{do { x++ } while (x < 3); print x}`, `{print "a|b", "c>d"}`, `/a|b/`,
		`{x /= 2; print x}`, "a &&\nb {print}", "{print 1,\n2}", `{ delete a[1]; delete a }`, `{print (1,2) in a}`,
		`{print a[1,2]}`, `{print -1 " " -$2}`, `NF{print $NF}`,
		`{for (;;) break}`, `{exit}`, `{exit 1}`, `{exit (1)}`, `{ $1 = ""; print }`,
		`{print toupper(substr($1,1,1)) substr($1,2)}`, `{print length}`,
		"# comment\n{print} # more", `{printf "%s\n", $1 ; next}`, `BEGIN{while(i++<3)print i}`,
		`{if(x)print 1;else print 2}`, `{ print $1 $2 }`,
	} {
		if why := awkDoes(text); why != "" {
			t.Errorf("%q: the program %s", text, why)
		}
	}
}

func TestAwkProgramsThatDoMoreAreNotReadOnly(t *testing.T) {
	for _, text := range []string{
		`{print /a;b/,"x" > "MK"}`, "{print 1,\n2 > \"MK\"}", "{print 1 &&\n2 > \"MK\"}", "{print 1 ||\n2 >\"MK\"}",
		`{print > $1}`, `{print >> "MK"}`, `{printf "x" > "MK"}`, `{printf("x") > "MK"}`,
		`{print (1)(2) > "MK"}`, `{print (1,2) > "MK"}`, `{print $1>5?"a":"b"}`, `{print a[1] > "MK"}`, `{print | "sh"}`,
		`{print |& "sh"}`, `{"id" | getline}`, `{"id" |& getline x}`,
		`{getline < "/etc/passwd"}`, `{getline x < "/etc/passwd"}`, `{while ((getline l < "f") > 0) print l}`,
		`{system("id")}`, `{system ("id")}`, `BEGIN{system("id")}`,
		`@load "x"`, `@include "x"`, "@namespace \"x\"\n{print}", `{f = "system"; @f("id")}`, `{print ENVIRON["HOME"]}`,
		`{SYMTAB["ARGV"]}`, `BEGIN{ARGV[1]="/etc/passwd"}`, `BEGIN {ARGC=3}`, `{PROCINFO["x","pty"]=1}`,
		`{close("x")}`, `{foo(1)}`, `{asort(a, b, "system")}`, `{print /[/]/ > "MK"; x = "]/"}`, `/[/]{print>"MK"}#/`,
		"\"a\\\nb\" {print > \"MK\"}", "# x\\\n{print > \"MK\"}", `{print "a" "b" > "MK" ".x"}`,
		`{if (x) /a/ }`, `{x++ /a;print>"MK";b/ 1}`, `{print a -- > "MK"}`, `{print length > "MK"}`,
		`{length /a;print>"MK"/}`, `/=a/`, `{print 0system("id")}`, `{print 0x1system("id")}`,
		`{print 1e}`, `{print "x" > "/dev/stderr" "x"}`, `{print "x" > "/dev/tcp/a/1"}`, "{print\r> \"MK\"}", `{print "x`,
		`{print`, `{print}}`, `({print}`, `{switch (x) {case 1: print > "MK"}}`,
		`function system2(x) {print x > "MK"} {system2(1)}`, `func f(x) {print x}`, `function x(a) {return a} {print x (1)}`,
		`{print; print > "MK"}`, `{print a, b > c}`, `{print !a > b}`, `{print a >= b}`, "{print a\n> b}",
		`{print $1 in a > "MK"}`, `{print getline > "MK"}`, `{x = y |& getline}`, `{print (a) /b/ c > "MK"}`,
		`/a/{print /b/ > "MK"}`, `{print "a\"b" > "MK"}`, "{x=/a\n/;print}", `{eval("x")}`, `{print é}`,
		`{ print > "/dev/stdout"; print > "MK" }`, `a = 1 ? print > "x" : 2`,
	} {
		if awkDoes(text) == "" {
			t.Errorf("%q counts as read-only", text)
		}
	}
}
