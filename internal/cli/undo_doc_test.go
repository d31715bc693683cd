package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The example of docs/undo.md is run as it is there: the model's command, then each line after a $ with its output.
func TestTheExampleOfTheUndoPageRuns(t *testing.T) {
	page, err := os.ReadFile("../../docs/undo.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "\n## An example\n")
	example, _, _ = strings.Cut(example, "\n## ")
	command := regexp.MustCompile("The model ran `([^`]+)`").FindStringSubmatch(example)
	if command == nil {
		t.Fatal("docs/undo.md: the example has no command of the model")
	}
	run := exampleProject(t, command[1])
	var want strings.Builder
	lines := 0
	check := func(got string) {
		if got != want.String() {
			t.Errorf("the output is\n%s\nand docs/undo.md has\n%s", got, want.String())
		}
		want.Reset()
	}
	got := ""
	for line := range strings.Lines(example) {
		text, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		if args, ok := strings.CutPrefix(strings.TrimSpace(text), "$ lathe "); ok {
			check(got)
			got = run(strings.Fields(args)...)
			lines++
			continue
		}
		want.WriteString(text)
	}
	check(got)
	if lines == 0 {
		t.Error("docs/undo.md: the example has no command")
	}
}

// exampleProject has the model run a command in a new project, and returns a function that runs lathe there.
func exampleProject(t *testing.T, command string) func(args ...string) string {
	t.Helper()
	script, err := llmtest.Parse(fmt.Appendf(nil,
		`{"replies": [{"parts": [{"tool": "Bash", "input": {"command": %q}}]}, {"parts": [{"text": "Done."}]}]}`, command))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	bin, home, dir := buildLathe(t), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "ANTHROPIC_BASE_URL=" +
			srv.URL(), "ANTHROPIC_API_KEY=sk-ant-test"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("lathe %s: %v %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("-p", "change everything", "--allowedTools", "Bash")
	return run
}
