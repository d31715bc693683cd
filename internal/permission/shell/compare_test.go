package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestTestsWithoutQuotesAreWhatBashDoes(t *testing.T) {
	m := workshop(t)
	values := []string{"", "x", "a b", "-n", "!", "(", "3", "  3 ", "\t", "x y z v", "=", "a*"}
	tests := []string{
		"[ $v = x ]", "[ $v ]", "[ -n $v ]", "[ -z $v ]", "[ ! -z $v ]", "test $v = 3", "[ $v -gt 2 ]",
		"[ $v = $w ]", "[ x = $v ]", "[ \"$v\" = $w ]", "[ -n \"$v\" ]", "[ $v != \"x\" ]", "[[ $v == x ]]", "[[ -n $v ]]",
		"[[ $v != a* ]]",
	}
	for _, value := range values {
		if err := os.WriteFile(m.root+"/value", []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, test := range tests {
			sameAsBash(t, m, "v="+quote(value)+"; w=$(head -1 a.txt); "+test+"; echo $?", false)
			sameAsBash(t, m, "v=$(tail -1 value); w=$(head -1 a.txt); "+test+"; echo $?", test != "[ $v ]")
		}
	}
}

func TestATestWithoutQuotesEvaluatesNoWords(t *testing.T) {
	m := workshop(t)
	if err := os.WriteFile(m.root+"/value", []byte("x = x -o -v a[$(touch${IFS}made)] -o x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Analyze("v=$(tail -1 value); [ $v = x ]; [ $(tail -1 value) = x ]; test $v != $v", m.root, m)
	if got := bash(t, m, r.Command.Script); r.Command.Script == "" || m.Stat(m.root+"/made").Kind != permission.Missing {
		t.Errorf("%s\n%s", r.Command.Script, got)
	}
}

func TestATestLooksAtVariablesOfTheEnvironment(t *testing.T) {
	m := workshop(t)
	for _, line := range []string{
		"[[ $x == 1 ]] && echo yes; echo $?", "[[ -z $CI ]] && echo local", "[[ -n \"$HOMEPAGE\" ]] || echo unset",
		"[ \"$x\" = 1 ] || echo other", "[ -z \"${NODE_ENV:-}\" ] && echo none", "[ -n \"${x+set}\" ]; echo $?",
		"[ $x = 1 ]; echo $?", "[[ $x =~ ^a ]] || echo no",
		"[[ $TERM == dumb ]] && echo dumb",
	} {
		sameAsBash(t, m, line, !strings.Contains(line, "TERM"))
	}
	for _, line := range []string{
		"[[ $OPENAI_API_KEY == sk-a* ]] && echo yes", "[ \"$API_TOKEN\" = x ]", "[ -n \"$(echo $x)\" ]",
		"[[ -n $(cat $x) ]]", "[[ $x -eq 1 ]]", "[[ -f $x ]]", "[[ -v $x ]]", "[ -v \"$x\" ]", "[ -n \"${x:=1}\" ]",
		"[ -n \"${x:-$(touch y)}\" ]", "[[ -n ${!x} ]]", "[[ -n ${x@P} ]]", "[[ -n ${x[1]} ]]", "test \"$x\"", "[ $x ]",
	} {
		if r := read(line); decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
}

func TestALoopReadsLinesAsBashDoes(t *testing.T) {
	m := workshop(t)
	text := "printf '%s\\n' 'a b  c' '  lead' 'back\\\\slash' 'trail  ' '' ',x,' 'x:y:z' '* ?'"
	for _, read := range []string{"read l", "read -r l", "IFS= read -r l", "IFS= read l"} {
		sameAsBash(t, m, text+" | while "+read+"; do echo \"<$l>\" $l; done", true)
	}
	for _, read := range []string{
		"read l m", "read -r l m n", "IFS=, read -r l m", "IFS=: read l m",
		"IFS=$'\\t' read -r l m", "IFS='|' read -r l m n",
	} {
		sameAsBash(t, m, text+" | while "+read+"; do echo \"<$l>\" \"<$m>\"; done", true)
		sameAsBash(t, m, "while "+read+"; do echo \"$m\"; done < notes.txt", true)
	}
	for _, line := range []string{
		"ls | while read a b; do cat $a; done", "ls | while IFS=, read a; do cat $a; done",
		"ls | while IFS=$x read a; do echo $a; done", "ls | while IFS=a read a; do echo $a; done",
		"ls | while read a a; do echo $a; done",
		"ls | while read a IFS; do echo $a; done", "ls | while read -p x a; do echo $a; done",
		"ls | while read a b; do touch $b; done", "ls | while read a b; do $a; done", "ls | while read; do echo $REPLY; done",
	} {
		if r := read(line); decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
}

func TestTheStateOfTheShellIsWhatBashMakesOfIt(t *testing.T) {
	m := workshop(t)
	for _, line := range []string{
		"set -e; [ $(grep -c nosuch a.txt) = 0 ]; echo next",
		"set -eu; [ $(head -1 a.txt) = foo ] && echo yes; [ $(tail -1 a.txt) = x ]; echo never",
		"pushd src; ls; popd; ls", "pushd src && ls && popd", "pushd src; pushd ..; popd; popd; echo $?",
		"pushd src; popd >/dev/null; pwd", "set -x; ls", "set -ex; ls nosuch; ls", "set +x; ls",
		"set -o xtrace; ls; set +x; ls",
	} {
		sameAsBash(t, m, line, true)
	}
	for _, line := range []string{"PS4='$(touch y)'; set -x; ls", "set -x a; ls $1", "set -k; ls", "set -$x; ls"} {
		if r := read(line); decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
	m.root += "/src"
	if got := bash(t, m, "{ PS4='+ '; builtin set -x; }; echo x"); got != "x\n\n0" {
		t.Errorf("set -x prints to the output: %q", got)
	}
}

func TestCommitsOutOfTwoCommandsStay(t *testing.T) {
	line := "a=$(git rev-parse HEAD); b=$(git rev-parse HEAD~1); git diff --stat $b $a"
	want := "kept_1=$( '/usr/bin/git' 'rev-parse' 'HEAD' ); kept_2=$( '/usr/bin/git' 'rev-parse' 'HEAD~1' ); " +
		"'/usr/bin/git' 'diff'"
	if r := read(line); decided(r, permission.Default) != permission.Allow || !strings.HasPrefix(r.Command.Script,
		want) || !strings.HasSuffix(r.Command.Script, "${kept_2} ${kept_1}") {
		t.Errorf("%q: %s\n%s", line, show(r), r.Command.Script)
	}
	for _, line := range []string{
		"a=$(git rev-parse HEAD); b=$(cat x); git diff $a $b",
		"a=$(git rev-parse HEAD); git show $a $(git ls-files)", "a=$(git rev-parse HEAD); f=$(cat x); git diff $a -- $f",
		"a=$(git rev-parse HEAD); git push origin $a $a",
	} {
		if r := read(line); decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
}

func TestACalculatorThatIsToRunACommandAsks(t *testing.T) {
	for line, want := range map[string]permission.Effect{
		"bc <<< '1+1'": permission.Allow, "echo '1 != 2' | bc": permission.Allow, "echo 2^10 | bc -l": permission.Allow,
		"bc <<< '!rm x'": permission.Ask, "echo ' !rm x' | bc": permission.Ask,
		"printf '1\\n!touch x\\n' | bc": permission.Ask, "bc <<E\n1\n!touch x\nE": permission.Ask,
		"dc <<< '!rm x'": permission.Ask,
	} {
		if r := read(line); decided(r, permission.Default) != want {
			t.Errorf("%q: %s, want %s: %s", line, decided(r, permission.Default), want, show(r))
		}
	}
}
