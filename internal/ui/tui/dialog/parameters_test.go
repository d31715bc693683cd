package dialog

import (
	"slices"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

func TestParametersAreShownInWords(t *testing.T) {
	rows, ok := parameters([]byte(`{"file_path": "/etc/hosts", "offset": 3, "deep": {"a": "b"}, "file_path": "/x"}`))
	want := [][2]string{{"file path", "/etc/hosts"}, {"offset", "3"}, {"deep", `{"a": "b"}`}, {"file path", "/x"}}
	if !ok || !slices.Equal(rows, want) {
		t.Errorf("%v %q", ok, rows)
	}
	for _, broken := range []string{`[1]`, `{"a": `, `"x"`, ``} {
		if _, ok := parameters([]byte(broken)); ok {
			t.Errorf("%q is an object", broken)
		}
	}
}

func TestNothingMarkedSendsNothing(t *testing.T) {
	d := NewQuestion(event.Asked{ID: "q", Question: event.Question{
		Title: "Which?", Multi: true, Options: []event.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}},
	}}, theme.Must("none", true, colorprofile.NoTTY))
	d.Lines(80, 30)
	accept := Key{Actions: []keys.Action{keys.ConfirmAccept}}
	if r := d.Key(accept); r.Answer != nil || r.Close || r.Toast == "" {
		t.Errorf("%+v", r)
	}
	d.Key(Key{Actions: []keys.Action{keys.ConfirmToggle}})
	if r := d.Key(accept); r.Answer == nil || !slices.Equal(r.Answer.Choices, []string{"a"}) {
		t.Errorf("%+v", r)
	}
}
