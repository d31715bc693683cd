package dialog

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

func TestAListThatIsNotWholeAsksForWhatFits(t *testing.T) {
	d := NewPicker(event.Pick{
		Title: "Sessions", Command: "resume", Search: "find-sessions here",
		Items: []event.PickItem{{ID: "1", Label: "one"}},
	}, &theme.Theme{})
	first := d.Key(Key{Name: "l", Text: "l"})
	if !first.Refill || first.Run == nil || *first.Run != (Command{"find-sessions", "here l"}) {
		t.Fatalf("%+v", first.Run)
	}
	second := d.Key(Key{Name: "o", Text: "o"})
	if !d.Late(*first.Run) || d.Late(*second.Run) || d.Late(Command{"sessions", ""}) {
		t.Error("it does not tell the late answers from the others")
	}
	d.Update(event.Pick{
		Title: "Sessions", Command: "resume", Search: "find-sessions here",
		Items: []event.PickItem{{ID: "9", Label: "the login"}},
	})
	if item := d.item(); item == nil || item.ID != "9" {
		t.Errorf("%+v", item)
	}
}
