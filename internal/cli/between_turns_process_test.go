//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The thinking parameter belongs to the cached prefix: a reply without a thinking block must not change it, or the
// requests after it start a second cache.
func TestTheThinkingParameterIsTheSameInEveryRequestOfATurn(t *testing.T) {
	d := drive(t, `
reply
  call Bash {"command":"cat a.txt"}
reply
  think Let me see.
  call Bash {"command":"cat b.txt"}
reply
  say One.
final
  say Two.
`, "--model", "claude-sonnet-4-5")
	d.write("a.txt", "a\n")
	d.write("b.txt", "b\n")
	for _, text := range []string{"one", "two"} {
		d.send(said(text, text))
		d.kind("result")
	}
	d.end()
	var all []string
	for _, r := range d.srv.Requests() {
		var body struct {
			Model    string
			Thinking json.RawMessage
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if body.Model == "claude-sonnet-4-5" {
			all = append(all, string(body.Thinking))
		}
	}
	if len(all) != 4 || !strings.Contains(all[0], "budget_tokens") || len(slices.Compact(slices.Clone(all))) != 1 {
		t.Errorf("the thinking parameters are %q", all)
	}
}

// What the user does to files between two turns is in the next search, whatever was kept of the one before.
func TestSearchesSeeWhatTheUserChangedBetweenTwoTurns(t *testing.T) {
	for _, settings := range []string{
		`{}`, `{"exploreCache":{"directoryTtlMs":0}}`,
		`{"exploreCache":{"directoryTtlMs":600000}}`,
	} {
		step := `
reply
  call Grep {"pattern":"needle"}
  call Glob {"pattern":"**/*.txt"}
reply
  say Done.
`
		d := drive(t, step+step, "--settings", settings)
		d.write("a.txt", "a needle\n")
		d.send(said("one", "one"))
		d.kind("result")
		d.write("a.txt", "nothing\n")
		d.write("b.txt", "a needle\n")
		d.send(said("two", "two"))
		d.kind("result")
		d.end()
		got := toolResults(d.seen) // of each turn in the order in which they were ready
		if len(got) != 4 || got[0] != "a.txt\n" || got[1] != got[0] || !slices.Contains(got[2:], "b.txt\n") ||
			!slices.ContainsFunc(got[2:], func(s string) bool {
				return strings.Contains(s, "a.txt") && strings.Contains(s, "b.txt")
			}) {
			t.Errorf("%s: %q", settings, got)
		}
	}
}

func TestBashGoesOnWhenItsFolderWasRemovedBetweenTwoTurns(t *testing.T) {
	d := drive(t, `
reply
  call Bash {"command":"mkdir -p sub/deep && cd sub/deep && pwd"}
reply
  say Done.
reply
  call Bash {"command":"pwd"}
reply
  say Done.
`, "--dangerously-skip-permissions")
	d.send(said("one", "one"))
	d.kind("result")
	if err := os.RemoveAll(filepath.Join(d.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	d.send(said("two", "two"))
	d.kind("result")
	d.end()
	got := toolResults(d.seen)
	if len(got) != 2 || !strings.HasPrefix(got[1], d.dir+"\n") || !strings.Contains(got[1], "is gone; this ran in "+
		d.dir) {
		t.Errorf("%q", got)
	}
}

// place is a folder and a home in which lathe runs once and again, with a scripted model.
type place struct {
	t         *testing.T
	dir, home string
	srv       *llmtest.Server
}

func newPlace(t *testing.T, dir, model string) *place {
	t.Helper()
	root := t.TempDir()
	script, err := llmtest.Parse([]byte(model))
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t, filepath.Join(root, dir), filepath.Join(root, "home"), llmtest.New(script, llmtest.Options{})}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		t.Skipf("the file system takes no such name: %v", err)
	}
	if err := p.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.srv.Close() })
	return p
}

func (p *place) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(buildLathe(p.t), args...)
	cmd.Dir = p.dir
	cmd.Env = []string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "PWD=" + p.dir, "ANTHROPIC_BASE_URL=" + p.srv.URL(),
		"ANTHROPIC_API_KEY=sk-test",
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("lathe %q: %v", args, err)
	}
	return string(out)
}

func TestContinueFindsTheSessionOfAFolderWhoseNameIsNotUTF8(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names are UTF-8 here")
	}
	p := newPlace(t, "caf\xe9", "final\n  say Done.\n")
	p.run("-p", "the first prompt")
	p.run("-p", "-c", "the second prompt")
	all := p.srv.Requests()
	if last := string(all[len(all)-1].Body); len(all) != 2 || !strings.Contains(last, "the first prompt") ||
		!strings.Contains(last, "the second prompt") {
		t.Errorf("%d requests, the last is %s", len(all), last)
	}
}

func TestOldDebugFoldersGoAfterCleanupPeriodDays(t *testing.T) {
	p := newPlace(t, "p", "final\n  say Done.\n")
	p.run("-p", "--debug", "hello")
	debug := filepath.Join(p.home, ".local/state/lathe/debug")
	first, err := os.ReadDir(debug)
	if err != nil || len(first) != 1 {
		t.Fatalf("%v, %v", first, err)
	}
	old := time.Now().AddDate(0, 0, -8)
	err = filepath.WalkDir(debug, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	p.run("-p", "--settings", `{"cleanupPeriodDays":9}`, "hello")
	if _, err := os.Stat(filepath.Join(debug, first[0].Name())); err != nil {
		t.Errorf("it went too early: %v", err)
	}
	p.run("-p", "--settings", `{"cleanupPeriodDays":7}`, "hello")
	if _, err := os.Stat(filepath.Join(debug, first[0].Name())); err == nil {
		t.Error("it is still there")
	}
}

func TestACompactionWithoutATerminalPrintsItsOutcome(t *testing.T) {
	p := newPlace(t, "p", "final\n  say Done.\n")
	p.run("-p", "begin")
	for _, prompt := range []string{"one", "two", "three", "four", "five"} {
		p.run("-p", "-c", strings.Repeat(prompt+" ", 3000))
	}
	if out := p.run("-p", "-c", "/compact --force"); !strings.HasPrefix(out, "Compacted from about ") {
		t.Errorf("%q", out)
	}
	if out := p.run("-p", "-c", "/cost"); strings.Contains(out, "Compacted") {
		t.Errorf("the compaction before is printed again: %q", out)
	}
}
