package subagent

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

const (
	maxFiles = 10_000 // in one folder
	maxDepth = 6      // of its subfolders
)

// Folder is a folder with kinds as Markdown files, in subfolders too.
type Folder struct {
	Path   string
	Source string
	Prefix string                     // put before names, with a colon: the plugin that the folder belongs to
	Fill   func(prompt string) string // fills in the plugin's variables; nil: none
	Bound  string                     // links must stay inside this folder; empty: no limit
}

// Catalog is the immutable list of a session's kinds. Library makes a new one when files change.
type Catalog struct {
	list  []*Kind // built-in ones first, then by name
	Notes []string
	check func(*Kind) error

	folders []Folder
}

// Find reads the folders, lowest precedence first, and adds the kinds of the command line, which only the
// organisation's override. A file that cannot be used, or a kind that check refuses, becomes a note; check may be nil.
func Find(folders []Folder, given []Kind, notes []string, check func(*Kind) error) *Catalog {
	c := &Catalog{check: check, Notes: slices.Clone(notes), folders: slices.Clone(folders)}
	for _, k := range BuiltIn() {
		c.add(k)
	}
	for _, f := range folders {
		if f.Source == SourceOrganisation {
			c.addAll(given)
			given = nil
		}
		c.read(f)
	}
	c.addAll(given)
	first := len(BuiltIn())
	slices.SortStableFunc(c.list[first:], func(a, b *Kind) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(c.Notes)
	return c
}

const sourceProject = "project"

// SourcePlugin begins the source of the kinds of a plugin.
const SourcePlugin = "plugin "

// SourceOrganisation is the source of kinds that no other source overrides.
const SourceOrganisation = "organisation"

func (c *Catalog) addAll(kinds []Kind) {
	for _, k := range kinds {
		c.take(k, "agent "+k.Name+" ("+k.Source+")")
	}
}

// take adds a kind with its notes, unless the check refuses it.
func (c *Catalog) take(k Kind, at string) {
	if c.check != nil {
		if err := c.check(&k); err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("the agent is left out: %s: %v", at, err))
			return
		}
	}
	for _, n := range k.Notes {
		c.Notes = append(c.Notes, at+": "+n)
	}
	c.add(k)
}

// add adds a kind or replaces the one with its name.
func (c *Catalog) add(k Kind) {
	if strings.HasPrefix(k.Source, SourcePlugin) && len(k.Servers) > 0 {
		k.Servers = nil
		c.Notes = append(c.Notes, fmt.Sprintf("%s: mcpServers of a plugin's agent has no effect: the plugin declares its "+
			"servers in .mcp.json, for all agents", k.Path))
	}
	if k.Source == sourceProject && k.Memory == User {
		k.Memory = Project
		c.Notes = append(c.Notes, fmt.Sprintf("%s: memory: user is taken as project: an agent of a project does not read "+
			"or write your own notes", k.Path))
	}
	for i, old := range c.list {
		if strings.EqualFold(old.Name, k.Name) {
			if old.Source == "built-in" && k.Source == sourceProject { // hooks and other agents rely on it
				c.Notes = append(c.Notes, fmt.Sprintf("the agent is left out: %s: %s is a built-in agent, which only your own "+
					"files replace", k.Path, old.Name))
				return
			}
			c.list[i] = &k
			return
		}
	}
	c.list = append(c.list, &k)
}

func (c *Catalog) read(f Folder) {
	paths, notes := markdown(f.Path)
	c.Notes = append(c.Notes, notes...)
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("the agent is left out: %v", err))
			continue
		}
		if rel, err := filepath.Rel(f.Bound, real); f.Bound != "" && (err != nil || !filepath.IsLocal(rel)) {
			c.Notes = append(c.Notes, fmt.Sprintf("%s is left out: it leads out of the project to %s", path, real))
			continue
		}
		k, err := readFile(path, f.Prefix != "")
		if err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("the agent is left out: %v", err))
			continue
		}
		k.Source = f.Source
		if f.Prefix != "" {
			k.Name, k.Prompt = f.Prefix+":"+k.Name, f.Fill(k.Prompt)
		}
		c.take(k, path)
	}
}

// markdown lists the Markdown files below a folder, in order. The notes name folders that were not read.
func markdown(dir string) (out, notes []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil && path == dir:
			return fs.SkipAll // most projects have no such folder
		case err != nil:
			notes = append(notes, fmt.Sprintf("the agents of a folder are left out: %v", err))
			return fs.SkipDir
		case e.IsDir() && path != dir && e.Name()[0] == '.':
			return fs.SkipDir
		case e.IsDir() && path != dir && strings.Count(rel, string(filepath.Separator)) >= maxDepth:
			notes = append(notes, fmt.Sprintf("the agents of %s are left out: it is more than %d folders deep", path, maxDepth))
			return fs.SkipDir
		case !e.IsDir() && strings.EqualFold(filepath.Ext(path), ".md"):
			if len(out) == maxFiles {
				notes = append(notes, fmt.Sprintf("%s: only the first %d agents were read", dir, maxFiles))
				return fs.SkipAll
			}
			out = append(out, path)
		}
		return nil
	})
	return out, notes
}

// All lists the kinds: the built-in ones, then the others by name.
func (c *Catalog) All() []*Kind { return slices.Clone(c.list) }

// Get finds a kind by name, in any case; "" is the general one. The error lists the names.
func (c *Catalog) Get(name string) (*Kind, error) {
	name = cmp.Or(name, General)
	var names []string
	for _, k := range c.list {
		if strings.EqualFold(k.Name, name) {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("there is no agent %q; the agents are: %s", name, strings.Join(names, ", "))
}

// Listing describes the kinds that are not built in for the model, one per line; "" if there are none. Descriptions are
// cut so that the listing stays within limit bytes.
func (c *Catalog) Listing(limit int) string {
	var lines []string
	for _, k := range c.list {
		if k.Source != "built-in" {
			lines = append(lines, "- "+k.Name+": "+strings.Join(strings.Fields(k.Description), " "))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	each := max(40, limit/len(lines)-1)
	for i, l := range lines {
		if len(l) > each {
			lines[i] = strings.ToValidUTF8(l[:each-3], "") + "..."
		}
	}
	return strings.Join(lines, "\n")
}

// Given reads kinds from the command line or the SDK: {"name": {"description": ..., "prompt": ..., ...}}, with the
// fields of a file.
func Given(text []byte, source string) ([]Kind, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var raw map[string]map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf(`agents are an object, {"name": {"description": "...", "prompt": "..."}}: %w`, err)
	}
	var out []Kind
	for name, fields := range raw {
		f := frontmatter.Fields(fields)
		k := Kind{Prompt: f.Text("prompt"), Source: source}
		f["name"] = name
		for _, steps := range []string{"maxTurns", "maxSteps"} {
			if n, ok := f[steps].(float64); ok {
				f[steps] = int(n)
			}
		}
		if err := k.fill(f); err != nil {
			return nil, fmt.Errorf("the agent %q: %w", name, err)
		}
		if k.Prompt == "" {
			return nil, fmt.Errorf("the agent %q has no prompt", name)
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Library holds the kinds for one working folder. It reads them on first use, and again when their files change. It is
// safe for concurrent use.
type Library struct {
	folders func() []Folder
	given   func() ([]Kind, []string)
	check   func(*Kind) error

	mu      sync.Mutex
	catalog *Catalog
	stamp   uint64
}

// NewLibrary makes a library of the folders and of the kinds that are not from files, with notes about the latter. No
// file is read yet. A kind that check refuses is left out; nil checks nothing.
func NewLibrary(folders func() []Folder, given func() ([]Kind, []string), check func(*Kind) error) *Library {
	return &Library{folders: folders, given: given, check: check}
}

// Catalog returns the current catalog: the same one until a file changes.
func (l *Library) Catalog() *Catalog {
	folders := l.folders()
	given, notes := l.given()
	stamp := stampOf(folders, given, notes)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog == nil || l.stamp != stamp {
		l.catalog, l.stamp = Find(folders, given, notes, l.check), stamp
	}
	return l.catalog
}

// stampOf returns a number that changes when a file that Find reads is added, removed or written.
func stampOf(folders []Folder, given []Kind, notes []string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(notes, "\n")))
	for _, k := range given {
		h.Write([]byte(k.Encode()))
	}
	for _, f := range folders {
		h.Write([]byte(f.Path + "\x00" + f.Source + "\x00"))
		paths, _ := markdown(f.Path)
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			b := binary.LittleEndian.AppendUint64([]byte(path), uint64(info.ModTime().UnixNano()))
			h.Write(binary.LittleEndian.AppendUint64(b, uint64(info.Size())))
		}
	}
	return h.Sum64()
}
