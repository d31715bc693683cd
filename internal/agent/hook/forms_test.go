package hook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/hook"
)

// put writes an executable file.
func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// The forms are those of the files hooks/hooks.json and .claude/settings.json of public repositories, with scripts of
// our own.
func TestHooksInTheFormsThatPeopleHave(t *testing.T) {
	for name, c := range map[string]struct {
		hooks  string
		event  string
		fields string
		want   string // verdict and reason, or the context
	}{
		"a guard of a plugin, its root in quotes": {
			`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}\"/scripts/guard.sh", "timeout": 30}]}]}`,
			"PreToolUse", `{"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}`, "deny not that",
		},
		"its root unquoted, behind bash": {
			`{"PreToolUse": [{"matcher": "Write|Edit|MultiEdit|NotebookEdit", "hooks": [{"type": "command", "command": "bash ${CLAUDE_PLUGIN_ROOT}/scripts/guard.sh", "timeout": 5}]}]}`,
			"PreToolUse", `{"tool_name": "Edit", "tool_input": {"file_path": "rm -rf build"}}`, "deny not that",
		},
		"several handlers, a timeout that was meant in milliseconds": {
			`{"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": 5000}, {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/scripts/guard.sh", "timeout": 5000}]}]}`,
			"PreToolUse", `{"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}`, "deny not that",
		},
		"fields of other programs": {
			`{"SessionStart": [{"matcher": "startup|resume|clear|compact", "description": "notes", "id": "x", "hooks": [{"type": "command", "command": "echo notes", "statusMessage": "Reading...", "additionalContextLimit": 2000, "commandWindows": "x.exe"}]}]}`,
			"SessionStart", `{"source": "clear"}`, "notes",
		},
		"an empty matcher and one for compact": {
			`{"SessionStart": [{"matcher": "", "hooks": [{"type": "command", "command": "echo always"}]}, {"matcher": "compact", "hooks": [{"type": "command", "command": "echo '[again] keep to the plan'"}]}]}`,
			"SessionStart", `{"source": "compact"}`, "always|[again] keep to the plan",
		},
		"a formatter that takes the path from the input": {
			`{"PostToolUse": [{"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": "sed -n 's/.*\"file_path\":\"\\([^\"]*\\)\".*/\\1/p' | { read -r f; case $f in *.go) echo formatted $f >&2; exit 2;; esac; }"}]}]}`,
			"PostToolUse", `{"tool_name": "Write", "tool_input": {"file_path": "/p/a.go"}, "tool_response": {}}`,
			"block formatted /p/a.go",
		},
		"a sound at a notification": {
			`{"Notification": [{"matcher": "", "hooks": [{"type": "command", "command": "command -v afplay >/dev/null && afplay x.aiff || true"}]}]}`,
			"Notification", `{"message": "m", "notification_type": "idle_prompt"}`, "",
		},
		"a script of the project in Python": {
			`{"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/prompt.sh"}]}]}`,
			"UserPromptSubmit", `{"prompt": "deploy"}`, "the project is p",
		},
		"a gate at the end that heeds stop_hook_active": {
			`{"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "grep -q '\"stop_hook_active\":true' && exit 0; echo '{\"decision\": \"block\", \"reason\": \"run the tests\"}'"}]}]}`,
			"Stop", `{"stop_hook_active": false}`, "block run the tests",
		},
		"all tools of a server": {
			`{"PreToolUse": [{"matcher": "mcp__memory__.*|mcp__.*__write.*", "hooks": [{"type": "command", "command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"ask\", \"permissionDecisionReason\": \"it writes\"}}'"}]}], "PostToolUse": []}`,
			"PreToolUse", `{"tool_name": "mcp__fs__write_file", "tool_input": {}}`, "ask it writes",
		},
		"an agent's log": {
			`{"SubagentStop": [{"matcher": "", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/scripts/track.sh stop"}]}]}`,
			"SubagentStop", `{"agent_type": "Explore", "stop_hook_active": false}`, "",
		},
		"a backup before a compaction": {
			`{"PreCompact": [{"matcher": "manual|auto", "hooks": [{"type": "command", "command": "cp \"$(sed -n 's/.*\"transcript_path\":\"\\([^\"]*\\)\".*/\\1/p')\" /dev/null 2>/dev/null || true"}]}]}`,
			"PreCompact", `{"trigger": "auto"}`, "",
		},
	} {
		m := machine(t, `{}`)
		root := filepath.Join(filepath.Dir(m.Root), "plugin")
		put(t, filepath.Join(root, "scripts", "guard.sh"),
			"#!/bin/sh\ngrep -q 'rm -rf' && { echo not that >&2; exit 2; }\nexit 0\n")
		put(t, filepath.Join(root, "scripts", "track.sh"), "#!/bin/sh\nexit 0\n")
		put(t, filepath.Join(m.Root, ".claude", "hooks", "prompt.sh"),
			"#!/bin/sh\necho the project is $(basename \"$CLAUDE_PROJECT_DIR\")\n")
		m.Given = groups(t, c.hooks, hook.Place{Root: root, Data: root})
		if err := m.Check(); err != nil || len(m.Notes()) > 0 {
			t.Errorf("%s: %v, notes %q", name, err, m.Notes())
			continue
		}
		if got := decided(t, m, c.event, c.fields); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// groups reads a "hooks" object.
func groups(t testing.TB, text string, p hook.Place) (out []hook.Group) {
	t.Helper()
	var all map[string][]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for event, list := range all {
		for _, g := range list {
			out = append(out, hook.Group{Event: event, JSON: g, From: "a plugin", Place: p})
		}
	}
	return out
}

// decided is what the hooks of an event decide, or say to the model.
func decided(t testing.TB, m *hook.Machine, event, fields string) string {
	t.Helper()
	h, _ := open(t, m)
	var in map[string]any
	if err := json.Unmarshal([]byte(fields), &in); err != nil {
		t.Fatal(err)
	}
	runs, err := h.Try(t.Context(), event, in)
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	var out []string
	for _, r := range runs {
		if r.Err != nil {
			out = append(out, r.Err.Error())
		}
		if word, why := r.Verdict(); word != "" {
			out = append(out, word+" "+why)
		} else if text := r.Context(); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "|")
}

func TestTheExampleOfThePageWorks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page has no example")
	}
	m := machine(t, example)
	put(t, filepath.Join(m.Root, "scripts", "may-push.sh"), "#!/bin/sh\necho not on Fridays >&2\nexit 2\n")
	m.Covers = nil
	if err := m.Check(); err != nil || len(m.List()) != 3 || len(m.Notes()) > 0 {
		t.Fatalf("%v, %d hooks, notes %q", err, len(m.List()), m.Notes())
	}
	if got := decided(t, m, "PreToolUse",
		`{"tool_name": "Bash", "tool_input": {"command": "git push"}}`); got != "deny not on Fridays" {
		t.Errorf("got %q", got)
	}
	if got := decided(t, m, "PostToolUse", `{"tool_name": "Write", "tool_input": {}, "tool_response": {}}`); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestThePagesNameTheEventsThatAreFired(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(" at %d events", len(hook.Names())); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q", want)
	}
	page, err := os.ReadFile("../../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hook.Names() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/hooks.md does not name %s", name)
		}
	}
}
