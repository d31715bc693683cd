//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unstarted runs lathe in its own home and returns its result lines.
func unstarted(t *testing.T, settings, stdin string, env []string, args ...string) (results []map[string]any,
	stderr string, code int,
) {
	t.Helper()
	home := t.TempDir()
	if settings != "" {
		dir := filepath.Join(home, ".config", "lathe")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(buildLathe(t), args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = home, strings.NewReader(stdin), &out, &errs
	c.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	_ = c.Run() // the exit code is checked
	text := bytes.TrimSpace(out.Bytes())
	if bytes.HasPrefix(text, []byte("[")) {
		if err := json.Unmarshal(text, &results); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	} else {
		for l := range bytes.Lines(text) {
			var m map[string]any
			if err := json.Unmarshal(l, &m); err != nil {
				t.Fatalf("%v: %s", err, l)
			}
			if m["type"] == "result" {
				results = append(results, m)
			}
		}
	}
	return results, errs.String(), c.ProcessState.ExitCode()
}

func TestARunThatCannotBeginEndsWithAResultLine(t *testing.T) {
	key := []string{"ANTHROPIC_API_KEY=sk-test", "ANTHROPIC_BASE_URL=http://127.0.0.1:1"}
	message := said("hi", "1") + "\n"
	for _, tt := range []struct {
		name, settings, stdin string
		env, args             []string
		want                  string
	}{
		{"no key", "", "", nil, []string{"hi"}, "ANTHROPIC_API_KEY"},
		{"no such session", "", "", key, []string{"--resume", "0190aaaa", "hi"}, "0190aaaa"},
		{"nothing to continue", "", "", key, []string{"-c", "hi"}, "session"},
		{
			"settings with rules that cannot be read", `{"permissions": {"deny": ["Bash(rm *)"`, "", key,
			[]string{"hi"},
			"settings.json",
		},
		{"a flag that is refused", "", "", key, []string{"--plugin-dir-no-mcp", "x", "hi"}, "--plugin-dir-no-mcp"},
		{"an unknown flag", "", "", key, []string{"hi", "--make-tea"}, "--make-tea"},
		{"a broken schema", "", "", key, []string{"--json-schema", "{", "hi"}, "schema"},
		{"no prompt", "", "", key, nil, "no prompt"},
		{"an unknown command", "", "", key, []string{"/nope"}, "/nope"},
		{"a command without a key", "", "", nil, []string{"/cost"}, "ANTHROPIC_API_KEY"},
		{"an unknown model file", "", "", key, []string{"--system-prompt-file", "none.md", "hi"}, "none.md"},
		{"a message without a key", "", message, nil, []string{"--input-format", "stream-json"}, "ANTHROPIC_API_KEY"},
		{
			"a message and a lost session", "", message, key,
			[]string{"--input-format", "stream-json", "--resume", "0190aaaa"},
			"0190aaaa",
		},
	} {
		for _, format := range [][]string{{"json"}, {"json", "--verbose"}, {"stream-json"}} {
			if strings.Contains(strings.Join(tt.args, " "), "--input-format") && format[0] == "json" {
				continue
			}
			args := append(append([]string{"-p", "--output-format"}, format...), tt.args...)
			rs, stderr, code := unstarted(t, tt.settings, tt.stdin, tt.env, args...)
			if len(rs) != 1 || code != 2 && code != 1 {
				t.Errorf("%s, %q: %d result lines, exit code %d\n%s", tt.name, format, len(rs), code, stderr)
				continue
			}
			r := rs[0]
			if r["subtype"] != "error_during_execution" || r["is_error"] != true ||
				r["terminal_reason"] != "turn_setup_failed" ||
				!strings.Contains(toJSON(r["errors"]), tt.want) || !strings.Contains(stderr, tt.want) {
				t.Errorf("%s, %q: %s\n%s", tt.name, format, toJSON(r), stderr)
			}
		}
	}
}

func TestALineOfStdinThatIsTooLongIsAnsweredAndTheRestServed(t *testing.T) {
	d := drive(t, "final\n  say Hello.\n")
	d.send(`{"type":"user","message":{"role":"user","content":"`+strings.Repeat("x", 64<<20)+`"}}`, said("hi", "2"))
	if r := d.kind("result"); r["is_error"] != true || !strings.Contains(toJSON(r["errors"]), "more than 64 MB") {
		t.Errorf("got %v", r)
	}
	if r := d.kind("result"); r["result"] != "Hello." {
		t.Errorf("got %v", r)
	}
	d.end()
}
