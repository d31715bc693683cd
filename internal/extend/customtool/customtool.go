// Package customtool makes tools of programs: an executable in a tools folder, or in the setting tools.
//
// The words: a description is the JSON that PROGRAM --describe prints; a program is known when the description of its
// present content is in the cache; an access is declared by the description and filled in from the input of a call.
//
// Promises:
//
//   - A start runs no program that is known. One that is not is asked once for each content, within [describeLimit].
//   - A program of the project runs only with the content that the user trusted, confined and without credentials.
//   - A description cannot pass a tool off as another one: names and aliases that are taken are refused.
//   - A call ends within its time, takes its whole process tree with it, and its output is bounded.
package customtool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Options configure New.
type Options struct {
	Config  func() *config.Config
	Tools   *call.Catalogue // gets the declarations
	Runner  *sandbox.Runner
	Environ func(foreign bool) []string // of the programs; foreign: without credentials
	// Confine confines a program of the project; a nil result: not confined. done is called when it has ended.
	Confine func() (c *sandbox.Confinement, done func(), err error)
	Dir     string        // of the instance
	More    func() []More // the programs of plugins, which are a stranger's; nil: none
	Version func() uint64 // changes with More; nil: never
	Off     bool          // there are none
}

// More is a program of a plugin.
type More struct {
	Path    string
	Plugin  string
	Environ func(env []string) []string // adds the plugin's variables
}

// Set is the custom tools of an instance. It is safe for concurrent use.
type Set struct {
	o       Options
	version atomic.Uint64

	mu       sync.Mutex
	read     bool
	sign     string // of the files, as they were read
	tools    []*program
	declared map[string]bool // names in the catalogue that are ours
	notes    []string
	cache    *cache
}

// program is a tool and the file behind it.
type program struct {
	config.ToolFile
	environ func(env []string) []string // nil: no more variables
	origin  string
	sum     string
	about   Description
}

// New makes the set. Nothing is read yet.
func New(o Options) *Set {
	s := &Set{o: o, declared: map[string]bool{}}
	s.version.Store(1)
	return s
}

// Version changes when the tools did. It costs a look at the files.
func (s *Set) Version() uint64 {
	if s == nil || s.o.Off {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read && s.sign != s.signature() {
		s.read = false
		s.version.Add(1)
	}
	return s.version.Load()
}

// signature identifies the state of the files by their sizes and times.
func (s *Set) signature() string {
	var b strings.Builder
	look := func(path string) {
		if st, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", path, st.Size(), st.ModTime().UnixNano())
		}
	}
	c := s.o.Config()
	for _, dir := range c.ToolFolders() {
		look(dir)
	}
	for _, p := range s.tools {
		look(p.Path)
	}
	if s.o.Version != nil {
		fmt.Fprintln(&b, s.o.Version())
	}
	fmt.Fprintln(&b, c.Trusted(), c.Settings.Tools)
	return b.String()
}

// Notes are warnings about programs that are left out, each returned once.
func (s *Set) Notes() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.notes = nil }()
	return s.notes
}

// load reads the files again if they changed, and asks programs that are not known.
func (s *Set) load(ctx context.Context) []*program {
	if s == nil || s.o.Off {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read {
		return s.tools
	}
	s.read = true
	var files []*program
	for _, f := range s.o.Config().ToolFiles() {
		files = append(files, &program{ToolFile: f, origin: f.Layer.String() + " " + f.Path})
	}
	if s.o.More != nil {
		for _, m := range s.o.More() {
			files = append(files, &program{
				ToolFile: config.ToolFile{Path: m.Path, Layer: config.Project}, environ: m.Environ,
				origin: "plugin " + m.Plugin,
			})
		}
	}
	s.tools = nil
	if len(files) > 0 {
		s.cache = openCache(filepath.Join(s.o.Config().Paths().CacheHome, "tools.json"))
		s.tools = s.usable(s.describeAll(ctx, files))
		if err := s.cache.save(); err != nil {
			s.note(err.Error())
		}
	}
	s.sign = s.signature()
	return s.tools
}

func (s *Set) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// describeAll returns the programs with a description, in the order of the files.
func (s *Set) describeAll(ctx context.Context, all []*program) []*program {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() { errs[i] = s.describe(ctx, p) })
	}
	wg.Wait()
	var out []*program
	for i, err := range errs {
		if err != nil {
			s.note(fmt.Sprintf("the tool %s is left out: %v", all[i].Path, err))
			continue
		}
		out = append(out, all[i])
	}
	return out
}

// describe sets the description of a program's present content.
func (s *Set) describe(ctx context.Context, p *program) (err error) {
	if p.sum, err = s.cache.sum(p.Path); err != nil {
		return err
	}
	if p.Sum != "" && p.Sum != p.sum {
		return errChanged
	}
	text, failure, known := s.cache.get(p.sum)
	if !known {
		if text, err = s.ask(ctx, p); errors.Is(err, errChanged) {
			return err // of another content than the one that the sum is of
		} else if err != nil {
			failure = err.Error()
		}
		if ctx.Err() == nil {
			s.cache.put(p.sum, text, failure)
		}
	}
	if failure != "" {
		return fmt.Errorf("%s; lathe tool list --origin asks it again", failure)
	}
	p.about, err = parse(text)
	return err
}

// usable declares the tools and leaves out those whose names are taken.
func (s *Set) usable(all []*program) (out []*program) {
	taken := map[string]string{}
	for _, p := range all {
		name := p.about.Name
		if by := taken[strings.ToLower(name)]; by != "" {
			s.note(fmt.Sprintf("the tool %s is left out: %s has the name %s already", p.Path, by, name))
			continue
		}
		if !s.declared[name] {
			d := call.Declaration{Name: name, Deferred: !p.about.AlwaysLoad, Accesses: s.accesses(name)}
			if err := s.o.Tools.Add(d); err != nil {
				s.note(fmt.Sprintf("the tool %s is left out: %v; give it another name", p.Path, err))
				continue
			}
			s.declared[name] = true
		}
		taken[strings.ToLower(name)] = p.Path
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *program) int { return cmp.Compare(a.about.Name, b.about.Name) })
	return out
}

// find returns the program with this name, nil: there is none now.
func (s *Set) find(name string) *program {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.tools {
		if p.about.Name == name {
			return p
		}
	}
	return nil
}

// Retry forgets the failures to describe, so that those programs are asked again.
func (s *Set) Retry() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	openCache(filepath.Join(s.o.Config().Paths().CacheHome, "tools.json")).forgetFailures()
	s.read = false
	s.version.Add(1)
}
