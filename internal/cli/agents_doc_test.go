package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// docRun runs lines of a page's example in a project with some files, against a script.
func docRun(t *testing.T, files map[string]string, replies ...llmtest.Reply) (run func(line string) string) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	srv := llmtest.New(llmtest.Replies(replies...), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	bin := buildLathe(t)
	return func(line string) string {
		t.Helper()
		if rest, ok := strings.CutPrefix(line, "lathe "); ok {
			line = bin + " " + rest
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = filepath.Join(home, "p")
		cmd.Env = []string{
			"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"),
			"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
}

func TestTheExamplesOfTheAgentsPageAreTrue(t *testing.T) {
	line, want, _ := strings.Cut(strings.TrimPrefix(pageBlock(t, "agents.md", "console"), "$ "), "\n")
	run := docRun(t, map[string]string{
		"p/a.txt": "one two three\n", "p/.lathe/agents/reviewer.md": pageBlock(t, "agents.md", "markdown"),
		".config/lathe/settings.json": pageBlock(t, "agents.md", "json"),
	},
		llmtest.Reply{
			When:  &llmtest.When{System: "Answer with a number.", Result: "one two three"},
			Parts: []llmtest.Part{llmtest.Text("3")},
		},
		llmtest.Reply{
			When:  &llmtest.When{System: "Answer with a number."},
			Parts: []llmtest.Part{llmtest.Tool("Read", map[string]any{"file_path": "a.txt"})},
		},
		llmtest.Reply{
			When:  &llmtest.When{Result: "3\n\n[agent"},
			Parts: []llmtest.Part{llmtest.Text(strings.TrimSpace(want))},
		},
		llmtest.Say(llmtest.Tool("Task", map[string]any{
			"description": "count", "prompt": "Count the words of a.txt.",
			"subagent_type": "counter",
		})),
	)
	if out := run(line); out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if out := run("lathe agents"); !strings.Contains(out, "reviewer") || strings.Contains(out, "warning") {
		t.Error(out)
	}
}

func TestTheExampleOfTheTeamsPageIsTrue(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	var lines []string
	for l := range strings.Lines(pageBlock(t, "teams.md", "console")) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSpace(l), "$ "))
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[2], "git merge team-") {
		t.Fatalf("%q", lines)
	}
	run := docRun(t, map[string]string{
		"p/a.go": "package a\n", "bin/go": "#!/bin/sh\necho checked \"$@\" >>\"$HOME/checks\"\n",
		".config/lathe/settings.json": `{"permissions": {"allow": ["Bash(go test *)"]}, "sandbox": {"enabled": false}}`,
	},
		llmtest.Reply{
			When:  &llmtest.When{System: "You coordinate", Result: "Task 1"},
			Parts: []llmtest.Part{llmtest.Text("Made.")},
		},
		llmtest.Reply{
			When:  &llmtest.When{System: "You coordinate", Contains: "1. log: done"},
			Parts: []llmtest.Part{llmtest.Text("The logger is replaced.")},
		},
		llmtest.Reply{
			When:  &llmtest.When{System: "You coordinate", Contains: "Replace the logger"},
			Parts: []llmtest.Part{llmtest.Tool("TaskCreate", map[string]any{"title": "log", "prompt": "write log.go"})},
		},
		llmtest.Reply{When: &llmtest.When{Result: "File created"}, Parts: []llmtest.Part{llmtest.Text("Written.")}},
		llmtest.Reply{When: &llmtest.When{Result: "ritten"}, Parts: []llmtest.Part{llmtest.Text("Written.")}},
		llmtest.Reply{
			When:  &llmtest.When{Contains: "Your task: log"},
			Parts: []llmtest.Part{llmtest.Tool("Write", map[string]any{"file_path": "log.go", "content": "package a\n"})},
		},
	)
	run("git init -q -b main && git add a.go && git -c user.name=a -c user.email=a@b commit -qm one")
	if out := run(lines[0]); !strings.Contains(out, "The logger is replaced.") {
		t.Error(out)
	}
	if out := run(lines[1]); !strings.Contains(out, "1  done      log") {
		t.Error(out)
	}
	if out := run("cat $HOME/checks"); !strings.Contains(out, "checked test ./...") {
		t.Error(out)
	}
	branch := strings.TrimSpace(run("git branch --list 'team-*' --format='%(refname:short)'"))
	run("git merge -q " + branch + " && test -f log.go")
}
