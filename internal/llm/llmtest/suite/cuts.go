package suite

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// cuts breaks replies off at every byte of their body.
func (c *test) cuts(t *testing.T) {
	long := llmtest.Say(llmtest.Text("Hä 🙂 a little text. "), bash("echo \"é\" {}"), read("/b"))
	long.Chunk = 12
	single := llmtest.Say(read(`/a "b" {c}`))
	single.Chunk = 5
	for _, row := range []struct {
		kind  string
		reply llmtest.Reply
		step  int // a body ends the same for the client however it is cut, so one kind does every byte
	}{{"end", single, 1}, {"end", long, 1}, {"close", single, 1}, {"close", long, 7}, {"reset", single, 5}} {
		t.Run(row.kind, func(t *testing.T) { c.cutEverywhere(t, row.reply, row.kind, row.step) })
	}
}

// cutEverywhere requests a reply that is cut at each step-th byte in turn. A call must be ready only when
// complete, and Done must carry the whole message.
func (c *test) cutEverywhere(t *testing.T, r llmtest.Reply, kind string, step int) {
	t.Helper()
	whole := c.scene(t, never, r)
	want := whole.done(c.request()).message
	size := whole.waitEnded(1)[0].Sent
	if testing.Short() {
		step *= 17
	}
	for at := 0; at < size; at += step {
		r.Faults = append(r.Faults, llmtest.Fault{Kind: kind, At: fmt.Sprint(at)})
	}
	s := c.scene(t, never, r)
	ready := map[string]bool{}
	for _, in := range inputs(want) {
		ready[in] = true
	}
	for range r.Faults {
		o := s.ask(c.request())
		for _, d := range of[llm.ToolReady](o) {
			if in := d.Call.Name + " " + string(d.Call.Input); !ready[in] {
				t.Fatalf("a cut call was ready: %s", in)
			}
		}
		if o.err == nil {
			c.sameMessage(t, want, o.message)
			continue
		}
		if e := llm.AsError(o.err); e == nil || e.Kind != llm.KindNetwork || !e.Retryable {
			t.Fatalf("want a retryable network error, got %#v", o.err)
		}
	}
	for _, r := range s.srv.Requests() {
		if c.traits.Socket != (r.Socket == 1) {
			t.Fatalf("request %d was message %d on a WebSocket", r.N, r.Socket)
		}
	}
	if o := s.done(c.request()); o.message.Stop != llm.StopToolUse {
		t.Errorf("after the faults: %+v", o.message)
	}
}

// sameMessage compares two replies except for fields that differ between answers.
func (c *test) sameMessage(t *testing.T, want, got *llm.Message) {
	t.Helper()
	d := diff(want, got, cmpopts.IgnoreFields(llm.Message{}, "ID", "Usage"), cmpopts.IgnoreFields(llm.ToolCall{}, "ID"))
	if d != "" {
		t.Fatalf("Done came with less than the whole message (-want +got):\n%s", d)
	}
}
