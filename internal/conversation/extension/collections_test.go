package extension_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/tool"
)

// account is what became of the parts of the plugins of marketplaces.
type account struct {
	plugins, loaded, named int
	silent                 []string // parts that are neither loaded nor named
	notes                  []string
	extensions             *extension.Folder
}

// accountFor installs all plugins in the folders of marketplaces and looks for what became of each file of theirs that
// is a part.
func accountFor(t *testing.T, markets ...string) account {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	store := plugin.Open(filepath.Join(home, "data"), runner, os.Environ)
	enabled := map[string]bool{}
	var out account
	for _, dir := range markets {
		m, err := store.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir})
		if err != nil {
			t.Fatal(err)
		}
		out.notes = append(out.notes, m.Notes...)
		for _, e := range m.Entries {
			if e.Source.Kind != "path" {
				continue // it lies elsewhere
			}
			c, err := store.Fetch(context.Background(), e.Name+"@"+m.Name, home, nil)
			if err != nil {
				out.notes = append(out.notes, err.Error())
				continue
			}
			if err := store.Install(c); err != nil {
				t.Fatal(err)
			}
			_, notes := c.Report()
			out.notes = append(out.notes, notes...)
			enabled[c.ID] = true
			c.Drop()
		}
	}
	settings, err := json.Marshal(map[string]any{"enabledPlugins": enabled})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".config/lathe/settings.json"), string(settings))
	write(t, filepath.Join(home, "p/a.txt"), "")
	conf, err := config.Load(config.Options{
		Dir: filepath.Join(home, "p"), Home: home, Environ: []string{"HOME=" + home}, ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := plugin.NewSet(func() *config.Config { return conf }, store, nil, false)
	out.extensions = extension.New(extension.Options{
		Config: func() *config.Config { return conf }, Dir: filepath.Join(home, "p"), Tools: tool.Catalogue(), Plugins: set,
	})
	out.plugins = len(set.Enabled())
	out.count(t, set)
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// count compares the files of the installed plugins with what was loaded and what notes name.
func (a *account) count(t *testing.T, set *plugin.Set) {
	loaded := map[string]bool{}
	skills, agents := a.extensions.Skills.Catalog(), a.extensions.Agents.Catalog()
	for _, s := range skills.All() {
		loaded[real(s.Path)] = true
	}
	for _, k := range agents.All() {
		loaded[real(k.Path)] = true
	}
	a.notes = slices.Concat(a.notes, set.Notes(), skills.Notes, agents.Notes)
	servers := a.extensions.PluginServers()
	for _, p := range set.Enabled() {
		hooks, _ := p.Hooks()
		own, _ := p.Servers()
		loaded[real(filepath.Join(p.Root, "hooks/hooks.json"))] = len(hooks) > 0
		loaded[real(filepath.Join(p.Root, ".mcp.json"))] = len(own) > 0 && len(servers) > 0
		for _, part := range partsOf(t, p) {
			switch {
			case loaded[real(part)]:
				a.loaded++
			case slices.ContainsFunc(a.notes, func(n string) bool { return names(n, p, part) }):
				a.named++
			default:
				a.silent = append(a.silent, part)
			}
		}
	}
}

func real(path string) string {
	if out, err := filepath.EvalSymlinks(path); err == nil {
		return out
	}
	return path
}

// names reports whether a note names a part of a plugin.
func names(note string, p *plugin.Plugin, part string) bool {
	rel, _ := filepath.Rel(p.Root, part)
	return strings.Contains(note, part) || strings.Contains(note, real(part)) ||
		strings.Contains(note, "the plugin "+p.Name()+": "+rel+" ") ||
		rel == "hooks/hooks.json" && strings.Contains(note, "the hooks of the plugin "+p.Name()+" are left out")
}

// partsOf lists the files of a plugin that are parts by their place, but for those that an entry with strict: false
// does not list.
func partsOf(t *testing.T, p *plugin.Plugin) (out []string) {
	t.Helper()
	folders := map[string][]string{
		"agents": p.Agents(), "commands": p.Commands(), "skills": p.Skills(),
		"workflows": {filepath.Join(p.Root, "workflows")},
	}
	for kind, dirs := range folders {
		for _, dir := range dirs {
			_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				rel, _ := filepath.Rel(dir, path)
				deep := strings.Count(rel, string(filepath.Separator))
				switch {
				case err != nil:
					return nil
				case kind == "skills" && e.Name() == "SKILL.md" && deep < 3 && (dir != real(p.Root) || deep == 0),
					(kind == "agents" || kind == "commands") && !e.IsDir() && filepath.Ext(path) == ".md",
					kind == "workflows" && filepath.Ext(path) == ".js":
					out = append(out, path)
				}
				return nil
			})
		}
	}
	for _, name := range []string{"hooks/hooks.json", ".mcp.json"} {
		if _, err := os.Stat(filepath.Join(p.Root, name)); err == nil {
			out = append(out, filepath.Join(p.Root, name))
		}
	}
	slices.Sort(out)
	return out
}

// A collection in the shapes that public ones have: all of it is loaded, or named.
func TestEverythingOfACollectionIsLoadedOrNamed(t *testing.T) {
	market := filepath.Join(t.TempDir(), "shapes")
	if err := os.CopyFS(market, os.DirFS("testdata/collection")); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		write(t, filepath.Join(market, fmt.Sprintf("many/agents/a%d.md", i)),
			fmt.Sprintf("---\nname: a%d\ndescription: d\n---\nx\n", i))
	}
	for i := range 2100 {
		write(t, filepath.Join(market, fmt.Sprintf("many/skills/s%d/SKILL.md", i)),
			fmt.Sprintf("---\nname: s%d\ndescription: d\n---\nx\n", i))
	}
	other := filepath.Join(t.TempDir(), "other")
	write(t, filepath.Join(other, ".claude-plugin/marketplace.json"),
		`{"name": "other", "owner": {"name": "O"}, "plugins": [{"name": "shapes", "source": "./s"}]}`)
	write(t, filepath.Join(other, "s/commands/hi.md"), "hi\n")
	a := accountFor(t, market, other)
	if len(a.silent) > 0 {
		t.Errorf("neither loaded nor named: %q\nnotes: %q", a.silent, a.notes)
	}
	notes := strings.Join(a.notes, "\n")
	for _, want := range []string{
		"the plugin 1 of the marketplace shapes is left out", "hooks/hooks.json is left out: it is not JSON",
		"workflows/scan.js is left out: lathe does not run workflows", "the plugin shapes@other is not used",
		"plain.md: it has no name", "group/deep/SKILL.md is left out",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q: %s", want, notes)
		}
	}
	skills := a.extensions.Skills.Catalog()
	for _, name := range []string{"rooted:rooted", "listed:one", "many:s2099", "shapes:tidy"} {
		if _, ok := skills.Get(name); !ok {
			t.Errorf("the skill %s is missing", name)
		}
	}
	if _, ok := skills.Get("listed:two"); ok {
		t.Error("strict: false brought a skill that its entry does not list")
	}
	for name, rules := range map[string]int{"shapes:git-only": 2, "shapes:unnamed": 0, "many:a599": 0} {
		k, err := a.extensions.Agents.Catalog().Get(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := k.Permissions; rules > 0 && (r == nil || len(r.Allow) != rules || !slices.Equal(r.Ask, []string{"Bash"})) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if s := a.extensions.PluginServers(); s["plugin_served_db"].Raw == nil {
		t.Errorf("the server beside an empty mcpServers is missing: %v", s)
	}
}

// LATHE_COLLECTIONS has folders of marketplaces, separated as in PATH.
func TestPublicCollectionsAreLoadedOrNamed(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("LATHE_COLLECTIONS"))
	if len(dirs) == 0 {
		t.Skip("LATHE_COLLECTIONS names no folders of marketplaces")
	}
	for _, dir := range dirs {
		a := accountFor(t, dir)
		t.Logf("%s: plugins %d, parts loaded %d, named %d, silent %d, agents %d, skills and commands %d", filepath.Base(dir),
			a.plugins, a.loaded, a.named, len(a.silent), len(a.extensions.Agents.Catalog().All()),
			len(a.extensions.Skills.Catalog().All()))
		for _, n := range a.notes {
			if strings.Contains(n, "left out") {
				t.Log(n)
			}
		}
		for _, path := range a.silent {
			t.Errorf("neither loaded nor named: %s", path)
		}
	}
}
