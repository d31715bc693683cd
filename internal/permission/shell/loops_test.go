package shell

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// A loop is walked once, but rules and guards hear of each value that the line names for its variable.
func TestRulesAndGuardsSeeEachTurnOfALoop(t *testing.T) {
	for line, want := range map[string]string{
		"for f in a b; do rm $f; done":                           "rm b",
		"for c in ls rm; do $c x; done":                          "rm x",
		"for f in a b.go; do rm ${f%.go}; done":                  "rm b",
		"for f in a b; do x=$f; rm $x; done":                     "rm b",
		"for d in a b; do for f in x y; do rm $d/$f; done; done": "rm b/y",
	} {
		r := read(line)
		if !slices.Contains(seen(r), want) {
			t.Errorf("%q does not show %q: %s", line, want, show(r))
		}
		if r.Command.Exact || r.Command.Class.ReadOnly() {
			t.Errorf("%q counts as known: %s", line, show(r))
		}
	}
	for line, want := range map[string]permission.Access{
		"for f in a .env; do cat $f; done":      {Kind: permission.Read, Target: proj + "/.env"},
		"for f in a .env; do cat < $f; done":    {Kind: permission.Read, Target: proj + "/.env"},
		"for f in a b; do echo x > $f; done":    {Kind: permission.Write, Target: proj + "/b"},
		"for d in a b; do cd $d; touch x; done": {Kind: permission.Write, Target: proj + "/b/x"},
		"for f in a b; do cp x ~/.ssh/$f; done": {Kind: permission.Write, Target: home + "/.ssh/b"},
		"cd src; cd \"$X\"; touch x":            {Kind: permission.Write, Target: proj + "/src/x"},
		"cd src; cd -; touch x":                 {Kind: permission.Write, Target: proj + "/x"},
		"for f in 'a b' c; do cat \"$f\"; done": {Kind: permission.Read, Target: proj + "/a b"},
	} {
		if got := read(line).Accesses; !slices.ContainsFunc(got, func(x permission.Access) bool {
			return x.Kind == want.Kind && x.Target == want.Target
		}) {
			t.Errorf("%q does not touch %+v but %+v", line, want, got[1:])
		}
	}
	if r := read("for f in src ~; do rm -rf $f; done"); !denied(r) {
		t.Errorf("the home folder may be removed in a loop: %s", show(r))
	}
}

// What the program prints or is given at run time is unknown, whatever the text could be computed to.
func TestComputedWordsAreUnknown(t *testing.T) {
	for _, line := range []string{
		"cat $(echo a.txt)", "i=1; head -$((i+1)) a.txt", "f=a.go; cat ${f%.go}", "a=(x y); cat ${a[1]}",
		"i=0; while [ $i -lt 3 ]; do ls; i=$((i+1)); done", "for ((i=0; i<3; i++)); do ls; done", "[[ 1 -eq 1 ]] && ls",
		"echo a.txt | xargs cat", "cat list | while read f; do cat $f; done", "case x in x) ls;; esac",
	} {
		if r := read(line); approved(r) || r.Command.Exact {
			t.Errorf("%q counts as known: %s", line, show(r))
		}
	}
	for _, line := range []string{
		"f=a.txt; cat $f", "cat ~/proj/a.txt", "echo $(date)", "npm test; echo $?", "V=$(git rev-parse HEAD); echo $V",
		"[[ -f a.txt ]] && cat a.txt", "diff <(sort a) <(sort b)", "echo $((1+2))", "for i in 1 2; do ls; done",
		"git commit -m \"$(cat <<'EOF'\nfix: it's done\nEOF\n)\"",
	} {
		if r := read(line); !r.Command.Exact {
			t.Errorf("%q counts as unknown: %s", line, show(r))
		}
	}
}
