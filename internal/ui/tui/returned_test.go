package tui

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// A message that comes back does not overwrite what the user types meanwhile; it is shown then.
func TestAReturnedMessageLeavesWhatIsTyped(t *testing.T) {
	m := newTestModel(t, 80, 24)
	m.apply1(event.Returned{Message: llm.UserText("first")})
	m.apply1(event.Returned{Message: llm.UserText("second")})
	shown := slices.ContainsFunc(m.log.items, func(it *item) bool { return it.text == "not sent: second" })
	if got := m.edit.Text(); got != "first" || !shown {
		t.Errorf("the editor has %q; the second one is shown: %v", got, shown)
	}
}
