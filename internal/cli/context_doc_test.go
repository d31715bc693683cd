package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The settings of docs/context.md are used; their command prints a file.
func TestTheContextProviderOfTheContextPageWorks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "context.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(page), "```json\n")
	settings, _, closed := strings.Cut(example, "```")
	if !ok || !closed {
		t.Fatal("the page has no settings")
	}
	home := t.TempDir()
	for name, text := range map[string]string{"TODO.md": "- ship it\n", ".config/lathe/settings.json": settings} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(buildLathe(t), "prompt", "show")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "<context name=\"todo\">\n- ship it\n</context>") {
		t.Fatalf("%v: %s", err, out)
	}
}

// The example of docs/context.md is run; numbers and paths depend on the machine.
func TestTheExampleOfTheContextPageIsTrue(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "context.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(page), "```console\n$ lathe ")
	line, rest, found := strings.Cut(example, "\n")
	want, _, closed := strings.Cut(rest, "```")
	if !ok || !found || !closed {
		t.Fatal("the page has no example")
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "AGENTS.md"), []byte("Use tabs."), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", buildLathe(t)+" "+line)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	plain := func(s string) string {
		s = regexp.MustCompile(`\S*/AGENTS\.md`).ReplaceAllString(s, "AGENTS.md")
		s = regexp.MustCompile(`\d+`).ReplaceAllString(s, "N")
		return regexp.MustCompile(` +`).ReplaceAllString(s, " ")
	}
	if got := plain(string(out)); got != plain(want) {
		t.Errorf("the page has:\n%s\nlathe prints:\n%s", want, out)
	}
}
