package suite

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// conversation runs 30 steps: every request begins with the previous one, and one connection serves them all.
func (c *test) conversation(t *testing.T) {
	const steps = 30
	var replies []llmtest.Reply
	for i := range steps {
		r := llmtest.Say(llmtest.Text(fmt.Sprintf("Step %d.", i)), read(fmt.Sprintf("/f%d", i)))
		if i%3 == 0 {
			r = llmtest.Say(read(fmt.Sprintf("/f%d", i)), bash("true"))
		}
		if c.traits.Effort != "" {
			r.Parts = append([]llmtest.Part{llmtest.Thinking(fmt.Sprintf("Thought %d.", i))}, r.Parts...)
		}
		if i%7 == 6 {
			r = llmtest.Say(llmtest.Text(fmt.Sprintf("Answer %d.", i))) // a turn ends
		}
		replies = append(replies, r)
	}
	s := c.scene(t, never, replies...)
	msgs := []llm.Message{llm.UserText("go on")}
	for i := range steps {
		o := s.done(c.request(msgs...))
		msgs = append(msgs, *o.message)
		if more := results(o.message, fmt.Sprintf("result %d", i)); more != nil {
			msgs = append(msgs, more...)
		} else {
			msgs = append(msgs, llm.UserText(fmt.Sprintf("next %d", i)))
		}
	}
	rs := s.srv.Requests()
	if len(rs) != steps {
		t.Fatalf("%d requests", len(rs))
	}
	for i, r := range rs {
		if c.traits.Socket && (r.Socket != i+1 || i > 0 && (bytes.Contains(r.Message, []byte("go on")) ||
			!bytes.Contains(r.Message, []byte(`"previous_response_id"`)))) {
			t.Errorf("step %d, message %d on its WebSocket, has more than what is new:\n%s", i, r.Socket, r.Message)
		}
		if r.Conn != rs[0].Conn {
			t.Errorf("step %d used connection %d, not %d", i, r.Conn, rs[0].Conn)
		}
		if i == 0 {
			continue
		}
		if err := llmtest.SamePrefix(rs[i-1].Body, r.Body); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
