package conversation_test

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestNoticesOfTheAgentAreJournaled(t *testing.T) {
	s := newSession(t, newPlace(t, editScript()).open(t, nil), conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	want := event.Notice{Level: "warning", Text: "a cannot answer; going on with b"}
	s.PublishAgent(want)
	e, ok := sub.Next(t.Context())
	if !ok || e.Body != want || e.Cursor == "" {
		t.Errorf("published: %+v", e)
	}
	if all := slices.Collect(s.Log().All()); !slices.ContainsFunc(all, func(e session.Entry) bool {
		return e.Body == session.Note{Level: "warning", Text: want.Text}
	}) {
		t.Errorf("the log: %+v", all)
	}
}

func TestVariablesWithNamesOfSecretsAreSecrets(t *testing.T) {
	p := newPlace(t, nil)
	p.vars = []string{"GH_TOKEN=ghbare55667788", "EDITOR=vim-with-a-long-name"}
	inst := p.open(t, nil)
	got := inst.Config().Settings.Secrets(p.environ())
	if !slices.Contains(got, "ghbare55667788") || slices.Contains(got, "vim-with-a-long-name") {
		t.Errorf("%q", got)
	}
}
