package shell

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestEachCheckFiresOnItsExampleAndSparesTheOther(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(groups()...) {
		if seen[c.Name] {
			t.Errorf("two checks are named %s", c.Name)
		}
		seen[c.Name] = true
		if !fired(read(c.Fires), c.Name) {
			t.Errorf("%s does not fire on %q: %+v", c.Name, c.Fires, read(c.Fires).Command.Findings)
		}
		if fired(read(c.Spares), c.Name) {
			t.Errorf("%s fires on %q: %+v", c.Name, c.Spares, read(c.Spares).Command.Findings)
		}
		if c.Effect != permission.Ask && c.Effect != permission.Deny {
			t.Errorf("%s has the effect %q", c.Name, c.Effect)
		}
	}
	if len(seen) < 23 {
		t.Errorf("there are only %d checks", len(seen))
	}
}
