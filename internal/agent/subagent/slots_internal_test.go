package subagent

import (
	"context"
	"testing"
)

// An agent that is told to end while it waits for others does not wait for the slot that it lent them, and no slot is
// lost.
func TestAnAgentThatEndsDoesNotWaitForItsSlot(t *testing.T) {
	slots := NewSlots(1)
	give, err := slots.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back := New(Host{Depth: 1, Slots: slots}).wait()
	giveOther, err := slots.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	back(ended)
	giveOther()
	give()
	if _, err := slots.take(t.Context()); err != nil || len(slots.free) != 0 {
		t.Errorf("%v, %d slots are left", err, len(slots.free))
	}
}
