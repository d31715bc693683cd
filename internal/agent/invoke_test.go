package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/session"
)

// Calls that a call makes have ids of their own, and a start and an end in the log and among the events. What
// the log holds while one of them runs is what kill -9 leaves: the next open answers for it.
func TestCallsMadeByACallAreJournalledAndSurviveAKill(t *testing.T) {
	home, copied := t.TempDir(), t.TempDir()
	store := session.NewStore(home)
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var f *fixture
	batch := tool("Batch", false, func(ctx context.Context, x string) (*Result, error) {
		if CallID(ctx) != "1" {
			t.Errorf("the call is %q", CallID(ctx))
		}
		var out []string
		for _, r := range f.Invoke(ctx, []llm.ToolCall{call("same", "R", `{"x":"1"}`), call("same", "Kill", `{"x":"2"}`), call("same", "Nope", `{}`)}) {
			out = append(out, r.CallID)
		}
		return TextResult(strings.Join(out, " ")), nil
	})
	kill := tool("Kill", false, func(context.Context, string) (*Result, error) {
		rel, _ := filepath.Rel(home, log.Path())
		b, err := os.ReadFile(log.Path())
		to := filepath.Join(copied, rel)
		if err != nil || os.MkdirAll(filepath.Dir(to), 0o700) != nil || os.WriteFile(to, b, 0o600) != nil {
			t.Error("the log could not be copied")
		}
		return TextResult("killed"), nil
	})
	f = newFixture(t, []Tool{batch, echo("R", true), kill}, func(c *Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2]); !slices.Equal(got, []string{"1=1.1 1.2 1.3"}) {
		t.Errorf("%q", got)
	}
	want := []string{"start 1.1<1 R", "end 1.1<1 ", "start 1.2<1 Kill", "end 1.2<1 ", "end 1.3<1 Nope"}
	if got := invoked(log); !slices.Equal(got, want) {
		t.Errorf("the log has %q", got)
	}
	parents := map[string]string{}
	for _, e := range ofKind[event.ToolEnd](f) {
		parents[e.Call.ID] = e.Parent
	}
	for _, e := range ofKind[event.ToolStart](f) {
		if e.Parent != parents[e.Call.ID] {
			t.Errorf("%s starts below %q and ends below %q", e.Call.ID, e.Parent, parents[e.Call.ID])
		}
	}
	if parents["1"] != "" || parents["1.1"] != "1" || parents["1.3"] != "1" {
		t.Errorf("%v", parents)
	}

	killed, err := session.NewStore(copied).Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Close()
	if got := invoked(killed); !slices.Equal(got, []string{"start 1.1<1 R", "end 1.1<1 ", "start 1.2<1 Kill", "end 1.2<1 synthetic"}) {
		t.Errorf("after the kill the log has %q", got)
	}
	if why := refused(append(slices.Clip(killed.Messages()), llm.UserText("next"))); why != "" {
		t.Error(why)
	}
}

func invoked(s *session.Session) []string {
	var out []string
	for e := range s.Entries() {
		switch b := e.Body.(type) {
		case session.CallStart:
			if b.Call != nil {
				out = append(out, "start "+b.CallID+"<"+b.Parent+" "+b.Call.Name)
			}
		case session.CallEnd:
			if !b.Invoked {
				continue
			}
			line := "end " + b.Result.CallID + "<" + b.Parent + " "
			switch {
			case b.Synthetic:
				line += "synthetic"
			case b.Call != nil:
				line += b.Call.Name
			}
			out = append(out, line)
		}
	}
	return out
}
