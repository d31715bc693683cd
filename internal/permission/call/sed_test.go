package call_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestEditingInPlaceIsAnEditWhereTheScriptDoesNothingElse(t *testing.T) {
	for line, want := range map[string]permission.Effect{
		"sed -i s/a/b/ a.txt":                permission.Allow,
		"sed -i.bak -E -e p -e 2d a.txt b":   permission.Allow,
		"sed -ni '1,3p' a.txt && head a.txt": permission.Allow,
		"sed --in-place -- p a.txt":          permission.Allow,
		"sed -i 's/a/b/w out' a.txt":         permission.Ask,
		"sed -i s/a/b/e a.txt":               permission.Ask,
		"sed -i 'r x' a.txt":                 permission.Ask,
		"sed -i -f x a.txt":                  permission.Ask,
		"sed -i'x/*' p a.txt":                permission.Ask, // the backup goes elsewhere
		"sed -i -i.sh p a.txt":               permission.Ask,
		"sed -i p *.txt":                     permission.Ask,
		`sed -i "$X" a.txt`:                  permission.Ask,
		"X=1 sed -i p a.txt":                 permission.Ask,
		"sed -i p ../a.txt":                  permission.Ask,
		"sed -i p .git/config":               permission.Deny,
		"sed -irc p .bash":                   permission.Deny, // the backup is .bashrc
	} {
		if d := decided(t, permission.AcceptEdits, line, nil); d.Effect != want {
			t.Errorf("%q: %s (%s), want %s", line, d.Effect, d.Reason, want)
		}
		if d := decided(t, permission.Default, line,
			map[string]permission.Effect{"Bash(sed *)": permission.Allow}); d.Effect == permission.Allow {
			t.Errorf("Bash(sed *) covers %q, whose author may have thought of printing", line)
		}
	}
}
