//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// oneHook is a hook that refuses the first time, or the first time waits for a file called go; later it does nothing.
type oneHook struct {
	event, does string
	begun       string // the file that says that it was run
}

const (
	refuses = "refuses"
	isSlow  = "is slow"
	isEnded = "is interrupted"
)

func (h oneHook) command() string {
	if h.does == refuses {
		return fmt.Sprintf("[ -e '%[1]s' ] && exit 0; : >'%[1]s'; echo not that >&2; exit 2", h.begun)
	}
	return fmt.Sprintf("[ -e '%[1]s' ] && exit 0; : >'%[1]s'; until [ -e '%[1]s.go' ]; do sleep 0.05; done", h.begun)
}

func (h oneHook) settings(t *testing.T) string {
	t.Helper()
	text,
		err := json.Marshal(
		map[string]any{"hooks": map[string]any{h.event: []any{map[string]any{"hooks": []any{map[string]any{
			"type":    "command",
			"command": h.command(),
		}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pass waits for the hook, and ends it as the test wants.
func (h oneHook) pass(t *testing.T, interrupt func()) {
	t.Helper()
	if !await.Until(func() bool { _, err := os.Stat(h.begun); return err == nil }) {
		t.Fatalf("the hook of %s was never run", h.event)
	}
	switch h.does {
	case isSlow:
		if err := os.WriteFile(h.begun+".go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	case isEnded:
		interrupt()
	}
}

// firstTurn is a model whose first reply has calls that run, fail and need a permission, and an agent. It ends the
// prompts "again" and the command /greet with texts that name them.
const firstTurn = `{"replies": [
	{"when": {"contains": "again"}, "parts": [{"text": "Said again."}]},
	{"when": {"contains": "look around"}, "parts": [{"text": "Seen."}]},
	{"parts": [{"text": "I begin."}, {"tool": "Bash", "input": {"command": "cd sub"}}, {"tool": "Bash", "input": {"command": "cat no-such-file"}},
		{"tool": "Bash", "input": {"command": "touch made"}}, {"tool": "Task", "input": {"subagent_type": "explore", "description": "look", "prompt": "look around"}}]}],
	"final": {"parts": [{"text": "Said at first."}]}}`

// firstHome is a home with the command /greet, and a project with instructions and a folder.
func firstHome(t *testing.T, project string) string {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{".claude/commands/greet.md": "Say hello.", project +
		"/CLAUDE.md": "Be kind.", project + "/sub/x": ""} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// eventsOfAFirstTurn are those that firstTurn fires, and the one of a turn that fails.
var eventsOfAFirstTurn = []string{
	"SessionStart", "Setup", "InstructionsLoaded", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse",
	"PermissionRequest", "PostToolUse", "PostToolUseFailure",
	"PostToolBatch", "SubagentStart", "SubagentStop", "CwdChanged", "Stop", "StopFailure",
}

// Whatever a hook does at the first prompt, the next one gets its reply, and the session ends when its input does.
func TestAHookOfTheFirstPromptLeavesTheSessionUsable(t *testing.T) {
	for _, does := range []string{refuses, isSlow, isEnded} {
		for _, name := range eventsOfAFirstTurn {
			t.Run(name+" "+does, func(t *testing.T) {
				t.Parallel()
				h := oneHook{name, does, filepath.Join(t.TempDir(), "begun")}
				model := firstTurn
				if name == "StopFailure" {
					model = `{"replies": [{"when": {"contains": "again"}, "parts": [{"text": "Said again."}]}, {"faults": [{"kind": "status", "status": 400, "times": -1}]}]}`
				}
				d := driveIn(t, firstHome(t, "p"), model, "--maintenance", "--settings", h.settings(t))
				late := time.AfterFunc(await.Patience, func() { _ = d.cmd.Process.Kill() })
				defer late.Stop()
				d.send(said("/greet", "1"))
				h.pass(t, func() { d.ask(`{"subtype":"interrupt"}`) })
				d.kind("result")
				d.send(said("again", "2"))
				d.until("the second reply", func(m map[string]any) bool { return m["result"] == "Said again." })
				d.end()
			})
		}
	}
}

// The same with a person, who gets a prompt back that was not sent.
func TestAHookOfTheFirstPromptLeavesTheConversationUsable(t *testing.T) {
	script, err := llmtest.Parse([]byte(firstTurn))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"terminal", "plain"} {
		for _, does := range []string{refuses, isSlow, isEnded} {
			for _, name := range []string{
				"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "MessageDisplay",
				"Stop",
			} {
				t.Run(mode+" "+name+" "+does, func(t *testing.T) {
					t.Parallel()
					h := oneHook{name, does, filepath.Join(t.TempDir(), "begun")}
					key, args := termtest.Esc, []string{"--permission-mode", "acceptEdits", "--settings", h.settings(t)}
					if mode == "plain" {
						key, args = termtest.CtrlC, append(args, "--plain")
					}
					s, _ := converseIn(t, firstHome(t, "project"), "xterm-256color", script, nil, args...)
					s.Shows(">")
					s.Type("at first\r")
					if name == "SessionStart" && does == isEnded { // it runs since before the prompt
						s.Shows(map[bool]string{true: "Thinking", false: "Working"}[mode == "plain"])
					}
					h.pass(t, func() { s.Type(key) })
					converseOn(s, h, mode == "plain")
					if mode == "terminal" {
						s.Press(termtest.CtrlC, "again leaves")
						s.Type(termtest.CtrlC)
					} else {
						s.Type(termtest.CtrlD)
					}
					ended(t, s, 0)
				})
			}
		}
	}
}

// converseOn sends the second prompt when the first turn is over, and before it the first one again if that came back.
func converseOn(s *termtest.Terminal, h oneHook, plain bool) {
	over := map[string]string{refuses: "stopped", isEnded: "interrupted"}[h.does]
	back := h.event == "UserPromptSubmit" && h.does != isSlow
	cut := h.does == isEnded && h.event != "Stop" // whose turn has its reply
	switch {
	case back && plain:
		s.Shows("(" + over + ")")
		s.Until("the prompt again", func(s *termtest.Screen) bool { return strings.Count(s.Text(), "> at first") == 2 })
	case back:
		s.Shows("\n" + over)
		s.Shows("> at first")
	case h.does == isEnded && !cut && plain:
		s.Shows("(2 steps")
	case h.does == isEnded && !cut:
		s.Shows("failed and")
		s.Hides("Interrupting")
	case cut && plain:
		s.Shows("(" + over + ")")
	case cut:
		s.Shows("\n" + over)
	}
	if back {
		s.Type("\r")
	}
	if back || !cut {
		s.Shows("Said at first.")
	}
	s.Type("again\r")
	s.Shows("Said again.")
}

// A command for the context of the first prompt that takes its time holds up nothing once the turn is interrupted.
func TestAnInterruptedContextLeavesTheSessionUsable(t *testing.T) {
	h := oneHook{"the context", isEnded, filepath.Join(t.TempDir(), "begun")}
	settings,
		err := json.Marshal(
		map[string]any{"context": map[string]any{"providers": map[string]any{"slow": map[string]any{
			"command":   h.command(),
			"timeoutMs": 3000,
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	d := driveIn(t, firstHome(t, "p"), firstTurn, "--settings", string(settings))
	late := time.AfterFunc(await.Patience, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	d.send(said("at first", "1"))
	h.pass(t, func() { d.ask(`{"subtype":"interrupt"}`) })
	d.kind("result")
	d.send(said("again", "2"))
	d.until("the second reply", func(m map[string]any) bool { return m["result"] == "Said again." })
	d.end()
}
