package extension_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// folder is a project with the user's settings.
func folder(t *testing.T, settings string, given ...subagent.Kind) (*extension.Folder, string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "p")
	for name, text := range map[string]string{".config/lathe/settings.json": settings, "p/a.txt": ""} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Options{
		Dir: dir, Home: home, Environ: []string{"HOME=" + home},
		ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return extension.New(extension.Options{
		Config: func() *config.Config { return c }, Dir: dir, Tools: tool.Catalogue(),
		Agents: given,
	}), dir
}

func TestKindsOfTheSettingsAreReadOneByOne(t *testing.T) {
	f, _ := folder(t, `{"agents": {
		"good": {"description": "d", "prompt": "p"},
		"other": {"description": "of the settings", "prompt": "p"},
		"mute": {"description": "d"},
		"bad name!": {"description": "d", "prompt": "p"}}}`, subagent.Kind{
		Name: "other", Description: "given", Prompt: "p",
		Source: "command line",
	})
	c := f.Agents.Catalog()
	if k, err := c.Get("good"); err != nil || k.Source != "settings" {
		t.Errorf("%+v %v", k, err)
	}
	if k, err := c.Get("other"); err != nil || k.Description != "given" {
		t.Errorf("the command line comes first: %+v %v", k, err)
	}
	notes := strings.Join(c.Notes, "\n")
	if len(c.Notes) != 2 || !strings.Contains(notes, `"mute" has no prompt`) || !strings.Contains(notes,
		`"bad name!" is no name`) {
		t.Errorf("%q", c.Notes)
	}
	if f.Agents.Catalog() != c {
		t.Error("it was read again although nothing changed")
	}
}

func TestTheRulesOfAKindAreReadOrRefused(t *testing.T) {
	f, _ := folder(t, `{}`)
	kind, err := f.AgentKind(&subagent.Kind{Name: "a", Permissions: &subagent.Rules{
		Ask:  []string{"Bash"},
		Deny: []string{"Edit(/docs/**)"},
	}}, nil)
	if err != nil || len(kind.Rules) != 2 {
		t.Errorf("%+v %v", kind, err)
	}
	for _, bad := range []subagent.Rules{{Deny: []string{"Edit([a-)"}}, {Allow: []string{"Bash(x"}}} {
		if _, err := f.AgentKind(&subagent.Kind{Name: "a", Permissions: &bad}, nil); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestNotesOfAProjectStayInTheProject(t *testing.T) {
	f, dir := folder(t, `{}`)
	memory := func(place *permission.Place) string {
		kind, err := f.AgentKind(&subagent.Kind{Name: "a", Memory: subagent.Project}, place)
		if err != nil {
			t.Fatal(err)
		}
		return kind.Memory
	}
	if got := memory(nil); got != filepath.Join(dir, ".claude/agent-memory/a") {
		t.Error(got)
	}
	tree := dir + ".copy"
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := memory(&permission.Place{Project: dir, Dir: tree}); got != filepath.Join(tree, ".claude/agent-memory/a") {
		t.Errorf("in a copy of the project: %s", got)
	}
	if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	if got := memory(nil); got != "" {
		t.Errorf("a link leads out of the project to %s", got)
	}
}
