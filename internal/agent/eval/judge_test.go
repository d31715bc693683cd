package eval_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/eval"
)

func judgeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestJudgesOfFilesAddReplaceAndRemove(t *testing.T) {
	user, project := t.TempDir(), t.TempDir()
	judgeFile(t, user, "security.md", "---\nperspective: Secrets.\nmodel: sonnet\nweight: 2\ntools: true\n---\nInjection.")
	judgeFile(t, user, "off.md", "---\nname: completeness\nweight: 0\n---\n")
	judgeFile(t, project, "security.md", "Only injection.")
	judges, notes := eval.Find([]eval.Folder{{Path: user}})
	if got := judges[len(judges)-1]; len(judges) != 3 || len(notes) != 0 || got.Name != "security" ||
		got.Focus != "Secrets.\nInjection." ||
		got.Model != "sonnet" || got.Weight != 2 || !got.Tools || slices.ContainsFunc(judges,
		func(j eval.Judge) bool { return j.Name == "Completeness" }) {
		t.Errorf("%+v %q", judges, notes)
	}
	judges, _ = eval.Find([]eval.Folder{{Path: user}, {Path: project, Bound: project}})
	if got := judges[len(judges)-1]; got.Focus != "Only injection." || got.Tools || got.Weight != 1 {
		t.Errorf("%+v", got)
	}
}

func TestJudgesOfAProjectWaitUntilItIsTrusted(t *testing.T) {
	project := t.TempDir()
	judgeFile(t, project, "correctness.md", "---\nname: Correctness\nweight: 0\n---\n")
	judgeFile(t, project, "b.md", "All is well.")
	judges, notes := eval.Find([]eval.Folder{{Path: project, Bound: project, Guest: true}})
	if len(judges) != 3 || len(notes) != 1 || !strings.Contains(notes[0], "until you trust this folder") {
		t.Errorf("%+v %q", judges, notes)
	}
}

func TestAJudgeThatCannotBeUsedIsNamed(t *testing.T) {
	for want, text := range map[string]string{
		"has no perspective":        "---\nname: a\n---\n",
		"is no name of a judge":     "---\nname: a/b\n---\nx",
		"is no number from 0 to":    "---\nname: a\nweight: NaN\n---\nx",
		"write true, for read-only": "---\nname: a\ntools: Read, Write\n---\nx",
		"has more than 64 KB":       strings.Repeat("x", 65<<10),
	} {
		dir := t.TempDir()
		judgeFile(t, dir, "a.md", text)
		judges, notes := eval.Find([]eval.Folder{{Path: dir}})
		if len(judges) != 3 || len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%s: %+v %q", want, judges, notes)
		}
	}
	outside, dir := t.TempDir(), t.TempDir()
	judgeFile(t, outside, "a.md", "x")
	if err := os.Symlink(filepath.Join(outside, "a.md"), filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	if judges, notes := eval.Find([]eval.Folder{{Path: dir, Bound: dir}}); len(judges) != 3 || len(notes) != 1 ||
		!strings.Contains(notes[0], "leads out of the project") {
		t.Errorf("%+v %q", judges, notes)
	}
}
