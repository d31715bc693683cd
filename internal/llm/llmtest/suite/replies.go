package suite

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

const unicodeText = "naïve café – 世界 🙂👩‍👩‍👧 e\u0301 \u2028 \"quoted\" \\ back\ttab\nline </script>"

// replies tests reading complete replies.
func (c *test) replies(t *testing.T) {
	t.Run("text", c.textReply)
	t.Run("unicode in writes of every size", c.unicodeReply)
	t.Run("calls of one reply", c.callReply)
	t.Run("a call is ready while the reply streams", c.readyWhileStreaming)
	t.Run("a call without input", c.emptyCall)
	t.Run("reasoning", c.reasoningReply)
	t.Run("stop reasons", c.stopReasons)
	t.Run("broken and cut inputs", c.brokenInputs)
	t.Run("usage", c.usage)
	t.Run("big", c.bigReply)
	t.Run("shapes", c.shapes)
	t.Run("at the same time", c.concurrent)
	if c.traits.Whole {
		t.Run("single JSON", c.wholeReply)
	}
}

func (c *test) textReply(t *testing.T) {
	for _, chunk := range []int{0, 1, 3} {
		r := llmtest.Say(llmtest.Text("Hello, world."))
		r.Chunk = chunk
		s := c.scene(t, never, r)
		o := s.done(c.request())
		if o.text() != "Hello, world." || o.message.Stop != llm.StopEndTurn {
			t.Errorf("chunks of %d: %q, %s", chunk, o.text(), o.message.Stop)
		}
		if chunk == 1 && len(of[llm.TextDelta](o)) < 5 {
			t.Errorf("text came in %d deltas although it was streamed by the character", len(of[llm.TextDelta](o)))
		}
		if started := of[llm.Started](o); len(started) != 1 || started[0].Model == "" {
			t.Errorf("Started: %+v", started)
		}
		if sent := of[llm.Sent](o); len(sent) != 1 || !slices.Equal(sent[0].Body(), s.srv.Requests()[0].Body) {
			t.Error("Sent does not hold the body that the server got")
		}
	}
}

func (c *test) unicodeReply(t *testing.T) {
	for _, write := range []int{1, 2, 3, 5, 7} {
		r := llmtest.Say(llmtest.Text(unicodeText), bash(unicodeText))
		r.Write, r.Chunk = write, write
		o := c.scene(t, never, r).done(c.request())
		if o.text() != unicodeText {
			t.Errorf("writes of %d bytes: got %q", write, o.text())
		}
		in := string(llm.AppendCanonical(nil, llmtest.Tool("", map[string]any{"command": unicodeText}).Input))
		c.wantInputs(t, o.message, "Bash "+in)
	}
}

func (c *test) callReply(t *testing.T) {
	r := llmtest.Say(llmtest.Text("Looking."), read("/a"), read("/b"), bash("true"))
	r.Chunk = 4
	o := c.scene(t, never, r).done(c.request())
	c.wantInputs(t, o.message, `Read {"file_path":"/a"}`, `Read {"file_path":"/b"}`, `Bash {"command":"true"}`)
	if o.message.Stop != llm.StopToolUse || o.text() != "Looking." {
		t.Errorf("stop %s, text %q", o.message.Stop, o.text())
	}
	if n := len(of[llm.ToolReady](o)); n != 3 {
		t.Errorf("%d calls were ready", n)
	}
	c.readyEarly(t, o)
}

// readyEarly: the first call is ready before the second one has any JSON.
func (c *test) readyEarly(t *testing.T, o *outcome) {
	t.Helper()
	for _, d := range o.deltas {
		switch d := d.(type) {
		case llm.ToolReady:
			return
		case llm.ToolDelta:
			if d.Index > 1 {
				t.Errorf("the call at index 1 was not ready when index %d began", d.Index)
				return
			}
		}
	}
}

// readyWhileStreaming: the server waits until the client, having got the call, leaves.
func (c *test) readyWhileStreaming(t *testing.T) {
	r := llmtest.Say(read("/a"), bash("echo a long command"))
	r.Chunk = 4
	at := "part 1 50%"
	if c.traits.ReadyAtEnd {
		at = "after part 0"
	}
	r.Faults = []llmtest.Fault{{Kind: "stall", At: at}}
	s := c.sceneWith(t, Options{Retry: never, StallTimeout: 20 * time.Second}, r)
	got := ""
	o := stream(t.Context(), s.model, c.request(), func(d llm.Delta) bool {
		if ready, ok := d.(llm.ToolReady); ok {
			got = string(ready.Call.Input)
		}
		return got == ""
	})
	if got != `{"file_path":"/a"}` || o.err != nil {
		t.Errorf("ready was %q, error %v", got, o.err)
	}
	s.wantGone()
}

func (c *test) emptyCall(t *testing.T) {
	o := c.scene(t, never, llmtest.Say(llmtest.Part{Tool: "Read", Raw: ""},
		llmtest.Part{Tool: "Bash", Raw: " {} "})).done(c.request())
	c.wantInputs(t, o.message, "Read {}", "Bash {}")
}

func (c *test) reasoningReply(t *testing.T) {
	if c.traits.Effort == "" {
		t.Skip("the wire has no reasoning")
	}
	r := llmtest.Say(llmtest.Thinking("Let me think "+unicodeText), llmtest.Text("Done."))
	r.Chunk = 5
	s := c.scene(t, never, r)
	o := s.done(c.request())
	want := llm.Reasoning{Text: "Let me think " + unicodeText, Provider: s.model.Info().Host}
	if c.traits.Signatures {
		want.Signature = llmtest.Sign(want.Text)
	}
	if c.traits.Sealed {
		if r, ok := o.message.Parts[0].(llm.Reasoning); ok && r.Opaque != nil {
			want.Opaque = r.Opaque // tested with the signatures
		} else {
			t.Error("the reasoning has no data to go back")
		}
	}
	if d := diff([]llm.Part{want, llm.Text{Text: "Done."}}, o.message.Parts); d != "" {
		t.Error(d)
	}
	if !c.traits.Signatures {
		return
	}
	s = c.scene(t, never, llmtest.Say(llmtest.Part{Redacted: "b64=="}, llmtest.Text("Done.")))
	o = s.done(c.request())
	if d := diff([]llm.Part{llm.Reasoning{Data: "b64==", Provider: s.model.Info().Host}, llm.Text{Text: "Done."}},
		o.message.Parts); d != "" {
		t.Error(d)
	}
}

func (c *test) stopReasons(t *testing.T) {
	for _, stop := range append([]llm.StopReason{llm.StopEndTurn}, c.traits.Stops...) {
		r := llmtest.Say(llmtest.Text("Well."))
		r.Stop = stop
		if o := c.scene(t, never, r).done(c.request()); o.message.Stop != stop {
			t.Errorf("%s came out as %s", stop, o.message.Stop)
		}
	}
	r := llmtest.Say(read("/a"))
	r.Stop = llm.StopEndTurn
	if o := c.scene(t, never, r).done(c.request()); o.message.Stop != llm.StopToolUse {
		t.Errorf("a reply with a call that claims end_turn came out as %s", o.message.Stop)
	}
}

func (c *test) brokenInputs(t *testing.T) {
	broken := llmtest.Part{Tool: "Read", Raw: `{"file_path": "/a`}
	o := c.scene(t, never, llmtest.Say(broken, read("/b"))).done(c.request())
	if got := o.message.Calls(); len(got) != 2 || got[0].Raw != broken.Raw || string(got[0].Input) != "{}" ||
		got[1].Raw != "" {
		t.Errorf("calls: %+v", got)
	}
	r := llmtest.Say(read("/a"), broken)
	r.Stop = llm.StopMaxTokens
	o = c.scene(t, never, r).done(c.request())
	c.wantInputs(t, o.message, `Read {"file_path":"/a"}`)
	if o.message.Stop != llm.StopMaxTokens {
		t.Errorf("stop is %s", o.message.Stop)
	}
	for _, raw := range []string{`[1]`, `"text"`, `nonsense`, `{"a":1}}`, `{"a":1} {"b":2}`} {
		o := c.scene(t, never, llmtest.Say(llmtest.Part{Tool: "Read", Raw: raw})).done(c.request())
		if got := o.message.Calls(); len(got) != 1 || got[0].Raw != raw || len(of[llm.ToolReady](o)) != 0 {
			t.Errorf("input %s came out as %+v, ready %v", raw, got, of[llm.ToolReady](o))
		}
	}
}

func (c *test) usage(t *testing.T) {
	u := llm.Usage{Input: 11, Output: 7, CacheRead: 100}
	if c.traits.CacheWrites {
		u.CacheWrite, u.CacheWrite1h = 30, 10
	}
	if cost := 0.00125; c.traits.Costs {
		u.CostUSD = &cost
	}
	r := llmtest.Say(llmtest.Text("Hi."))
	r.Usage = &u
	o := c.scene(t, never, r).done(c.request())
	if d := diff(&u, o.message.Usage); d != "" {
		t.Error(d)
	}
	r = llmtest.Say(llmtest.Text(strings.Repeat("word ", 100)))
	r.Shape = []string{"usage_absent"}
	got := c.scene(t, never, r).done(c.request()).message.Usage
	if !got.Estimated || got.Output < 50 || got.Input < 10 {
		t.Errorf("without a usage: %+v", got)
	}
}

func (c *test) bigReply(t *testing.T) {
	n := 2 << 20
	r := llmtest.Say(llmtest.Part{Fill: n}, llmtest.Part{Tool: "Bash", Fill: n})
	r.Chunk = 4000
	o := c.scene(t, never, r).done(c.request())
	if o.text() != llmtest.Fill(n) {
		t.Errorf("the text of %d bytes came out with %d", n, len(o.text()))
	}
	if in := o.message.Calls()[0].Input; len(in) < n {
		t.Errorf("the input of %d bytes came out with %d", n, len(in))
	}
}

func (c *test) shapes(t *testing.T) {
	base := []string{"unknown_events", "unknown_fields", "comments", "crlf", "no_space"}
	for _, shape := range append(base, c.traits.Shapes...) {
		for _, chunk := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s %d", shape, chunk), func(t *testing.T) {
				r := llmtest.Say(llmtest.Text("Looking."), read("/a"), bash("true"), read("/b"))
				if strings.HasPrefix(shape, "reasoning") {
					r.Parts = append([]llmtest.Part{llmtest.Thinking("Hm, hm.")}, r.Parts...)
				}
				r.Chunk, r.Shape = chunk, []string{shape}
				o := c.scene(t, never, r).done(c.request())
				if o.text() != "Looking." || o.message.Stop != llm.StopToolUse {
					t.Errorf("text %q, stop %s", o.text(), o.message.Stop)
				}
				c.wantInputs(t, o.message, `Read {"file_path":"/a"}`, `Bash {"command":"true"}`, `Read {"file_path":"/b"}`)
				if p, ok := o.message.Parts[0].(llm.Reasoning); strings.HasPrefix(shape, "reasoning") &&
					(!ok || p.Text != "Hm, hm.") {
					t.Errorf("reasoning: %+v", o.message.Parts[0])
				}
			})
		}
	}
}

func (c *test) wholeReply(t *testing.T) {
	for _, shape := range [][]string{{"json"}, {"json", "unknown_fields"}, {"json", "usage_absent"}} {
		r := llmtest.Say(llmtest.Text("Looking."), read("/a"), read("/b"))
		r.Shape = shape
		o := c.scene(t, never, r).done(c.request())
		c.wantInputs(t, o.message, `Read {"file_path":"/a"}`, `Read {"file_path":"/b"}`)
		if o.text() != "Looking." || o.message.Stop != llm.StopToolUse {
			t.Errorf("text %q, stop %s", o.text(), o.message.Stop)
		}
	}
	r := llmtest.Say(llmtest.Text("Looking."), read("/a"))
	r.Shape = []string{"json"}
	r.Faults = []llmtest.Fault{{Kind: "close", At: "70%"}, {Kind: "end", At: "70%"}, {Kind: "end", At: "-1"}}
	s := c.scene(t, quick, r)
	c.wantInputs(t, s.done(c.request()).message, `Read {"file_path":"/a"}`)
	s.wantRequests(4)
}

func (c *test) concurrent(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(llmtest.Text("one"), read("/a")), llmtest.Say(llmtest.Text("two")))
	first := s.done(c.request())
	second := c.request(append([]llm.Message{llm.UserText("Please fix the failing test."), *first.message},
		results(first.message, "x")...)...)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				req, want := c.request(), "one"
				if i%2 == 1 {
					req, want = second, "two"
				}
				o := stream(t.Context(), s.model, req, nil)
				if o.err != nil || o.text() != want {
					t.Errorf("got %q, %v", o.text(), o.err)
				}
				o.check(t)
			}
		})
	}
	wg.Wait()
}

// results answers the calls of m.
func results(m *llm.Message, text string) []llm.Message {
	out := llm.Message{Role: llm.User}
	for _, c := range m.Calls() {
		out.Parts = append(out.Parts, llm.TextResult(c, text, false))
	}
	if len(out.Parts) == 0 {
		return nil
	}
	return []llm.Message{out}
}
