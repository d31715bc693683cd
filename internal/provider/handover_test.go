package provider

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/converse"
	"github.com/lathe-dev/lathe/internal/llm/google"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

// handoverScript has replies of every kind: several calls, thoughts, plain answers, bad input, an impossible name.
// Calls have their own ids at each server, since servers know theirs by id; those of one have characters that others
// refuse.
func handoverScript(server string) *llmtest.Script {
	call := func(name, path string) llmtest.Part { return llmtest.Tool(name, map[string]any{"file_path": path}) }
	signed := func(parts ...llmtest.Part) llmtest.Reply {
		r := llmtest.Say(parts...)
		r.Shape = []string{"calls_signed"}
		return r
	}
	script := llmtest.Replies(
		signed(llmtest.Thinking("First."), llmtest.Text("Looking."), call("Read", "/a"), call("Read", "/b")),
		signed(call("Bash", "x")),
		llmtest.Say(llmtest.Thinking("Done, I think."), llmtest.Text("Here is the answer.")),
		signed(llmtest.Thinking("Again."), call("Read", "/c")),
		llmtest.Say(llmtest.Part{Tool: "Read", Raw: `{"file_path": `}, call("Read", "/d")),
		signed(llmtest.Text("Text first."), call("Read", "/e"), call("Bash", "y"), call("Bash", "z")),
		llmtest.Say(llmtest.Part{Tool: "no such tool!", Raw: `{}`}),
		llmtest.Say(llmtest.Text("The end.")),
	)
	for i := range script.Replies {
		for j := range script.Replies[i].Parts {
			if p := &script.Replies[i].Parts[j]; p.Tool != "" {
				p.ID = fmt.Sprintf("%s_%d_%d", server, i, j)
				if server == "call2" { // Chat Completions, where some hosts write ids so
					p.ID = fmt.Sprintf("functions.%s:%d.%d", p.Tool, i, j)
				}
			}
		}
	}
	return script
}

// handoverModels are one model of each wire, each at its own server that refuses what the real one refuses.
func handoverModels(t *testing.T) []llm.Model {
	t.Helper()
	n := 0
	server := func() string {
		n++
		s := llmtest.New(handoverScript(fmt.Sprintf("call%d", n)), llmtest.Options{ReasoningBack: true})
		if err := s.Start("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s.URL()
	}
	client, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	never := llm.RetryPolicy{Max: -1}
	claude, err := anthropic.New(anthropic.Config{BaseURL: server(), APIKey: "k", HTTP: client, Retry: never})
	if err != nil {
		t.Fatal(err)
	}
	var out []llm.Model
	for _, row := range []struct {
		p  llm.Provider
		id string
	}{
		{claude, llm.DefaultModel},
		{openai.New(openai.Config{
			BaseURL: server(), APIKey: "k", HTTP: client, Retry: never,
			Traits: &openai.Traits{Reasoning: openai.KeepWithCalls},
		}), "local"},
		{openai.New(openai.Config{BaseURL: server(), APIKey: "k", HTTP: client, Retry: never, Responses: true}), "gpt-5.1"},
		{google.New(google.Config{BaseURL: server(), APIKey: "k", HTTP: client, Retry: never}), "gemini-3-flash-preview"},
		{google.New(google.Config{BaseURL: server(), APIKey: "k", HTTP: client, Retry: never}), "gemini-2.5-pro"},
		{converse.New(converse.Config{
			BaseURL: server(), Headers: map[string]string{"Authorization": "Bearer k"},
			HTTP: client, Retry: never,
		}), "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
	} {
		m, err := row.p.Model(t.Context(), row.id)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// answered returns the results of a reply's calls, or the next message of the user.
func answered(m llm.Message, steered bool) llm.Message {
	out := llm.Message{Role: llm.User}
	for i, c := range m.Calls() {
		out.Parts = append(out.Parts, llm.TextResult(c, fmt.Sprintf("result %d", i), c.Raw != ""))
	}
	if steered || len(out.Parts) == 0 {
		out.Parts = append(out.Parts, llm.Text{Text: "Go on."})
	}
	return out
}

func reply(ctx context.Context, m llm.Model, msgs []llm.Message) (llm.Message, error) {
	schema := []byte(`{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}`)
	req := &llm.Request{
		System: []llm.Part{llm.Text{Text: "S"}}, Messages: msgs, Effort: "medium",
		Tools: []llm.ToolSpec{{Name: "Read", Description: "Reads.", Schema: schema}, {
			Name: "Bash", Description: "Runs.",
			Schema: schema,
		}},
	}
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return llm.Message{}, err
		}
		if done, ok := d.(llm.Done); ok {
			return done.Message, nil
		}
	}
	return llm.Message{}, fmt.Errorf("no reply")
}

// A conversation goes on with any model of any wire, also between a call and the next step, and back: no server refuses
// what another one's reply left in it.
func TestAConversationGoesOnWithAnyProvider(t *testing.T) {
	models := handoverModels(t)
	converse := func(t *rapid.T, who []int, steered []bool) {
		msgs := []llm.Message{llm.UserText("Please begin.")}
		for step, i := range who {
			m, err := reply(context.Background(), models[i], msgs)
			if err != nil {
				t.Fatalf("step %d of %v: %v", step, who, err)
			}
			msgs = append(msgs, m, answered(m, steered[step]))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		who := rapid.SliceOfN(rapid.IntRange(0, len(models)-1), 2, 8).Draw(t, "who")
		converse(t, who, rapid.SliceOfN(rapid.Bool(), len(who), len(who)).Draw(t, "steered"))
	})
}

// What one host signed or sealed is sent to no other.
func TestAHandOverLeaksNoSignatures(t *testing.T) {
	models := handoverModels(t)
	for i, from := range models {
		m, err := reply(t.Context(), from, []llm.Message{llm.UserText("Please begin.")})
		if err != nil {
			t.Fatal(err)
		}
		for j, to := range models {
			if i == j {
				continue
			}
			body := ""
			for d, err := range to.Stream(t.Context(), &llm.Request{Messages: []llm.Message{
				llm.UserText("Please begin."), m,
				answered(m, false),
			}}) {
				if err != nil {
					break // what was sent counts
				}
				if sent, ok := d.(llm.Sent); ok {
					body += string(sent.Body())
				}
			}
			if !strings.Contains(body, "Please begin.") {
				t.Errorf("%s sends nothing of a conversation with %s", to.Info().ID, from.Info().ID)
			}
			if strings.Contains(body, "llmtest.") {
				t.Errorf("%s sends what %s signed: %s", to.Info().ID, from.Info().ID, body)
			}
		}
	}
}
