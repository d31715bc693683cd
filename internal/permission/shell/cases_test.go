package shell

import (
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

func TestHarmlessLinesRunUnasked(t *testing.T) {
	for _, line := range permissiontest.Lines(t, "harmless.txt") {
		if r := read(line); !approved(r) {
			t.Errorf("%q asks: %s", line, show(r))
		}
	}
}

func TestOtherLinesAsk(t *testing.T) {
	for _, line := range permissiontest.Lines(t, "ask.txt") {
		if r := read(line); approved(r) {
			t.Errorf("%q runs unasked: %s", line, show(r))
		}
	}
}

func TestDisastersAreRefused(t *testing.T) {
	for _, line := range permissiontest.Lines(t, "deny.txt") {
		if r := read(line); !denied(r) {
			t.Errorf("%q is not refused: %s", line, show(r))
		}
	}
}

func TestOrdinaryChangesAreNotRefused(t *testing.T) {
	for _, line := range permissiontest.Lines(t, "ordinary.txt") {
		r := read(line)
		if denied(r) || approved(r) {
			t.Errorf("%q does not merely ask: %s", line, show(r))
		}
	}
}

// show is a result in short.
func show(r Result) string {
	var b strings.Builder
	b.WriteString(string(r.Command.Class))
	for _, p := range r.Command.Parts {
		b.WriteString("\n    part " + strconv.Quote(p.Text) + " " + string(p.Class) + " " + p.Within + ": " + p.Reason)
		if !p.Exact {
			b.WriteString(" (not exact)")
		}
	}
	for _, f := range r.Command.Findings {
		b.WriteString("\n    " + string(f.Effect) + " " + f.Check + ": " + f.Text)
	}
	for _, x := range r.Accesses[1:] {
		b.WriteString("\n    " + string(x.Kind) + " " + x.Target)
	}
	return b.String()
}
