package dash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// screen is a model with four sessions.
func screen() *model {
	m := newModel()
	m.w, m.h, m.now, m.theme = 80, 20, start.Add(time.Hour), theme.Must("dark", true, colorprofile.ASCII)
	job := func(id, name string, s supervisor.State, minutes int) supervisor.Job {
		return supervisor.Job{
			ID: id, Name: name, State: s, CWD: "/w/" + name, Changed: start.Add(time.Duration(minutes) * time.Minute),
		}
	}
	m.take([]supervisor.Job{
		job("1", "old", supervisor.Done, 1), job("2", "new", supervisor.Done, 9), job("3", "busy", supervisor.Working, 2),
		job("4", "asks\x1b[2J", supervisor.Blocked, 3),
	}, nil)
	return m
}

func order(m *model) (out string) {
	for _, j := range m.jobs {
		out += j.ID
	}
	return out
}

func TestSessionsThatNeedTheUserComeFirst(t *testing.T) {
	m := screen()
	if got := order(m); got != "4321" {
		t.Errorf("got %s", got)
	}
	m.pins["1"] = true
	jobs := m.jobs
	m.take(jobs, nil)
	if got := order(m); got != "4312" {
		t.Errorf("with a pin: %s", got)
	}
	m.filter = "w/ne"
	m.take(jobs, nil)
	if got := order(m); got != "2" {
		t.Errorf("with a filter: %s", got)
	}
}

func TestAChangeOfAStateIsNewsOnce(t *testing.T) {
	m := screen()
	jobs := m.jobs
	jobs[1].State = supervisor.Done
	if got := m.take(jobs, nil); len(got) != 1 || got[0] != "busy is done" {
		t.Errorf("got %q", got)
	}
	if got := m.take(jobs, nil); len(got) > 0 {
		t.Errorf("again: %q", got)
	}
}

func TestEveryLineFitsAndIsEscaped(t *testing.T) {
	m := screen()
	m.note = "a note\x07"
	for _, w := range []int{1, 7, 40, 200} {
		m.w = w
		lines, _, _ := m.draw()
		if len(lines) != m.h {
			t.Errorf("%d lines", len(lines))
		}
		for _, l := range lines {
			if plain := line.Strip(l); term.Width(plain) > w || strings.ContainsAny(plain, "\x1b\x07") {
				t.Errorf("in %d columns: %q", w, l)
			}
		}
	}
}

func TestAQuestionIsAnsweredOnlyAfterAllOfItWasShown(t *testing.T) {
	m := screen()
	m.h = 10
	m.peek = &peek{id: "4"}
	m.peek.take("", &event.Event{Session: "s", Body: event.Asked{ID: "q", Question: event.Question{
		Text: strings.Repeat("rm -r a\n", 30), Permission: &permission.Request{Tool: "Bash"},
		Options: []event.Option{{ID: event.ChoiceOnce, Label: "Yes"}, {ID: event.ChoiceNo, Label: "No"}},
	}}})
	m.draw()
	q := m.peek.question()
	if _, err := m.peek.answer(q, "1"); err == nil {
		t.Error("answered before its end was shown")
	}
	m.peek.top = 1000
	m.draw()
	if a, err := m.peek.answer(q, "1"); err != nil || a.Choice != event.ChoiceOnce {
		t.Errorf("got %+v, %v", a, err)
	}
	if a, err := m.peek.answer(q, "2 use git rm"); err != nil || a.Choice != event.ChoiceNo || a.Text != "use git rm" {
		t.Errorf("got %+v, %v", a, err)
	}
	for _, text := range []string{"3", "yes", "1 but not b"} {
		if a, err := m.peek.answer(q, text); err == nil {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

func TestAPromptNamesTheFolderOfItsSession(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := &dash{model: screen(), o: Options{Dir: dir, Home: dir}}
	for text, want := range map[string]string{
		"do it": dir, "@sub do it": filepath.Join(dir, "sub"), "@~/sub do it": filepath.Join(dir, "sub"),
		"@busy do it": "/w/busy", "@nowhere do it": "", "@sub": "",
	} {
		got, prompt, err := d.place(text)
		if got != want || (want == "") != (err != nil) || err == nil && prompt != "do it" {
			t.Errorf("%q: %q, %q, %v", text, got, prompt, err)
		}
	}
}
