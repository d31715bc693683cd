package shell

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestWordsOutOfAnotherCommandAsk(t *testing.T) {
	for _, line := range []string{
		// names of files nobody knows
		"wc -l $(cat list)", "cat $(find /)", "cat $(find .. -name x)", "cat $(find -L . -name x)",
		"cat $(git ls-files ../x)", "cat $(ls /etc)", "cat $(ls ~)", "cat $(git ls-files | sed s/a/b/)",
		"cat $(git log --format=%s)", "cat $(head -1 list)",
		"cat $(ls; echo /etc/passwd)", "cat $(ls && echo /etc/passwd)", "cat $(ls | cut -c3-)", "cat $(ls $(cat list))",
		"cat $(ls $X)", "cat $(echo $X)", "cat $(git ls-files < x | head)", "cat $(git -C /x ls-files)",
		"cat $(! git ls-files)", "cat $(git ls-files 2>&1)",
		// names with something before or behind them
		"cat ../$(ls)", "cat /$(ls)", "cat ~/$(ls)", "cat $(ls)/../../x", "cat $(ls).pem", "cat .$(ls)",
		"cat src/../../$(ls)", "cat src/$(git ls-files)", "cat -$(ls)", "cat $(ls)$(ls)", "cat src/$(ls a/b)",
		"wc --files0-from=$(ls)",
		// programs that do more than read them
		"rm $(git ls-files)", "sort -o $(ls)", "sort -o x $(ls)", "tee $(ls)", "sed -i s/a/b/ $(ls)", "sed -n 'w x' $(ls)",
		"uniq $(ls)", "awk -f $(ls)", "sed -f $(ls) a", "sh $(ls)", "node $(ls)", "$(ls)", "$(ls) a", "env $(ls)",
		"find $(ls)", "grep -r x $(ls)", "grep -f $(ls) x y", "xxd $(ls)", "diff $(ls)",
		"cat $(ls) -A", "grep x $(ls) -f /etc/passwd", "FOO=1 cat $(ls)", "sudo cat $(ls)", "cat $(ls) /etc/passwd",
		"cat $(ls) ../x", "cat /etc/passwd $(ls)", "cat $(ls) > out", "cd $(ls)", "[ $(ls) ]", "[ -f $(ls) -o x ]",
		"test -f a -a $(ls)", "[ -v $(ls) ]", "[ $(ls) -nt x ]",
		// revisions
		"git show $(cat list)", "git show $(git rev-parse HEAD):.env", "git show $(git rev-parse HEAD:.env)",
		"git show $(git rev-parse HEAD)/x", "git show -$(git rev-parse HEAD)", "git show --output=$(git rev-parse HEAD)",
		"git show $(git rev-parse --git-dir)", "git show $(git rev-parse -- -x)", "git show $(git rev-parse --sq-quote x)",
		"git show $(git log --format=%s -1)", "git show $(git log -1)", "git show $(git log --format=%h --output=x)",
		"git show $(git log --format=%h%n/etc/passwd)", "git show $(git rev-list --objects HEAD)",
		"git show $(git rev-list --format=%s HEAD)", "git checkout $(git rev-parse HEAD)",
		"git reset --hard $(git rev-parse HEAD)", "git diff --no-index $(git rev-parse HEAD) /etc/passwd",
		"git branch -D $(git rev-parse HEAD)", "git show $(git -C /x rev-parse HEAD)",
		"git show $(git rev-parse HEAD | sed s/a/b/)", "git diff-index --no-index $(git rev-parse HEAD)",
		"git $(git rev-parse HEAD)",
		// loops
		"for f in $(cat list); do cat $f; done", "for f in $(ls); do rm $f; done", "for f in $(ls); do cat ../$f; done",
		"for f in $(ls); do cd $f; cat x; done", "for f in $(ls); do cat x; cd ..; done", "for f in $(ls); do $f; done",
		"for f in $(ls); do sh $f; done", "for f in $(ls); do cat $f > $f.x; done", "for f in $(ls); do eval $f; done",
		"for PATH in $(ls); do cat x; done", "for IFS in $(ls); do cat $IFS; done",
		"for f in $(ls); do cat $x; x=.env; done", "for f in $(ls); do cat ${f%x}; done",
		"for f in $(ls); do cat ${f/a/b}; done", "for f in $(ls); do cat \"${!f}\"; done",
		"for f in $(ls); do f=/etc/passwd; cat $f; done", "for f in $(ls) /etc/passwd; do cat $f; done",
		"for f in $(ls); do read f; cat $f; done",
		"select f in $(ls); do cat $f; done", "for f in $(ls); do (cd src; cat $f); done",
		"for f in $(ls); do cat $f; done; cat $f", "for f in $(ls); do export f; done",
		"for f in $(ls); do printf -v x %s $f; done", "for f in $(ls); do printf $f; done",
		"cat list | while read f; do cat $f; done", "while read f; do cat $f; done < list", "while read f; do cat $f; done",
		"git ls-files | while read f; do rm $f; done", "git ls-files | while read f; do cat /etc/$f; done",
		"git ls-files | while read -a f; do echo $f; done", "git ls-files | while read f g; do cat $f; done",
		"git ls-files | while read -u 3 f; do cat $f; done",
		"git ls-files | while read f; do sh; done", "git ls-files | while read f; do sh -c \"$f\"; done",
		"git ls-files | while read f < list; do cat $f; done", "git ls-files | while read f; do cat $f; done < list",
		"git ls-files | sed s/x/y/ | while read f; do cat $f; done", "until read f; do cat $f; done < x",
		"git ls-files | while IFS=/ read f; do cat $f; done",
		"git ls-files | while read 'a[$(touch x)]'; do echo; done", "git ls-files | while read PATH; do ls; done",
		"git ls-files | while read f; do xargs cat; done", "git ls-files | while true; do echo; done",
		"while read l; do echo $l; done < /etc/passwd", "while read l; do echo $l; done < .env",
		"while read l; do echo $l > x; done < a",
	} {
		r := read(line)
		if decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
}

func TestWordsOutOfAListAreGuardedLikeTheFiles(t *testing.T) {
	for line, want := range map[string]permission.Effect{
		"cat $(git ls-files '*.go')":                            permission.Allow,
		"cat $(git ls-files)":                                   permission.Allow,
		"cat $(ls)":                                             permission.Ask,
		"echo $(ls)":                                            permission.Allow,
		"wc -l $(find . -type f)":                               permission.Allow,
		"wc -l $(grep -rl foo .)":                               permission.Allow,
		"for f in $(ls); do cat $f; done":                       permission.Ask,
		"for f in $(ls); do echo $f; done":                      permission.Allow,
		"for f in $(ls src); do cat src/$f; done":               permission.Ask,
		"for f in $(find . -name '*.go'); do cat \"$f\"; done":  permission.Allow,
		"git ls-files | while read f; do head $f; done":         permission.Allow,
		"git ls-files | while read f; do echo $f; done":         permission.Allow,
		"git ls-files '*.go' | while read f; do head $f; done":  permission.Allow,
		"git ls-files '*.pem' | while read f; do head $f; done": permission.Allow,
	} {
		r := Analyze(line, proj, filed{names: []string{".env", "a.go", "server.pem"}})
		if got := decided(r, permission.Default); got != want {
			t.Errorf("%q: %s, want %s: %s", line, got, want, show(r))
		}
	}
	for _, line := range []string{
		"cat $(git ls-files)", "wc -l $(find . -type f)",
		"git ls-files | while read f; do head $f; done", "git ls-files '*.pem' | while read f; do head $f; done",
	} {
		if r := Analyze(line, proj, filed{names: []string{".env", "a.go", "server.pem"}}); !strings.Contains(
			r.Command.Script, "server.pem'") {
			t.Errorf("%q does not leave out server.pem: %s", line, r.Command.Script)
		}
	}
	for _, name := range []string{"a /etc/passwd", "*", "a\t/x", "a\n/x", "[a]", "'", `\x`} {
		for _, line := range []string{
			"cat $(git ls-files '*.go')", "for f in $(git ls-files '*.go'); do cat $f; done",
			"git ls-files '*.go' | while read f; do cat $f; done",
		} {
			if r := Analyze(line, proj, filed{names: []string{name}}); decided(r, permission.Default) == permission.Allow {
				t.Errorf("%q runs unasked where a file is named %q", line, name)
			}
		}
	}
}

func TestWordsOutOfAListStayInTheSafeForm(t *testing.T) {
	for line, want := range map[string]string{
		"wc -l $(git ls-files)":                         `'/usr/bin/wc' '-l' '--' $( '/usr/bin/git' 'ls-files' )`,
		"for f in $(ls src); do wc -l src/$f; done":     `for turn_f in $( '/usr/bin/ls' 'src' ); do '/usr/bin/wc' '-l' '--' 'src/'${turn_f}; done`,
		"git ls-files | while read f; do wc $f; done":   `'/usr/bin/git' 'ls-files' | while builtin read turn_f; do '/usr/bin/wc' '--' ${turn_f}; done`,
		"git show -s $(git rev-parse HEAD)":             `'/usr/bin/git' 'show' '-s' $( '/usr/bin/git' 'rev-parse' 'HEAD' )`,
		"for i in $(seq 2); do echo $i; done":           `for turn_i in $( '/usr/bin/seq' '2' ); do builtin 'echo' ${turn_i}; done`,
		"while read -r path; do echo $path; done < a.c": `while builtin read -r turn_path; do builtin 'echo' ${turn_path}; done <'a.c'`,
	} {
		if r := read(line); r.Command.Script != want {
			t.Errorf("%q: %s, want %s", line, r.Command.Script, want)
		}
	}
}

func TestACaseThatDoesMoreThanReadAsks(t *testing.T) {
	for _, line := range []string{
		"case $x in a) rm b;; esac", "case a in a) touch b;; *) ls;; esac", "case $(touch a) in a) ls;; esac",
		"case a in $(touch b)) ls;; esac", "case a in a) ls;& b) ls;; esac", "case a in a) ls;;& *) ls;; esac",
		"case ${x:=a} in a) ls;; esac",
		"case a in a) cd ..;; esac; cat x", "case a in ~/*) ls;; esac", "case a in a) f=.env;; esac; cat $f",
		"case a in a) ls;; esac > out", "case a in [$x]) ls;; esac", "case a in a) cat /etc/passwd;; esac",
		"cat <<EOF\n$(touch a)\nEOF", "cat <<EOF\n`touch a`\nEOF", "cat <<EOF\n$SECRET\nEOF", "cat <<EOF\n${x:=a}\nEOF",
		"bash <<EOF\n$HOME/x\nEOF", "cat <<EOF\n$((x))\nEOF", "cat > f <<EOF\n$HOME\nEOF",
	} {
		if r := read(line); decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
	want := "case '1' in ('a'|'b'*'') builtin 'pwd';; esac"
	if r := read("case 1 in a|b*) pwd;; esac"); r.Command.Script != want {
		t.Errorf("script %s", r.Command.Script)
	}
}

func TestLoopsInLoopsAreNotTriedAgainAndAgain(t *testing.T) {
	r := read(strings.Repeat("ls | while read f; do ", 60) + "touch x" + strings.Repeat("; done", 60))
	if decided(r, permission.Default) == permission.Allow {
		t.Error("it runs unasked")
	}
}

func TestNamesOfAListBehindDashesArePathsOfGit(t *testing.T) {
	for line, want := range map[string]permission.Effect{
		"for f in $(git ls-files '*.go'); do git log -1 --format=%cd -- \"$f\"; done": permission.Allow,
		"git ls-files '*.go' | while read f; do git blame -L1,1 -- $f; done":          permission.Allow,
		"for f in $(git diff --name-only HEAD~1); do git diff HEAD~1 -- $f; done":     permission.Allow,
		"for f in $(git ls-files); do git log --output=x -- $f; done":                 permission.Ask,
		"for f in $(git ls-files); do git checkout -- $f; done":                       permission.Ask,
		"for f in $(git ls-files); do git -C /x log -- $f; done":                      permission.Ask,
		"for f in $(git ls-files); do git log -- ../$f; done":                         permission.Ask,
		"for f in $(git ls-files); do git log -- :(top)$f; done":                      permission.Ask,
		"git log -p -- $(git ls-files nosuch)":                                        permission.Ask,
		"F=$(git ls-files nosuch); git log -p -- $F":                                  permission.Ask,
		"for f in $(cat list); do git log -p -- $f; done":                             permission.Ask,
		"for f in $(git ls-files); do git diff --no-index -- $f /etc/passwd; done":    permission.Ask,
	} {
		if r := Analyze(line, proj, filed{names: []string{".env", "a.go"}}); decided(r, permission.Default) != want {
			t.Errorf("%q: want %s: %s", line, want, show(r))
		}
	}
	if r := Analyze("for f in $(git ls-files '*.go'); do git log -p -- $f; done", proj,
		filed{names: []string{":(top)x.go"}}); decided(r, permission.Default) == permission.Allow {
		t.Error("a name with a colon runs unasked")
	}
}

func TestPartsOfKnownTextsAreKnown(t *testing.T) {
	for line, want := range map[string]string{
		"f=a/b.tar.gz; echo ${f##*/}":             "'b.tar.gz'",
		"f=a/b.tar.gz; echo ${f%.*}":              "'a/b.tar'",
		"f=a/b.tar.gz; echo ${f%%.*}":             "'a/b'",
		"f=a/b.tar.gz; echo ${f#*/}":              "'b.tar.gz'",
		"f=a.txt; echo \"${f%.txt}.md\"":          "'a.md'",
		"echo ${PWD##*/}":                         "'proj'",
		"for f in a.go b.go; do wc ${f%o}o; done": "'b.go'",
		"f='x$(touch a)'; echo ${f%x}":            "",
		"f=a; echo ${f%$(touch b)}":               "",
		"f=.envx; cat ${f%x}":                     "",
		"f=/etc/passwdx; cat ${f%x}":              "",
		"f=-deletex; find . ${f%x}":               "",
	} {
		r := read(line)
		switch got := r.Command.Script; {
		case decided(r, permission.Default) != permission.Allow && want != "":
			t.Errorf("%q asks: %s", line, show(r))
		case decided(r, permission.Default) == permission.Allow && (want == "" || !strings.Contains(got, want)):
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}
