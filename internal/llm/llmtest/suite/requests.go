package suite

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// png is an image of one pixel.
var png, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")

// requests tests request bodies. The server is strict: an accepted request has the right form.
func (c *test) requests(t *testing.T) {
	t.Run("images", c.images)
	t.Run("results", c.resultsOut)
	t.Run("reasoning goes back unchanged", c.reasoningBack)
	t.Run("text is sent as it is", c.exactText)
	t.Run("schemas are sent byte for byte", c.exactSchemas)
	t.Run("the same request is the same bytes", c.sameBytes)
	t.Run("a resumed conversation is the same bytes", c.resumed)
	t.Run("messages are not changed", c.untouched)
	t.Run("without tools", c.withoutTools)
	t.Run("tool choice", c.toolChoice)
}

// body is the body of the last request.
func (s *scene) body() string {
	rs := s.srv.Requests()
	return string(rs[len(rs)-1].Body)
}

func (s *scene) wantInOrder(parts ...string) {
	s.t.Helper()
	rest := s.body()
	for _, p := range parts {
		if s.traits.Unnumbered && strings.HasPrefix(p, "call_") {
			continue
		}
		i := strings.Index(rest, p)
		if i < 0 {
			s.t.Errorf("%s is missing, or not where it should be, in\n%s", p, s.body())
			return
		}
		rest = rest[i+len(p):]
	}
}

func (c *test) images(t *testing.T) {
	data := base64.StdEncoding.EncodeToString(png)
	s := c.scene(t, never, llmtest.Say(llmtest.Text("ok")), llmtest.Say(llmtest.Text("ok")))
	s.done(c.request(llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "look"},
		llm.Media{MIME: "image/png", Data: png},
		llm.Text{Text: "well?"},
	}}))
	s.wantInOrder("look", data, "well?")
	call := llm.ToolCall{ID: "call_1", Name: "Read", Input: json.RawMessage(`{"file_path":"/a.png"}`)}
	s.done(c.request(llm.UserText("look"), llm.Message{Role: llm.Assistant, Parts: []llm.Part{call}}, llm.Message{
		Role: llm.User, Parts: []llm.Part{llm.ToolResult{
			CallID: "call_1", Name: "Read",
			Parts: []llm.Part{llm.Media{MIME: "image/png", Data: png}},
		}},
	}))
	s.wantInOrder("look", "call_1", "/a.png", "call_1", data)
}

// history is a conversation with two parallel calls, one of which failed, and an empty result.
func history() []llm.Message {
	a := llm.ToolCall{ID: "call_a", Name: "Read", Input: json.RawMessage(`{"file_path": "/a<b>&"}`)}
	b := llm.ToolCall{ID: "call_b", Name: "Bash", Input: json.RawMessage(`{"command":"false"}`)}
	d := llm.ToolCall{ID: "call_d", Name: "Bash", Input: json.RawMessage(`{}`)}
	return []llm.Message{
		llm.UserText("fix it"),
		{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "Both at once."}, a, b}},
		{Role: llm.User, Parts: []llm.Part{llm.TextResult(a, "package a", false), llm.TextResult(b, "it broke", true)}},
		{Role: llm.Assistant, Parts: []llm.Part{d}},
		{Role: llm.User, Parts: []llm.Part{
			llm.ToolResult{CallID: "call_d", Name: "Bash"},
			llm.Text{Text: "also look at b.go"},
		}},
	}
}

func (c *test) resultsOut(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(), llmtest.Say(), llmtest.Say(llmtest.Text("ok")))
	s.done(c.request(history()...))
	s.wantInOrder("fix it", "Both at once.", "call_a", "call_b", "call_a", "package a", "call_b", "it broke", "call_d",
		"call_d", "also look at b.go")
	if !strings.Contains(s.body(), "error") {
		t.Error("the failed result is not marked as an error")
	}
}

func (c *test) reasoningBack(t *testing.T) {
	if c.traits.Effort == "" {
		t.Skip("the wire has no reasoning")
	}
	thoughts := []llmtest.Part{llmtest.Thinking("First " + unicodeText)}
	if c.traits.Signatures {
		thoughts = append(thoughts, llmtest.Part{Redacted: "cmVkYWN0ZWQ="})
	}
	s := c.scene(t, never,
		llmtest.Say(append(thoughts, llmtest.Text("Looking."), read("/a"))...),
		llmtest.Say(llmtest.Thinking("Second thought."), bash("true")),
		llmtest.Say(llmtest.Text("Done.")))
	msgs := []llm.Message{llm.UserText("fix it")}
	for range 3 {
		o := s.done(c.request(msgs...)) // the server refuses a message without its reasoning
		msgs = append(append(msgs, *o.message), results(o.message, "fine")...)
	}
	s.wantInOrder("First na", "Second thought.")
}

func (c *test) exactText(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(llmtest.Text("ok")))
	s.done(c.request(llm.UserText(unicodeText + " <b>&")))
	want, err := json.Marshal(unicodeText)
	if err != nil {
		t.Fatal(err)
	}
	text := string(llm.AppendCanonical(nil, want))
	s.wantInOrder(text[1:len(text)-1] + " <b>&")
}

func (c *test) exactSchemas(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(llmtest.Text("ok")))
	req := c.request()
	req.Tools = []llm.ToolSpec{{
		Name: "Odd", Description: "",
		Schema: json.RawMessage(
			`{"type" : "object","properties":{"z":{"type":"string"},"a":{"type":"number","minimum":1.0}} }`),
	}}
	s.done(req)
	s.wantInOrder(`"Odd"`, string(req.Tools[0].Schema))
}

func (c *test) sameBytes(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(), llmtest.Say(), llmtest.Say(llmtest.Text("ok")))
	for range 3 {
		s.done(c.request(history()...))
	}
	rs := s.srv.Requests()
	if string(rs[0].Body) != string(rs[1].Body) || string(rs[1].Body) != string(rs[2].Body) {
		t.Errorf("bodies differ:\n%s\n%s", rs[0].Body, rs[1].Body)
	}
}

// resumed: messages read from the stored form are encoded as before.
func (c *test) resumed(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(), llmtest.Say(), llmtest.Say(llmtest.Text("ok")))
	msgs := history()
	s.done(c.request(msgs...))
	stored, err := json.Marshal(msgs)
	if err != nil {
		t.Fatal(err)
	}
	var again []llm.Message
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	s.done(c.request(again...))
	rs := s.srv.Requests()
	if string(rs[0].Body) != string(rs[1].Body) {
		t.Errorf("bodies differ:\n%s\n%s", rs[0].Body, rs[1].Body)
	}
}

func (c *test) untouched(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(), llmtest.Say(), llmtest.Say(llmtest.Text("ok")))
	req := c.request(history()...)
	before, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	s.done(req)
	after, err := json.Marshal(req)
	if err != nil || string(before) != string(after) {
		t.Errorf("the request was changed, %v:\n%s\n%s", err, before, after)
	}
}

func (c *test) withoutTools(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(llmtest.Text("A title")))
	if o := s.done(&llm.Request{
		Messages: []llm.Message{llm.UserText("name this")}, MaxTokens: 50,
		ToolChoice: "none",
	}); o.text() != "A title" {
		t.Errorf("got %q", o.text())
	}
}

func (c *test) toolChoice(t *testing.T) {
	s := c.scene(t, never, llmtest.Say(read("/a")))
	for _, choice := range []string{"", "auto", "none", "any", "Read"} {
		req := c.request()
		req.ToolChoice, req.Effort = choice, ""
		s.done(req)
		if has := strings.Contains(s.body(), `"`+cmp.Or(c.traits.Choice, "tool_choice")+`"`); has != (choice == "none" &&
			!c.traits.NoForbid || choice == "any" || choice == "Read") {
			t.Errorf("tool_choice for %q: %s", choice, s.body())
		}
	}
}
