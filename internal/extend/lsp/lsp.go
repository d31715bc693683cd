// Package lsp talks to language servers: programs that know a language and report errors, definitions and references.
//
// The words: a [Definition] says for which files a server is, and how it is started; a root is the folder that a server
// works in; a [Pool] has the running servers of a process, one per definition and root; a [Seat] is a session's view of
// their diagnostics.
//
// Promises:
//
//   - No server starts before a file of its language is used, and nothing is ever downloaded.
//   - Each request ends in bounded time, and a server that dies, floods or lies changes no file: edits are checked
//     against the files.
//   - Positions come from a stranger: one outside of its file is clamped or refused.
package lsp

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Settings are the setting lsp.
type Settings struct {
	Enabled  bool `json:"enabled"`
	Warnings bool `json:"warnings"` // report warnings after an edit, too
	WaitMs   int  `json:"waitMs"`   // how long an edit waits for diagnostics
	// how long a server may take to start, and a request waits for its index
	StartMs     int `json:"startMs"`
	RequestMs   int `json:"requestMs"`   // how long a request may take
	IdleMinutes int `json:"idleMinutes"` // after which an unused server is ended
	MaxMemoryMB int `json:"maxMemoryMB"` // of a server with its children; it is ended beyond that
	// for which a server may keep a processor busy; it is ended beyond that
	MaxCPUMinutes int                   `json:"maxCPUMinutes"`
	Servers       map[string]Definition `json:"servers"` // add to the built-in ones, or change them
}

// Launch starts a server's process in a folder. env is added to its environment. done is called when it has ended.
type Launch func(ctx context.Context, argv []string, dir string, env map[string]string, stderr *Log) (p *sandbox.Piped,
	done func(), err error)

// Options configure New.
type Options struct {
	Settings func() Settings
	Environ  func() []string // of the servers; PATH is searched for programs
	// Trusted reports whether programs of the project may run, and those that run the project's code unconfined.
	Trusted func() bool
	// Confined reports whether Launch confines servers.
	Confined func() bool
	Launch   Launch
	Notice   func(text string) // shows a line to the user
	Version  string            // of lathe
	// Plugins has more definitions, by name; may be nil.
	Plugins func() map[string]Definition
	Every   time.Duration // how often the use of a server is looked at; 0: every 10 s
}

// Pool has the servers of a process. It is safe for concurrent use.
type Pool struct {
	o    Options
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	servers map[serverKey]*server
	found   map[string]lookup // programs, by definition
	closed  bool
	ending  sync.WaitGroup
}

type serverKey struct{ name, root string }

// New makes a pool. It starts and reads nothing.
func New(o Options) *Pool {
	life, end := context.WithCancel(context.Background())
	return &Pool{o: o, life: life, end: end, servers: map[serverKey]*server{}, found: map[string]lookup{}}
}

// Close ends all servers.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := p.list()
	p.mu.Unlock()
	p.end()
	for _, s := range all {
		s.shut()
	}
	p.ending.Wait()
}

// list is in a fixed order. p.mu is held.
func (p *Pool) list() []*server {
	out := make([]*server, 0, len(p.servers))
	for _, s := range p.servers {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *server) int {
		return cmp.Or(strings.Compare(a.def.Name, b.def.Name), strings.Compare(a.root, b.root))
	})
	return out
}

func (p *Pool) each() []*server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list()
}

// File is a file with the working root that it lies in. Both are absolute and have no links in them.
type File struct{ Path, Root string }

// serve returns the servers of a file, and starts those that do not run. It waits for none of them.
func (p *Pool) serve(f File) []*server {
	set := p.o.Settings()
	if !set.Enabled {
		return nil
	}
	var out []*server
	for _, d := range p.definitions(set) {
		if lang := d.language(f.Path); lang == "" || d.Disabled {
			continue
		}
		root, ok := d.rootOf(f)
		if !ok {
			continue
		}
		argv, err := p.program(d, root, f.Root)
		if err != nil {
			continue
		}
		if s := p.server(d, root, argv); s != nil {
			s.start()
			out = append(out, s)
		}
	}
	return primary(out)
}

// primary leaves out servers that a better one of the same group replaces.
func primary(list []*server) []*server {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s *server) bool {
		g := s.def.Group
		if g == "" {
			return false
		}
		again := seen[g]
		seen[g] = true
		return again
	})
}

func (p *Pool) server(d *Definition, root string, argv []string) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	key := serverKey{d.Name, root}
	s := p.servers[key]
	if s == nil || s.changed(d, argv) {
		if s != nil {
			p.ending.Go(s.shut)
		}
		s = newServer(p, d, root, argv)
		p.servers[key] = s
	}
	return s
}

// Covers reports whether some server is defined for the file, installed or not.
func (p *Pool) Covers(path string) bool {
	set := p.o.Settings()
	return set.Enabled && slices.ContainsFunc(p.definitions(set),
		func(d *Definition) bool { return !d.Disabled && d.language(path) != "" })
}

// Touch makes the servers of a file open it, in the background: it was read.
func (p *Pool) Touch(f File) {
	if !p.Covers(f.Path) {
		return
	}
	for _, s := range p.serve(f) {
		p.background(func() { s.open(f.Path) })
	}
}

// background runs f beside the caller, until Close at most. After Close it does nothing and returns false.
func (p *Pool) background(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.ending.Go(f)
	return true
}

// FilesChanged passes on changes on disk to the servers that run; none is started.
func (p *Pool) FilesChanged(paths []string) {
	if len(paths) == 0 {
		return
	}
	for _, s := range p.each() {
		if s.running() {
			s.filesChanged(paths)
		}
	}
}

// ErrNoServer is returned where no server serves a file.
var ErrNoServer = errors.New("no language server")

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Within reports whether path is dir or below it.
func Within(path, dir string) bool { return within(path, dir) }

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+
		string(filepath.Separator))
}
