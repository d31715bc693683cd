package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

func TestAMarketplaceNamesNoFolderOutsideOfItself(t *testing.T) {
	base := t.TempDir()
	put(t, base, map[string]string{"out/.claude-plugin/plugin.json": `{"name":"out"}`})
	for source, want := range map[string]string{
		`"../out"`: "leads out",
		`"./link"`: "leads out",
		fmt.Sprintf(`{"source":"directory","path":%q}`, filepath.Join(base, "out")): "is a folder of this machine",
		`{"source":"directory","path":"~/out"}`:                                     "is a folder of this machine",
		`{"source":"command","command":"make"}`:                                     "lathe does not run",
	} {
		s, dir := store(t), filepath.Join(t.TempDir(), "market")
		put(t, dir, map[string]string{".claude-plugin/marketplace.json": fmt.Sprintf(
			`{"name":"corp","plugins":[{"name":"out","source":%s}]}`, source)})
		if err := os.Symlink(filepath.Join(base, "out"), filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(source, "..") {
			put(t, filepath.Dir(dir), map[string]string{"out/.claude-plugin/plugin.json": `{"name":"out"}`})
		}
		if _, err := s.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir}); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Fetch(context.Background(), "out@corp", "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", source, c, err)
		}
	}
}

// listed makes a repository with a marketplace's list, or changes the list of one.
func listed(t *testing.T, dir, name, entry string) plugin.Source {
	t.Helper()
	put(t, dir, map[string]string{".claude-plugin/marketplace.json": fmt.Sprintf(
		`{"name":%q,"plugins":[{"name":%q,"source":"./p"}]}`, name, entry)})
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	return plugin.Source{Kind: "git", URL: "file://" + dir}
}

// market is the name of the only plugin in the list of a known marketplace.
func market(t *testing.T, s *plugin.Store, name string) string {
	t.Helper()
	m, err := s.Market(context.Background(), name, nil)
	if err != nil || len(m.Entries) != 1 {
		t.Fatalf("%s: %+v, %v", name, m, err)
	}
	return m.Entries[0].Name
}

func TestAMarketplaceDoesNotTakeThePlaceOfAnother(t *testing.T) {
	ctx, s := context.Background(), store(t)
	own, evil := t.TempDir(), t.TempDir()
	if _, err := s.AddMarket(ctx, listed(t, own, "corp", "good")); err != nil {
		t.Fatal(err)
	}
	src := listed(t, evil, "corp", "evil")
	if _, err := s.AddMarket(ctx, src); err == nil || !strings.Contains(err.Error(), "corp is known already") {
		t.Errorf("added: %v", err)
	}
	if got := market(t, s, "corp"); got != "good" {
		t.Errorf("after the refusal the marketplace has the plugin %s", got)
	}
	for _, as := range []string{"team", "corp"} { // the settings of a project name one that calls itself otherwise
		_, err := s.Market(ctx, "team", map[string]plugin.Source{"team": listed(t, evil, map[string]string{
			"team": "other",
			"corp": "corp",
		}[as], as+"1")})
		if err == nil || !strings.Contains(err.Error(), `not "team"`) {
			t.Errorf("of the settings: %v", err)
		}
	}
	listed(t, own, "other", "late")
	if _, err := s.UpdateMarket(ctx, "corp"); err == nil || !strings.Contains(err.Error(),
		`calls itself "other", not "corp"`) {
		t.Errorf("updated: %v", err)
	}
	if got := market(t, s, "corp"); got != "good" {
		t.Errorf("after an update under another name the marketplace has the plugin %s", got)
	}
	if all, err := s.Markets(); err != nil || len(all) != 1 {
		t.Errorf("known: %v, %v", all, err)
	}
}

func TestAFolderThatIsAMarketplaceKeepsItsName(t *testing.T) {
	ctx, s, dir := context.Background(), store(t), t.TempDir()
	put(t, dir, map[string]string{"marketplace.json": `{"name":"corp","plugins":[]}`})
	if _, err := s.AddMarket(ctx, plugin.Source{Kind: "directory", Path: dir}); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"marketplace.json": `{"name":"official","plugins":[]}`})
	if m, err := s.Market(ctx, "corp", nil); err == nil || !strings.Contains(err.Error(),
		`calls itself "official", not "corp"`) {
		t.Errorf("%v, %v", m, err)
	}
}

func TestAPluginThatItsMarketplaceRenamedIsFoundByItsEarlierNames(t *testing.T) {
	s, dir := store(t), filepath.Join(t.TempDir(), "market")
	list := func(name, renames string) {
		put(t, dir, map[string]string{
			".claude-plugin/marketplace.json": fmt.Sprintf(
				`{"name":"acme","plugins":[{"name":%q,"source":"./p"}],"renames":%s}`, name, renames),
			"p/.claude-plugin/plugin.json":     fmt.Sprintf(`{"name":%q}`, name),
			"p/commands/" + name + "-hello.md": "Greet.",
		})
	}
	list("formatter", "{}")
	if _, err := s.AddMarket(t.Context(), plugin.Source{Kind: "directory", Path: dir}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Fetch(t.Context(), "formatter@acme", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Install(c); err != nil {
		t.Fatal(err)
	}

	list("code-formatter",
		`{"formatter":"fmt-tool","fmt-tool":"code-formatter","linter":null,"a":"b","b":"a","lost":"nowhere","code-formatter":"x"}`)
	for _, name := range []string{"formatter@acme", "formatter", "fmt-tool@acme", "code-formatter@acme"} {
		if c, err := s.Fetch(t.Context(), name, "", nil); err != nil || c.ID != "code-formatter@acme" {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for name, want := range map[string]string{
		"linter@acme": "has dropped", "a@acme": "has dropped",
		"lost@acme": "has dropped", "none@acme": "has no plugin", "linter": "no known marketplace",
	} {
		if _, err := s.Fetch(t.Context(), name, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An update does not put another plugin in the place of the one that the user agreed to.
	if _, err := s.Update(t.Context(), "formatter@acme", nil); err == nil || !strings.Contains(err.Error(),
		"lathe plugin install code-formatter@acme, then lathe plugin remove formatter@acme") {
		t.Error(err)
	}
	lines, faults := plugin.Validate(dir)
	text, wrong := strings.Join(lines, "\n"), strings.Join(faults, "\n")
	for _, want := range []string{"plugin formatter is code-formatter now", "plugin linter was dropped"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for _, want := range []string{"leads from a to b,", "leads from lost to nowhere,", "renames has code-formatter,"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("%q is not in:\n%s", want, wrong)
		}
	}
}
