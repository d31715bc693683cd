package style_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/style"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBuiltInStylesKeepTheInstructionsOnHowToWork(t *testing.T) {
	var names []string
	for _, s := range style.BuiltIn() {
		names = append(names, s.Name)
		if s.Description == "" || !s.Keeps || (s.Text == "") != (s.Name == style.Default) {
			t.Errorf("%+v", s)
		}
	}
	if got := strings.Join(names, " "); got != "default Explanatory Learning" {
		t.Error(got)
	}
}

func TestTheStrongerFolderHolds(t *testing.T) {
	dir := t.TempDir()
	user, project := filepath.Join(dir, "user"), filepath.Join(dir, "project")
	write(t, filepath.Join(user, "short.md"), "---\nname: Short\nkeep-coding-instructions: true\n---\nthe user's")
	write(t, filepath.Join(project, "brief.md"), "---\nname: short\n---\nthe project's\n")
	write(t, filepath.Join(project, "plain.md"), "No block at the top.")
	write(t, filepath.Join(project, "notes.txt"), "no style")
	write(t, filepath.Join(project, "huge.md"), strings.Repeat("x", 1<<20))
	if err := os.Mkdir(filepath.Join(project, "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	folders := []string{user, project, filepath.Join(dir, "absent")}
	s, err := style.Get(folders, "SHORT")
	if err != nil || s.Text != "the project's" || s.Keeps || s.Source != filepath.Join(project, "brief.md") {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := style.Get(folders, "plain"); err != nil || s.Text != "No block at the top." {
		t.Errorf("%+v %v", s, err)
	}
	if all := style.Find(folders); len(all) != 5 || all[0].Name != style.Default {
		t.Errorf("%+v", all)
	}
	if _, err := style.Get(folders, "nothing"); err == nil || !strings.Contains(err.Error(), "plain") {
		t.Error(err)
	}
}

func TestAChoiceIsTheConfiguredStyleUntilItIsSet(t *testing.T) {
	c := style.Choice{Folders: func() []string { return nil }, Configured: func() string { return "learning" }}
	if s, err := c.Get(); err != nil || s.Name != "Learning" {
		t.Errorf("%+v %v", s, err)
	}
	c.Set("default")
	if s, err := c.Get(); err != nil || s.Text != "" {
		t.Errorf("%+v %v", s, err)
	}
	if _, now := c.All(); now != style.Default {
		t.Error(now)
	}
}
