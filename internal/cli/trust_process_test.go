//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// strangersFiles are those of a repository that wants to run programs; each leaves a file ran-* in the project's
// folder.
var strangersFiles = map[string]string{
	".claude/settings.json": `{"hooks": {
  "SessionStart": [{"hooks": [{"type": "command", "command": "touch DIR/ran-session-hook"}]}],
  "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch DIR/ran-prompt-hook"}]}],
  "PreToolUse": [{"hooks": [{"type": "command", "command": "touch DIR/ran-call-hook"}]}]},
 "env": {"PROJECT_MARK": "of-the-project"},
 "permissions": {"allow": ["Bash(./ran.sh)"], "deny": ["Bash(touch ran-denied)"]}}`,
	".lathe/settings.json": `{"context": {"providers": {"news": {"command": "touch DIR/ran-context"}}},
 "formatters": {"programs": {"own": {"command": ["sh", "-c", "touch DIR/ran-formatter; cat"], "extensions": [".odd"]}}},
 "lsp": {"enabled": true, "servers": {"own": {"command": ["sh", "-c", "touch DIR/ran-language-server"], "extensionToLanguage": {".odd": "odd"}}}}}`,
	".claude/skills/s/SKILL.md": "---\nname: s\ndescription: x\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: " +
		"command\n          command: touch DIR/ran-skill-hook\n---\nText.\n",
	".lathe/tools/teller": `#!/bin/sh
echo '{"name": "teller", "description": "x", "input_schema": {"type": "object"}, "accesses": []}'`,
	"ran.sh": `#!/bin/sh
for i in $(seq 300); do [ -e ran-server ] && [ -e ran-language-server ] && break; sleep 0.1; done
touch ran-allowed`, // the servers start beside the turn
	".mcp.json": `{"mcpServers": {"theirs": {"command": "sh", "args": ["-c", "touch DIR/ran-server"]}}}`,
	".env":      "DOTENV_MARK=of-the-file\n",
}

// TestARepositoryRunsNothingUntilItIsTrusted gives a hostile repository to a run without a person, with and without
// --trust.
func TestARepositoryRunsNothingUntilItIsTrusted(t *testing.T) {
	d := drive(t, `
reply
  when turn=0
  call Skill {"skill":"s"}
  call Bash {"command":"touch ran-denied"}
reply
  when turn=1
  call Write {"file_path":"new.odd","content":"x\n"}
reply
  when turn=2
  call Bash {"command":"./ran.sh"}
reply
  when turn=3
  call Bash {"command":"printenv PROJECT_MARK DOTENV_MARK"}
reply
  say Done.
`)
	d.end()
	for name, text := range strangersFiles {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(d.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		d.write(name, strings.ReplaceAll(text, "DIR", d.dir))
	}
	for _, name := range []string{".lathe/tools/teller", "ran.sh"} {
		if err := os.Chmod(filepath.Join(d.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", d.dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("git", "-C", d.dir, "config", "core.fsmonitor", "touch "+d.dir+
		"/ran-git; false").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(more ...string) (out, stderr string, code int) {
		return d.once(append(more, "--sandbox", "off", "--output-format", "stream-json", "--verbose", "--allowedTools",
			"Write,Skill,Bash(printenv *)", "--", "do it")...)
	}
	out, stderr, code := run()
	if code != 0 || strings.Contains(out, `"teller"`) {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	if got := d.ran(); len(got) > 0 {
		t.Errorf("an untrusted repository ran %q", got)
	}
	for _, notice := range []string{"(.claude/settings.json)", "(.lathe/settings.json)", `the MCP server "theirs"`} {
		if strings.Count(stderr, notice) != 1 {
			t.Errorf("%q stands %d times in\n%s", notice, strings.Count(stderr, notice), stderr)
		}
	}
	if strings.Contains(out, "of-the-project") || strings.Contains(out, "of-the-file") {
		t.Errorf("variables of an untrusted repository counted: %s", out)
	}
	if err := os.Remove(filepath.Join(d.dir, "new.odd")); err != nil {
		t.Errorf("the model's calls did not run: %v: %s", err, out)
	}
	out, stderr, code = run("--trust")
	if code != 0 || !strings.Contains(out, `"teller"`) {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	want := []string{
		"ran-allowed", "ran-call-hook", "ran-context", "ran-formatter", "ran-language-server",
		"ran-prompt-hook", "ran-server", "ran-session-hook", "ran-skill-hook",
	}
	if got := d.ran(); !slices.Equal(got, want) {
		t.Errorf("a trusted repository ran\n%q, want\n%q", got, want)
	}
	if strings.Contains(stderr, "Held back") || strings.Contains(stderr, "not approved") {
		t.Errorf("with --trust something waits: %s", stderr)
	}
	if !strings.Contains(out, "of-the-project") || strings.Contains(out, "of-the-file") {
		t.Errorf("the variables of a trusted repository: %s", out)
	}
	_, stderr, _ = run()
	if got := d.ran(); len(got) > 0 || !strings.Contains(stderr, "Held back") {
		t.Errorf("--trust counted for a later run, which ran %q: %s", got, stderr)
	}
}

// ran returns and removes the files that programs of the repository left.
func (d *driven) ran() (names []string) {
	d.t.Helper()
	paths, err := filepath.Glob(filepath.Join(d.dir, "ran-*"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range paths {
		names = append(names, filepath.Base(p))
		if err := os.Remove(p); err != nil {
			d.t.Fatal(err)
		}
	}
	return names
}
