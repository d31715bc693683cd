package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

// shop is a marketplace that the user added, with plugins by name and the list that each has of what it needs.
// allows are the marketplaces that they may need plugins of.
func shop(t *testing.T, s *plugin.Store, market string, needs map[string]string, allows ...string) string {
	t.Helper()
	dir, list := t.TempDir(), []string{}
	for name, list2 := range needs {
		put(t, dir, map[string]string{name + "/.claude-plugin/plugin.json": fmt.Sprintf(`{"name":%q,"dependencies":[%s]}`,
			name, list2)})
		list = append(list, fmt.Sprintf(`{"name":%q,"source":"./%s"}`, name, name))
	}
	also, err := json.Marshal(allows)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{".claude-plugin/marketplace.json": fmt.Sprintf(
		`{"name":%q,"plugins":[%s],"allowCrossMarketplaceDependenciesOn":%s}`, market, strings.Join(list, ","), also)})
	if _, err := s.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func bundle(t *testing.T, s *plugin.Store, what string) (*plugin.Bundle, error) {
	t.Helper()
	c, err := s.Fetch(context.Background(), what, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.With(context.Background(), c, nil)
	if err == nil {
		t.Cleanup(b.Drop)
	}
	return b, err
}

func TestWhatAPluginNeedsIsFetchedWithItAndInstalledFirst(t *testing.T) {
	s := store(t)
	shop(t, s, "other", map[string]string{"far": ""})
	shop(t, s, "corp", map[string]string{
		"top": `"mid", {"name":"low"}, {"name":"far","marketplace":"other"}`,
		"mid": `"low"`, "low": "",
	}, "other")
	b, err := bundle(t, s, "top@corp")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.IDs(); !slices.Equal(got, []string{"low@corp", "mid@corp", "far@other", "top@corp"}) {
		t.Errorf("in the order %v", got)
	}
	if all, _ := s.Records(); len(all) > 0 {
		t.Errorf("installed before anybody agreed: %v", all)
	}
	if err := s.InstallAll(b); err != nil {
		t.Fatal(err)
	}
	all, err := s.Records()
	if err != nil || len(all) != 4 || all["low@corp"].Sum == "" {
		t.Errorf("installed %v, %v", all, err)
	}
	if got, err := s.Chain("mid@corp"); err != nil || !slices.Equal(got, []string{"low@corp", "mid@corp"}) {
		t.Errorf("enabled together: %v, %v", got, err)
	}
	if got, err := s.NeededBy("low@corp", map[string]bool{"top@corp": true, "far@other": true}); err != nil ||
		!slices.Equal(got, []string{"top@corp"}) {
		t.Errorf("needed by %v, %v", got, err)
	}
	if err := s.Remove("low@corp", false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Chain("mid@corp"); err == nil || !strings.Contains(err.Error(),
		"mid@corp needs the plugin low@corp, which is not installed: lathe plugin install low@corp") {
		t.Errorf("%v", err)
	}
}

func TestAnInstalledPluginThatAnotherNeedsStaysAsItIs(t *testing.T) {
	s := store(t)
	dir := shop(t, s, "corp", map[string]string{"top": `"low"`, "low": ""})
	b, err := bundle(t, s, "low@corp")
	if err != nil || s.InstallAll(b) != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"low/commands/new.md": "new"})
	if b, err = bundle(t, s, "top@corp"); err != nil {
		t.Fatal(err)
	}
	if len(b.New) != 1 || b.Root().ID != "top@corp" || !slices.Equal(b.Have, []string{"low@corp"}) {
		t.Errorf("new %v, there %v", b.New, b.Have)
	}
}

func TestAPluginFromAFolderFindsWhatItNeedsInAMarketplace(t *testing.T) {
	s, dir := store(t), t.TempDir()
	shop(t, s, "corp", map[string]string{"low": ""})
	put(t, dir, map[string]string{".claude-plugin/plugin.json": `{"name":"mine","dependencies":["low"]}`})
	b, err := bundle(t, s, dir)
	if err != nil || !slices.Equal(b.IDs(), []string{"low@corp", "mine@path"}) {
		t.Errorf("%v %v", b, err)
	}
}

func TestNeedsThatCannotBeMetAreErrorsAndLeaveNothing(t *testing.T) {
	s := store(t)
	needs := map[string]string{
		"a": `"b"`, "b": `"c"`, "c": `"a"`, "self": `"self"`, "lone": `"gone"`, "strange": `"x@elsewhere"`, "path": `"../x"`,
		"twin": `"low","low@second"`, "low": "",
	}
	for i := range 60 {
		needs[fmt.Sprintf("n%d", i)] = fmt.Sprintf(`"n%d"`, i+1)
	}
	shop(t, s, "corp", needs, "second")
	shop(t, s, "second", map[string]string{"low": ""})
	for name, want := range map[string]string{
		"a":    "plugins need each other: a@corp needs b@corp needs c@corp needs a@corp",
		"self": "plugins need each other: self@corp needs self@corp",
		"lone": `lone@corp needs the plugin gone@corp: the marketplace corp has no plugin "gone"`,
		"strange": "strange@corp needs the plugin x@elsewhere of a marketplace that is not known; lathe plugin " +
			"marketplace add",
		"path": `path@corp needs the plugin "../x"`,
		"twin": "low@corp and low@second are needed together and have one name",
		"n0":   "n0@corp needs more than 50 plugins",
	} {
		b, err := bundle(t, s, name+"@corp")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", name, b, err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), "tmp", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOnlyTheFirstMarketplaceAllowsOthers(t *testing.T) {
	s, dir := store(t), t.TempDir()
	shop(t, s, "far", map[string]string{"low": ""})
	shop(t, s, "other", map[string]string{"mid": `"low@far"`}, "far")
	shop(t, s, "corp", map[string]string{"top": `"mid@other"`, "far": `"low@far"`}, "other")
	put(t, dir, map[string]string{".claude-plugin/plugin.json": `{"name":"mine","dependencies":["far@corp"]}`})
	for what, want := range map[string]string{
		"mid@other": "",
		"far@corp": "far@corp needs the plugin low@far, and the marketplace corp does not allow needs of far " +
			"(allowCrossMarketplaceDependenciesOn); install it first, if you want it: lathe plugin install low@far",
		// what other allows counts for its own plugins
		"top@corp": "mid@other needs the plugin low@far, and the marketplace corp does not allow needs of far",
		dir:        "the marketplace corp does not allow needs of far", // a folder may need any, its needs not
	} {
		b, err := bundle(t, s, what)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", what, b, err)
		}
	}
	low, err := bundle(t, s, "low@far")
	if err != nil || s.InstallAll(low) != nil {
		t.Fatal(err)
	}
	if b, err := bundle(t, s, "top@corp"); err != nil || !slices.Equal(b.IDs(), []string{
		"low@far", "mid@other",
		"top@corp",
	}) {
		t.Errorf("with what is needed installed: %v, %v", b, err)
	}
}
