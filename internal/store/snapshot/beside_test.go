package snapshot_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// Agents that work beside each other begin and end steps at all times, also while another one waits for the look after
// a step.
func TestStepsBesideEachOtherAreAllSaved(t *testing.T) {
	p := newPlace(t)
	p.write("shared", "before")
	before := tree(t, p.dir)
	var agents sync.WaitGroup
	for agent := range 8 {
		agents.Go(func() {
			for i := range 40 {
				where := snapshot.Where{Session: sessionID, Message: "m1", Agent: fmt.Sprint(agent)}
				end, err := p.s.Begin(t.Context(), where, nil)
				if err != nil {
					t.Errorf("agent %d, step %d: %v", agent, i, err)
					return
				}
				err = os.WriteFile(p.path(fmt.Sprintf("%d-%d", agent, i)), nil, 0o644)
				end()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	agents.Wait()
	steps, err := p.history().Steps()
	p.must(err)
	if got := len(snapshot.Joined(steps)); got != 8*40 {
		t.Errorf("%d files are in the steps", got)
	}
	p.undo(len(steps), nil)
	if got := tree(t, p.dir); got != before {
		t.Errorf("left after undo:\n%s", got)
	}
}
