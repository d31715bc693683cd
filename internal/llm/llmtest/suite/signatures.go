package suite

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// signatures tests data that must go back to its host unchanged, and to no other host.
func (c *test) signatures(t *testing.T) {
	for _, shape := range c.traits.Signed {
		t.Run("go back to the same host "+shape, func(t *testing.T) { c.signaturesBack(t, shape) })
		t.Run("stay away from other hosts "+shape, func(t *testing.T) { c.signaturesKept(t, shape) })
	}
}

// signed is a reply whose signatures all begin with the server's prefix.
func (c *test) signed(shape string) llmtest.Reply {
	r := llmtest.Say(llmtest.Thinking("Let me look at both files."), llmtest.Text("Looking."), read("/a"), read("/b"))
	r.Chunk = 7
	if shape != "" {
		r.Shape = []string{shape}
	}
	return r
}

const signaturePrefix = "llmtest."

// stored returns a message after a round trip through the stored form.
func stored(t *testing.T, m *llm.Message) llm.Message {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again llm.Message
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

func (c *test) signaturesBack(t *testing.T, shape string) {
	r := c.signed(shape)
	s := c.scene(t, never, r, llmtest.Say(llmtest.Text("Done.")), llmtest.Say(llmtest.Text("Done.")))
	reply := *s.done(c.request()).message
	said := llm.UserText("Please fix the failing test.")
	live := s.done(c.request(append([]llm.Message{said, reply}, results(&reply, "x")...)...)).sent()
	if n := strings.Count(s.body(), signaturePrefix); n < 1 {
		t.Errorf("no signature came back:\n%s", s.body())
	}
	resumed := stored(t, &reply)
	if again := s.done(c.request(append([]llm.Message{said, resumed},
		results(&resumed, "x")...)...)).sent(); again != live {
		t.Errorf("after a resume the request differs:\n%s\n%s", live, again)
	}
}

func (c *test) signaturesKept(t *testing.T, shape string) {
	reply := *c.scene(t, never, c.signed(shape)).done(c.request()).message
	other := c.scene(t, never, llmtest.Say(), llmtest.Say(llmtest.Text("Done.")))
	req := c.request(append([]llm.Message{llm.UserText("Please fix the failing test."), reply},
		results(&reply, "x")...)...)
	other.done(req)
	if strings.Contains(other.body(), signaturePrefix) {
		t.Errorf("another host was sent signatures:\n%s", other.body())
	}
	other.wantInOrder("Looking.", "/a", "/b")
}
