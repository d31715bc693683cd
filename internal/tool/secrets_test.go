//go:build unix

package tool_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestResultsDoNotShowTheUsersSecrets(t *testing.T) {
	env := bashIn(t, "")
	const secret = "t0ken-of-the-user"
	env.Secrets = func() *event.Values { return event.NewValues(secret) }
	text := bash(t, env, `printf 't0ken-of'; sleep 0; printf -- '-the-user\nrest t0k'; echo`)
	if strings.Contains(text, secret) || !strings.Contains(text, event.Masked) || !strings.Contains(text, "rest t0k") {
		t.Errorf("the output of a command: %q", text)
	}
	r := runBash(t, t.Context(), env, map[string]any{"command": "i=0; while [ $i -lt 30000 ]; do echo " + secret +
		"; i=$((i+1)); done"})
	view, ok := r.View.(event.Command)
	if !ok || view.OutputRef == "" {
		t.Fatalf("no blob: %+v", r.View)
	}
	if b, err := os.ReadFile(view.OutputRef); err != nil || strings.Contains(string(b), secret) ||
		!strings.Contains(string(b), event.Masked) {
		t.Errorf("the kept output has the secret: %v", err)
	}
	got := agent.TextResult("a " + secret + " b")
	got.Meta = map[string]any{"file": "a " + secret}
	env.Spill(t.Context(), llm.ToolCall{Name: "Read"}, got)
	if got.Meta["file"] != "a "+event.Masked {
		t.Errorf("for machines: %v", got.Meta)
	}
	if text := textOf(got); strings.Contains(text, secret) || !strings.Contains(text, "a "+event.Masked+" b") {
		t.Errorf("a result: %q", text)
	}
}
