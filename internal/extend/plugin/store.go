package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/regular"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// The marketplaces of plugins that were installed by their folder or repository.
const (
	byPath = "path"
	byGit  = "git"
)

// Store is the plugins that are installed, and the marketplaces that are known, of one user.
type Store struct {
	dir string // lathe's data folder for plugins
	fetcher
}

// Open returns the store in lathe's data folder. Nothing is read yet.
func Open(dataHome string, runner *sandbox.Runner, environ func() []string) *Store {
	dir := filepath.Join(dataHome, "plugins")
	return &Store{dir: dir, fetcher: fetcher{runner: runner, environ: environ, temp: filepath.Join(dir, "tmp")}}
}

// Record is an installed plugin, as the store keeps it.
type Record struct {
	Path      string          `json:"path"` // of the copy, below the store's folder
	Source    Source          `json:"source"`
	Commit    string          `json:"commit,omitempty"`
	Sum       string          `json:"sum"` // of the content
	Version   string          `json:"version,omitempty"`
	Entry     json.RawMessage `json:"entry,omitempty"` // of the marketplace
	Installed time.Time       `json:"installed"`
}

// Known is a marketplace that the user added.
type Known struct {
	Source  Source    `json:"source"`
	Commit  string    `json:"commit,omitempty"`
	Updated time.Time `json:"updated"`
}

func (s *Store) installed() string { return filepath.Join(s.dir, "installed.json") }
func (s *Store) known() string     { return filepath.Join(s.dir, "marketplaces.json") }

// Records are the installed plugins by id.
func (s *Store) Records() (map[string]Record, error) { return readMap[Record](s.installed()) }

// Markets are the known marketplaces by name.
func (s *Store) Markets() (map[string]Known, error) { return readMap[Known](s.known()) }

func readMap[V any](file string) (map[string]V, error) {
	out := map[string]V{}
	data, err := regular.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; move it away to begin anew", file, err)
	}
	return out, nil
}

// change rewrites a file of the store as a whole.
func change[V any](file string, f func(map[string]V)) error {
	all, err := readMap[V](file)
	if err != nil {
		return err
	}
	f(all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return err
	}
	next := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// Load reads an installed plugin.
func (s *Store) Load(id string, r Record, options map[string]string) (*Plugin, error) {
	p, err := Read(filepath.Join(s.dir, r.Path), r.Entry)
	if err != nil {
		return nil, err
	}
	p.ID, p.Data, p.Options = id, filepath.Join(s.dir, "data", dataName(id)), options
	return p, nil
}

// Candidate is a plugin that was fetched and is not installed yet: nothing of it has run.
type Candidate struct {
	*Plugin
	Record
	Diff string // from the installed one; "" if it is new or the same
	Same bool   // its content is installed already
	drop func()
	from string
}

// Drop removes the fetched files. It may be called after Install too.
func (c *Candidate) Drop() { c.drop() }

// Fetch brings a plugin, by its id, by its name where one marketplace has it, or by its folder or repository. extra are
// the marketplaces of the settings, by name.
func (s *Store) Fetch(ctx context.Context, what, dir string, extra map[string]Source) (*Candidate, error) {
	name, market, named := strings.Cut(what, "@")
	if src, err := ParseSource(what, dir); err == nil && !(named && CheckName(name) == nil && CheckName(market) == nil) {
		return s.candidate(ctx, src, nil, "")
	}
	if err := CheckName(name); err != nil {
		return nil, fmt.Errorf("%w; give NAME@MARKETPLACE, a folder (./NAME), or a repository", err)
	}
	m, err := s.marketWith(ctx, name, market, extra)
	if err != nil {
		return nil, err
	}
	e, err := m.entry(name)
	if err != nil {
		return nil, err
	}
	src, err := m.resolve(e)
	if err != nil {
		return nil, err
	}
	return s.candidate(ctx, src, &e, m.Name)
}

// marketWith is the marketplace of a name, or the only one that has a plugin.
func (s *Store) marketWith(ctx context.Context, plugin, market string, extra map[string]Source) (*Market, error) {
	if market != "" {
		return s.Market(ctx, market, extra)
	}
	known, err := s.Markets()
	if err != nil {
		return nil, err
	}
	var found []*Market
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if m, err := s.Market(ctx, name, nil); err == nil {
			if now, _ := m.Present(plugin); now != "" {
				found = append(found, m)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no known marketplace has a plugin %q; lathe plugin marketplace add adds one", plugin)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d marketplaces have a plugin %q; say which: %s@%s", len(found), plugin, plugin, found[0].Name)
}

// candidate fetches a plugin and compares it with the installed one.
func (s *Store) candidate(ctx context.Context, src Source, e *Entry, market string) (*Candidate, error) {
	got, err := s.fetch(ctx, src)
	if err != nil {
		return nil, err
	}
	c := &Candidate{drop: got.drop, from: got.dir, Record: Record{Source: src, Commit: got.commit}}
	if e != nil {
		c.Entry, c.Version = e.components(), e.Version
	}
	if c.Plugin, err = Read(got.dir, c.Entry); err == nil {
		err = s.compare(c, market)
	}
	if err != nil {
		got.drop()
		return nil, err
	}
	return c, nil
}

// compare copies the fetched plugin beside the installed ones, and sets the difference.
func (s *Store) compare(c *Candidate, market string) error {
	if market == "" {
		market = byPath
		if c.Commit != "" {
			market = byGit
		}
	}
	c.ID = c.Name() + "@" + market
	if c.Manifest.Version != "" {
		c.Version = c.Manifest.Version
	}
	c.Data = filepath.Join(s.dir, "data", dataName(c.ID))
	copied, drop, err := s.folder()
	if err != nil {
		return err
	}
	fetchedDrop := c.drop
	c.drop = func() { drop(); fetchedDrop() }
	if c.Sum, err = copyTree(c.from, copied); err != nil {
		return err
	}
	c.from, c.Root = copied, copied
	c.Path = filepath.Join("cache", market, c.Name(), c.Sum[:16])
	all, err := s.Records()
	if err != nil {
		return err
	}
	if old, ok := all[c.ID]; ok {
		was, is := indented(old.Entry), indented(c.Entry)
		c.Same = old.Sum == c.Sum && was == is
		c.Diff = diff(filepath.Join(s.dir, old.Path), copied)
		if was != is {
			c.Diff += fileDiff("the entry of the marketplace", []byte(was), []byte(is), "", "")
		}
	}
	return nil
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil { // none, or not JSON
		return string(raw)
	}
	return b.String() + "\n"
}

// Install puts a candidate in the place of the installed plugin of its id. Enabling it is the caller's.
func (s *Store) Install(c *Candidate) error {
	to := filepath.Join(s.dir, c.Path)
	if _, err := os.Stat(to); err != nil {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(c.from, to); err != nil {
			return fmt.Errorf("the plugin cannot be kept: %w", err)
		}
	}
	c.Root, c.Installed = to, time.Now().UTC().Truncate(time.Second)
	var old Record
	if err := change(s.installed(), func(all map[string]Record) { old, all[c.ID] = all[c.ID], c.Record }); err != nil {
		return err
	}
	if old.Path != "" && old.Path != c.Path {
		return os.RemoveAll(filepath.Join(s.dir, old.Path))
	}
	return nil
}

// Remove deletes an installed plugin, and its data unless they are to be kept.
func (s *Store) Remove(id string, keepData bool) error {
	var old Record
	if err := change(s.installed(), func(all map[string]Record) { old = all[id]; delete(all, id) }); err != nil {
		return err
	}
	if old.Path == "" {
		return fmt.Errorf("the plugin %s is not installed; lathe plugin list shows those that are", id)
	}
	err := os.RemoveAll(filepath.Join(s.dir, old.Path))
	if !keepData {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, "data", dataName(id))))
	}
	return err
}

// Update fetches an installed plugin again, from where it came; of a marketplace, its list first.
func (s *Store) Update(ctx context.Context, id string, extra map[string]Source) (c *Candidate, err error) {
	all, err := s.Records()
	if err != nil {
		return nil, err
	}
	r, ok := all[id]
	if !ok {
		return nil, fmt.Errorf("the plugin %s is not installed; lathe plugin list shows those that are", id)
	}
	if _, market, _ := strings.Cut(id, "@"); market == byPath || market == byGit {
		c, err = s.candidate(ctx, r.Source, nil, "")
	} else if err = s.refresh(ctx, market); err == nil {
		c, err = s.Fetch(ctx, id, "", extra)
	}
	if err == nil && c.ID != id {
		c.Drop()
		if name, market, _ := strings.Cut(id, "@"); market != byPath && market != byGit {
			return nil, fmt.Errorf("the marketplace %s has renamed the plugin %s: lathe plugin install %s, then lathe plugin "+
				"remove %s", market, name, c.ID, id)
		}
		return nil, fmt.Errorf("%s is %s now, which is another plugin; install that one, and remove this", r.Source, c.ID)
	}
	return c, err
}

// refresh fetches a marketplace again, if the user added it.
func (s *Store) refresh(ctx context.Context, market string) error {
	known, err := s.Markets()
	if _, ok := known[market]; !ok || err != nil {
		return err
	}
	_, err = s.UpdateMarket(ctx, market)
	return err
}

// ID completes the name of an installed plugin.
func (s *Store) ID(name string) (string, error) {
	all, err := s.Records()
	if err != nil || strings.Contains(name, "@") {
		return name, err
	}
	var found []string
	for id := range all {
		if strings.HasPrefix(id, name+"@") {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", fmt.Errorf("the plugin %s is not installed; lathe plugin list shows those that are", name)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s is the name of several plugins: %s", name, strings.Join(found, ", "))
}
