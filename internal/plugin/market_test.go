package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/plugin"
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
		put(t, dir, map[string]string{".claude-plugin/marketplace.json": fmt.Sprintf(`{"name":"corp","plugins":[{"name":"out","source":%s}]}`, source)})
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
	put(t, dir, map[string]string{".claude-plugin/marketplace.json": fmt.Sprintf(`{"name":%q,"plugins":[{"name":%q,"source":"./p"}]}`, name, entry)})
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
		_, err := s.Market(ctx, "team", map[string]plugin.Source{"team": listed(t, evil, map[string]string{"team": "other", "corp": "corp"}[as], as+"1")})
		if err == nil || !strings.Contains(err.Error(), `not "team"`) {
			t.Errorf("of the settings: %v", err)
		}
	}
	listed(t, own, "other", "late")
	if _, err := s.UpdateMarket(ctx, "corp"); err == nil || !strings.Contains(err.Error(), `calls itself "other", not "corp"`) {
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
	if m, err := s.Market(ctx, "corp", nil); err == nil || !strings.Contains(err.Error(), `calls itself "official", not "corp"`) {
		t.Errorf("%v, %v", m, err)
	}
}
