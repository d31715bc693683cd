package hook_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
)

// background makes the hooks of a session with one command at PreToolUse, which waits for a file "go" in its folder.
func background(t *testing.T, more, first, last string) (h *hook.Hooks, bus *event.Bus, goOn func()) {
	t.Helper()
	command, err := json.Marshal("printf '" + first + "'; until [ -e go ]; do sleep 0.01; done; " + last)
	if err != nil {
		t.Fatal(err)
	}
	m := machine(t, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", `+more+`"command": `+string(command)+
		`}]}]}}`)
	h, bus = open(t, m)
	return h, bus, func() {
		if err := os.WriteFile(filepath.Join(m.Root, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestACommandThatSaysSoGoesOnInTheBackground(t *testing.T) {
	for first, last := range map[string]string{
		`{"async": true, "asyncTimeout": 600000}\n`:        `echo noise; echo '{"hookSpecificOutput": {"additionalContext": "later"}}'; echo more noise`,
		`\n{"async":true}\n{"ignored`:                      `echo '": 1, "hookSpecificOutput": {"additionalContext": "later"}}'`,
		`{"async":true}`:                                   `printf '\n{\n  "hookSpecificOutput": {\n"additionalContext": "later"}}'`,
		`{"async":true,"decision":"block","reason":"x"}\n`: `echo '{"decision":"block","hookSpecificOutput": {"additionalContext": "later"}}'; exit 2`,
	} {
		h, _, goOn := background(t, "", first, last)
		turn, end := context.WithCancel(t.Context())
		// returns although the file "go" is not there
		runs, err := h.Try(turn, "PreToolUse", map[string]any{"tool_name": "Bash"})
		end() // the command does not end with the turn
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		if word, why := runs[0].Verdict(); word != "" || runs[0].Err != nil {
			t.Errorf("%s: it decided %s %s, %v", first, word, why, runs[0].Err)
		}
		goOn()
		var text string
		await.Until(func() bool {
			m, ok := h.News()
			text = m.PlainText()
			return ok
		})
		if !strings.Contains(text, "Hook: later\n") {
			t.Errorf("%s: got %q", first, text)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A hook whose first line is not exactly the asynchronous form runs in the foreground.
func TestACommandWithoutThatLineIsWaitedFor(t *testing.T) {
	for _, first := range []string{`{"async": false}\n`, `text\n{"async":true}\n`, `{"async":1}\n`, `{"async":true,\n`} {
		h, _, goOn := background(t, "", first, "echo no >&2; exit 2")
		goOn()
		runs, err := h.Try(t.Context(), "PreToolUse", map[string]any{"tool_name": "Bash"})
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		if word, why := runs[0].Verdict(); word != "deny" || why != "no" {
			t.Errorf("%s: got %s %s", first, word, why)
		}
	}
}

func TestACommandInTheBackgroundHasItsTime(t *testing.T) {
	h, bus, goOn := background(t, "", `{"async": true, "asyncTimeout": 1}\n`, "true")
	defer goOn()
	sub := bus.Subscribe(t.Context(), event.Options{})
	if _, err := h.Try(t.Context(), "PreToolUse", map[string]any{"tool_name": "Bash"}); err != nil {
		t.Fatal(err)
	}
	for e := range sub.All(t.Context()) {
		if b, ok := e.Body.(event.HookRun); ok {
			if !strings.Contains(b.Err, "did not end within 1ms") {
				t.Errorf("got %+v", b)
			}
			return
		}
	}
}
