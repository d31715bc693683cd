package endurance

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestASessionGoesOnThroughTenCompactions(t *testing.T) {
	n := long(320, 5000)
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			p := newPlace(t, w, n, 15_000+n*4)
			s := p.session(t, nil, conversation.SessionOptions{})
			seen := watch(t, s)
			end, err := s.Prompt(t.Context(), llm.UserText("Read all files. "+wish))
			if err != nil || end.Reason != event.EndCompleted || end.Steps != n+1 {
				t.Fatalf("%+v %v, want %d steps", end, err, n+1)
			}
			got := seen()
			if len(got.compacted) < 10 {
				t.Errorf("%d compactions: %+v", len(got.compacted), got.compacted)
			}
			for _, c := range got.compacted {
				if c.Level == 0 || c.After >= c.Before || c.Err != "" || c.Failed != "" {
					t.Errorf("%+v", c)
				}
			}
			if info := s.Log().Info(); math.Abs(info.CostUSD-got.cost) > 1e-6 || got.cost == 0 {
				t.Errorf("the session costs $%f, its steps and summaries $%f", info.CostUSD, got.cost)
			}
			if want := (n - 1) / 10; p.ran(t) != want {
				t.Errorf("the command ran %d times, want %d", p.ran(t), want)
			}
			kept(t, s.Messages())
			callsOnce(t, s.Log())
			p.prefixes(t, len(got.compacted))
			if w.name == "socket" {
				p.sockets(t, len(got.compacted))
			}
			before, id := s.Messages(), s.ID()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, p.session(t, nil, conversation.SessionOptions{Resume: id}).Messages()); diff != "" {
				t.Errorf("after a resume: %s", diff)
			}
		})
	}
}

func TestABudgetCarriesOverCompactions(t *testing.T) {
	p := newPlace(t, wires[0], 200, 14_000)
	s := p.session(t, func(o *conversation.Options) { o.MaxBudgetUSD = 0.6 }, conversation.SessionOptions{})
	seen := watch(t, s)
	end, err := s.Prompt(t.Context(), llm.UserText("Read all files. "+wish))
	got := seen()
	if end.Reason != event.EndBudget {
		t.Fatalf("%+v %v after %d compactions and $%f", end, err, len(got.compacted), got.cost)
	}
	if len(got.compacted) < 2 {
		t.Errorf("%d compactions before the budget was used up", len(got.compacted))
	}
	if got.cost < 0.6 || got.cost > 0.7 {
		t.Errorf("$%f were spent of $0.60", got.cost)
	}
}

// seen is the events that a session published.
type seen struct {
	compacted []event.Compacted
	cost      float64 // of steps and summaries
}

// watch collects events until the function that it returns is called.
func watch(t *testing.T, s *conversation.Session) func() seen {
	sub := s.Subscribe(context.WithoutCancel(t.Context()))
	done := make(chan seen, 1)
	go func() {
		var out seen
		for e := range sub.All(context.WithoutCancel(t.Context())) {
			switch b := e.Body.(type) {
			case event.Compacted:
				out.compacted = append(out.compacted, b)
			case event.SideRequest:
				out.cost += b.CostUSD
			case event.StepEnd:
				out.cost += b.CostUSD
			}
		}
		done <- out
	}()
	return func() seen {
		sub.Close()
		return <-done
	}
}

// kept checks that the wish, the rule, the task list and the summary are in the conversation once.
func kept(t *testing.T, messages []llm.Message) {
	t.Helper()
	text := messages[0].PlainText()
	for _, want := range []string{wish, rule, todo, "## Next step"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
}

// callsOnce checks that every call of the log has one start at most and one end.
func callsOnce(t *testing.T, log *session.Session) {
	t.Helper()
	asked, started, ended := map[string]int{}, map[string]int{}, map[string]int{}
	for e := range log.Entries() {
		switch b := e.Body.(type) {
		case session.Part:
			if c, ok := b.Part.(llm.ToolCall); ok {
				asked[c.ID]++
			}
		case session.CallStart:
			started[b.CallID]++
		case session.CallEnd:
			ended[b.Result.CallID]++
		}
	}
	for id := range asked {
		if started[id] > 1 || ended[id] != 1 {
			t.Errorf("call %s was started %d times and ended %d times", id, started[id], ended[id])
		}
	}
	if len(asked) == 0 {
		t.Error("the log has no call")
	}
}

// prefixes checks that each request starts with the one before it, byte for byte, unless a compaction lies
// between. The server has already refused what a provider refuses: orphans, empty blocks, wrong order.
func (p *place) prefixes(t *testing.T, compactions int) {
	t.Helper()
	var last []string
	breaks := 0
	for _, r := range p.srv.Requests() {
		if r.Status != 200 {
			t.Errorf("a request was refused: %d", r.Status)
		}
		now, tools := messagesOf(t, r.Body)
		if !tools || r.Reply == noTools {
			continue // a summary
		}
		if len(last) > len(now) || !slices.Equal(last, now[:len(last)]) {
			breaks++
		}
		last = now
	}
	if breaks > compactions {
		t.Errorf("the prefix changed %d times for %d compactions", breaks, compactions)
	}
}

// sockets checks that each step went over the WebSocket, with only what was new, but for the first one after a
// compaction and the first one after the question for a summary.
func (p *place) sockets(t *testing.T, compactions int) {
	t.Helper()
	over, whole := 0, 0
	for _, r := range p.srv.Requests() {
		switch {
		case r.Tools == 0 || r.Reply == noTools:
		case r.Socket == 0:
			over++
		case !bytes.Contains(r.Message, []byte(`"previous_response_id"`)):
			whole++
		}
	}
	if over > 0 || whole > 2*compactions+1 {
		t.Errorf("%d steps went over HTTP, %d had the whole input, for %d compactions", over, whole, compactions)
	}
}

// messagesOf returns the messages of a request without cache marks, and whether it offers tools.
func messagesOf(t *testing.T, body []byte) ([]string, bool) {
	t.Helper()
	var req struct {
		Tools    []json.RawMessage
		Messages []json.RawMessage
		Input    []json.RawMessage // of Responses
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range append(req.Messages, req.Input...) {
		out = append(out, sameCall(t, strings.ReplaceAll(string(m), `,"cache_control":{"type":"ephemeral"}`, "")))
	}
	return out, len(req.Tools) > 0
}

// sameCall is a message without what a server of Responses adds to a call that it keeps itself: after the question for
// a summary the step sends all of its input, and the call in lathe's form.
func sameCall(t *testing.T, m string) string {
	if !strings.Contains(m, `"function_call"`) {
		return m
	}
	var call map[string]any
	if err := json.Unmarshal([]byte(m), &call); err != nil {
		t.Fatal(err)
	}
	delete(call, "id")
	delete(call, "status")
	out, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
