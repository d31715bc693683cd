package shell

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

func TestEachCheckFiresOnItsExampleAndSparesTheOther(t *testing.T) {
	lines := slices.DeleteFunc(permissiontest.Lines(t, "checks.txt"), func(l string) bool { return l[0] == '#' })
	for _, c := range slices.Concat(groups()...) {
		fires, spares := example(lines[2]), example(lines[3])
		if lines = lines[4:]; !fired(read(fires), c.name) {
			t.Errorf("%s does not fire on %q: %+v", c.name, fires, read(fires).Command.Findings)
		}
		if fired(read(spares), c.name) {
			t.Errorf("%s fires on %q: %+v", c.name, spares, read(spares).Command.Findings)
		}
	}
}
