package program

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// TestFilesThatOptionsAndScriptsNameCount: guards and deny rules on files see what a program writes beside its operands.
func TestFilesThatOptionsAndScriptsNameCount(t *testing.T) {
	for line, want := range map[string]string{
		"sed -n 'w out' f": "out", "sed 's/l/x/w out' f": "out", "sed '/a/,/b/{p;W out' f": "out", "sed -n '/a/w out' f": "out", "sed 's,a,b,gpw out' f": "out",
		"sed --in-place=hooks/* s/a/b/ f": "hooks/x", "awk '{print > \"out\"}' f": "out", "awk 'BEGIN{printf(\"a\") >> \"out\"}'": "out",
		"split f out/x": "out/xaa", "csplit -f out/x f 2": "out/x00", "csplit --prefix out/x f 2": "out/x00",
		"git bundle create out HEAD": "out", "git shortlog --output=out": "out", "git bugreport -o out": "out", "git diagnose -o out": "out",
		"git fast-export --export-marks=out HEAD": "out", "git checkout-index --prefix=out/ f": "out/", "git --work-tree=out checkout -- f": "out",
		"git --work-tree out restore f": "out", "git mv f out": "out", "git -C sub mv f /x/out": "/x/out",
	} {
		u := Analyze(words(line), env)
		if u.Class.ReadOnly() || !slices.Contains(u.Writes, want) {
			t.Errorf("%s: class %s, writes %q, want %q among them", line, u.Class, u.Writes, want)
		}
	}
	for line, want := range map[string]string{
		"sed 'r in' f": "in", "sed -n '1R in' f": "in", "awk 'BEGIN{while((getline l < \"in\")>0) print l}'": "in",
	} {
		if u := Analyze(words(line), env); u.Class.ReadOnly() || !slices.Contains(u.Reads, want) {
			t.Errorf("%s: class %s, reads %q, want %q among them", line, u.Class, u.Reads, want)
		}
	}
	if u := Analyze(words("git init --template=x sub"), env); u.Lands == nil || u.Lands.Target != "sub/.git" || !u.Lands.Deep {
		t.Errorf("git init --template: %+v, want the template's files below sub/.git", u.Lands)
	}
}

func TestMovingToADeviceDestroys(t *testing.T) {
	for line, want := range map[string]permission.Class{
		"mv f /dev/null": permission.ClassDestructive, "mv -t /dev f": permission.ClassWrite, "mv f //dev/./null": permission.ClassDestructive, "mv f g": permission.ClassWrite,
	} {
		if u := Analyze(words(line), env); u.Class != want {
			t.Errorf("%s: class %s, want %s", line, u.Class, want)
		}
	}
}
