//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"fmt"
	"testing"
)

func TestCommandsThatRunAtOnceShareTmp(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	one, two := newInner(t, b, p.dir), newInner(t, b, p.dir)
	for i, step := range []struct{ in, other *inner }{{two, one}, {one, two}} {
		name := fmt.Sprintf("/tmp/lathe-test-at-once-%d", i)
		step.in.do(t, "echo first >"+name)
		if got := step.other.do(t, "cat "+name); got != "first" {
			t.Errorf("a new file is not seen by the other command: %s", got)
		}
		step.in.do(t, "echo second >>"+name)
		if got := step.other.do(t, "cat "+name); got != "first second" {
			t.Errorf("a change is not seen by the other command: %s", got)
		}
		step.other.do(t, "echo third >>"+name)
		if got := step.in.do(t, "cat "+name); got != "first second third" {
			t.Errorf("the other command's change is not seen: %s", got)
		}
		step.in.do(t, "rm "+name)
		t.Logf("after its removal: %s", step.other.do(t, "cat "+name+"; ls "+name))
	}
	one.end()
	two.end()
}
