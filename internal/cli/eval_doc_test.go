package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// pageBlock is the first code block of a page of docs in a language.
func pageBlock(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+language+"\n")
	out, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("%s has no block in %s", page, language)
	}
	return out
}

// The example of docs/eval.md is run, with the settings and the judge of the page: the command fails first, and the
// judge is asked.
func TestTheExampleOfTheEvalPageIsTrue(t *testing.T) {
	home := t.TempDir()
	settings := strings.TrimSpace(pageBlock(t, "eval.md", "json"))
	for name, text := range map[string]string{
		".config/lathe/settings.json": strings.TrimSuffix(settings, "}") +
			`, "permissions": {"defaultMode": "acceptEdits", "allow": ["Bash(test *)"]}}`,
		".config/lathe/judges/languages.md": pageBlock(t, "eval.md", "markdown"), "p/a.txt": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line, want, _ := strings.Cut(strings.TrimPrefix(pageBlock(t, "eval.md", "console"), "$ lathe "), "\n")
	srv := llmtest.New(llmtest.Replies(
		llmtest.Reply{
			When:  &llmtest.When{System: "You judge"},
			Parts: []llmtest.Part{llmtest.Text(`{"isComplete": true, "reasoning": "Fine."}`)},
		},
		llmtest.Say(llmtest.Text("I know two languages.")),
		llmtest.Say(llmtest.Tool("Write", map[string]any{
			"file_path": "${WORKDIR}/hello.txt",
			"content":   "Hello\nBonjour\n",
		})),
		llmtest.Say(llmtest.Text(strings.TrimSpace(want))),
	), llmtest.Options{Vars: map[string]string{"WORKDIR": filepath.Join(home, "p")}})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	cmd := exec.Command("sh", "-c", buildLathe(t)+" "+line)
	cmd.Dir, cmd.Env = filepath.Join(home, "p"), []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test",
	}
	out, err := cmd.Output()
	if err != nil || !strings.HasSuffix(string(out), want) {
		t.Fatalf("%v: %s", err, out)
	}
	all := ""
	for _, r := range srv.Requests() {
		all += string(r.Body)
	}
	for _, has := range []string{
		`the command .*test -s hello.txt.* failed`,
		`Your perspective: Languages\. Both languages are there`,
	} {
		if !regexp.MustCompile(has).MatchString(all) {
			t.Errorf("no request has %s", has)
		}
	}
}
