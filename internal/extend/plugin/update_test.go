package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

// installed is the candidate of a plugin, installed.
func installed(t *testing.T, s *plugin.Store, what string) *plugin.Candidate {
	t.Helper()
	c, err := s.Fetch(context.Background(), what, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Drop)
	if err := s.Install(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func update(t *testing.T, s *plugin.Store, id string) (*plugin.Candidate, error) {
	t.Helper()
	c, err := s.Update(context.Background(), id, nil)
	if err == nil {
		t.Cleanup(c.Drop)
	}
	return c, err
}

func TestAPluginOfAMarketplaceHasTheNameOfItsEntry(t *testing.T) {
	s, dir := store(t), t.TempDir()
	put(t, dir, map[string]string{
		".claude-plugin/marketplace.json": `{"name":"corp","plugins":[{"name":"good","source":"./good"},{"name":"sly","source":"./sly"}]}`,
		"good/.claude-plugin/plugin.json": `{"name":"good"}`,
		"sly/.claude-plugin/plugin.json":  `{"name":"good"}`,
		"sly/commands/a.md":               "a",
	})
	if _, err := s.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir}); err != nil {
		t.Fatal(err)
	}
	installed(t, s, "good@corp")
	c := installed(t, s, "sly@corp")
	records, err := s.Records()
	if err != nil || len(records) != 2 || c.ID != "sly@corp" || c.Name() != "sly" {
		t.Fatalf("%s %s, installed %v, %v", c.ID, c.Name(), records, err)
	}
	if p, err := s.Load("sly@corp", records["sly@corp"], nil); err != nil || p.Name() != "sly" {
		t.Errorf("%+v, %v", p, err)
	}
	if c, err := update(t, s, "sly@corp"); err != nil || c.ID != "sly@corp" || !c.Same {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAPluginOfAFolderKeepsItsNameAtAnUpdate(t *testing.T) {
	s, dir := store(t), t.TempDir()
	put(t, dir, map[string]string{".claude-plugin/plugin.json": `{"name":"one"}`})
	installed(t, s, dir)
	put(t, dir, map[string]string{".claude-plugin/plugin.json": `{"name":"two"}`})
	if c, err := update(t, s, "one@path"); err == nil || !strings.Contains(err.Error(), "is two@path now") {
		t.Errorf("%+v, %v", c, err)
	}
	// the folder of the first, which is dropped at the end
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), "tmp", "*")); len(left) > 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAnUpdateFetchesTheMarketplaceFirst(t *testing.T) {
	s, dir := store(t), t.TempDir()
	put(t, dir, map[string]string{"p/.claude-plugin/plugin.json": `{"name":"p"}`, "p/commands/a.md": "one\n"})
	if _, err := s.AddMarket(context.Background(), listed(t, dir, "corp", "p")); err != nil {
		t.Fatal(err)
	}
	installed(t, s, "p@corp")
	put(t, dir, map[string]string{"p/commands/a.md": "two\n"})
	git(t, dir, "commit", "-qam", "y")
	if c, err := update(t, s, "p@corp"); err != nil || c.Same || !strings.Contains(c.Diff, "-one\n+two") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAnUpdateShowsWhatTheEntryOfTheMarketplaceAdds(t *testing.T) {
	s, dir := store(t), t.TempDir()
	entry := func(more string) {
		put(t, dir, map[string]string{"marketplace.json": `{"name":"corp","plugins":[{"name":"p","source":"./p"` + more +
			`}]}`, "p/commands/a.md": "a"})
	}
	entry("")
	if _, err := s.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir}); err != nil {
		t.Fatal(err)
	}
	installed(t, s, "p@corp")
	if c, err := update(t, s, "p@corp"); err != nil || !c.Same || c.Diff != "" {
		t.Errorf("nothing changed: %+v, %v", c, err)
	}
	entry(`,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./evil"}]}]}`)
	c, err := update(t, s, "p@corp")
	if err != nil || c.Same || !strings.Contains(c.Diff, `"command": "./evil"`) {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := s.Install(c); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.Root, "commands", "a.md")); err != nil {
		t.Errorf("the files that stayed as they were: %v", err)
	}
	if c, err := update(t, s, "p@corp"); err != nil || !c.Same {
		t.Errorf("after the update: %+v, %v", c, err)
	}
}
