//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// asksTwo is a model that asks one question with previews and one that takes several answers.
func asksTwo() *llmtest.Script {
	option := func(label, preview string) map[string]any {
		o := map[string]any{"label": label, "description": "what " + label + " means"}
		if preview != "" {
			o["preview"] = preview
		}
		return o
	}
	return llmtest.Replies(llmtest.Say(llmtest.Tool("AskUserQuestion", map[string]any{"questions": []any{
		map[string]any{"question": "Which layout?", "header": "Layout", "options": []any{
			option("Wide", "preview-of-wide"),
			option("Narrow", "preview-of-narrow"),
		}},
		map[string]any{
			"question": "Which parts?", "header": "Parts", "multiSelect": true,
			"options": []any{option("Engine", ""), option("Terminal", ""), option("Server", "")},
		},
	}})), llmtest.Say(llmtest.Text("That was it.")))
}

// answersSent is the text of the result that the model got.
func answersSent(t *testing.T, body string) string {
	t.Helper()
	var request struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatal(err)
	}
	return string(request.Messages[len(request.Messages)-1].Content)
}

func TestTheModelsQuestionsAreAnsweredInTheTerminal(t *testing.T) {
	s, srv := converseServed(t, "xterm-256color", asksTwo(), nil, "hello")
	s.Shows("Which layout?")
	s.Shows("preview-of-wide")
	s.Press("2", "Which parts?")
	s.Press("1", "[x]")
	s.Type("3\r")
	s.Press("\r", "That was it.")
	got := answersSent(t, string(srv.Requests()[1].Body))
	for _, want := range []string{"Which layout?", "Narrow", "Which parts?", "Engine", "Server"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Contains(got, "Terminal") || strings.Contains(got, "Wide") {
		t.Errorf("not chosen: %s", got)
	}
	s.Press("\x03", "again leaves")
	s.Type("\x03")
	ended(t, s, 0)
}

func TestTheModelsQuestionsAreAnsweredInPlainLines(t *testing.T) {
	s, srv := converseServed(t, "dumb", asksTwo(), nil, "hello")
	s.Sees("Which layout?")
	s.Sees("preview-of-narrow")
	s.Sees("? ")
	s.Type("none of them\r") // free text instead of an option
	s.Sees("Which parts?")
	s.Sees("? ")
	s.Type("1,3\r")
	s.Sees("That was it.")
	got := answersSent(t, string(srv.Requests()[1].Body))
	for _, want := range []string{"none of them", "Engine", "Server"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	s.Sees("> ")
	s.Type("\x04")
	ended(t, s, 0)
}
