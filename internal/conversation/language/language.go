// Package language joins what knows programming languages (servers, formatters) with an instance: its settings, sandbox
// and trust; and the watcher of files, whose changes servers, sessions and hooks learn.
package language

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/files/watch"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Options configure New.
type Options struct {
	Config   func() *config.Config
	Dir      string // of the instance, with links resolved
	Runner   *sandbox.Runner
	Boundary *boundary.Boundary
	Environ  func() []string
	Version  string
	Tools    permission.Tools // the declarations of tools
	// Plugins has the language servers of plugins, by name; may be nil.
	Plugins func() map[string]lsp.Definition
}

// Folder is an instance's language servers. Nothing is started or read before a file is used.
type Folder struct {
	o    Options
	pool *lsp.Pool

	watcher *watch.Watcher

	mu     sync.Mutex
	joined map[*Joined]bool
	last   settings
	trust  trust
	trees  map[string]bool // working folders that were given to the watcher
	repo   git.Repo        // as it was last seen
}

// settings are decoded once per configuration.
type settings struct {
	of  *config.Config
	lsp lsp.Settings
}

// New makes the language support of an instance.
func New(o Options) *Folder {
	f := &Folder{o: o, joined: map[*Joined]bool{}, trees: map[string]bool{}}
	f.pool = lsp.New(lsp.Options{
		Settings: f.settings, Environ: f.environ, Trusted: f.trusted, Confined: o.Boundary.Confined, Launch: f.launch,
		Notice: f.notice, Version: o.Version, Plugins: o.Plugins,
	})
	f.watcher = watch.New(watch.Options{
		Changed: f.changed, Notice: func(text string) { f.tell("info", text) },
		Folders: folders,
	})
	return f
}

// Close ends all servers and the watcher.
func (f *Folder) Close() error {
	f.watcher.Close()
	f.pool.Close()
	return nil
}

// Pool has the language servers.
func (f *Folder) Pool() *lsp.Pool { return f.pool }

// trustFor is how long an answer about trust, which is in a file, is not asked for again.
const trustFor = 5 * time.Second

// trusted reports whether programs of the project may run.
func (f *Folder) trusted() bool {
	c := f.o.Config()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trust.of != c || time.Since(f.trust.at) > trustFor {
		f.trust = trust{c, time.Now(), c.TrustsPrograms()}
	}
	return f.trust.yes
}

type trust struct {
	of  *config.Config
	at  time.Time
	yes bool
}

func (f *Folder) environ() []string {
	return sandbox.CleanEnv(f.o.Environ(), sandbox.Options{Drop: f.o.Config().PrivateVariables(), ScrubCredentials: true})
}

func (f *Folder) settings() lsp.Settings {
	c := f.o.Config()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.of != c {
		f.last = settings{c, ServerSettings(c)}
	}
	return f.last.lsp
}

// ServerSettings reads the setting lsp. A definition that cannot be read is left out; the schema has refused it before.
func ServerSettings(c *config.Config) lsp.Settings {
	l := c.Settings.LSP
	out := lsp.Settings{
		Enabled: l.Enabled, Warnings: l.Warnings, WaitMs: l.WaitMs, StartMs: l.StartMs, RequestMs: l.RequestMs,
		IdleMinutes: l.IdleMinutes, MaxMemoryMB: l.MaxMemoryMB, MaxCPUMinutes: l.MaxCPUMinutes,
	}
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(l.Servers, &raw)
	for name, text := range raw {
		var d lsp.Definition
		if json.Unmarshal(text, &d) == nil {
			if out.Servers == nil {
				out.Servers = map[string]lsp.Definition{}
			}
			out.Servers[name] = d
		}
	}
	return out
}

// launch starts a server inside the boundary: it reads the folder, writes caches of its own and reaches no host.
func (f *Folder) launch(ctx context.Context, argv []string, dir string, env map[string]string, stderr *lsp.Log) (
	*sandbox.Piped, func(), error,
) {
	spec := sandbox.Spec{Argv: argv, Dir: dir, Env: f.environ(), Stderr: stderr}
	done := func() {}
	if f.o.Boundary.Confined() {
		run, err := f.o.Boundary.ForServer([]string{dir}, false, boundary.Network{})
		if err != nil {
			return nil, nil, err
		}
		run.Policy.Show = append(run.Policy.Show, filepath.Dir(argv[0]))
		spec.Confine, done = run.Confinement, run.Finish
		spec.Env = sandbox.Overlay(spec.Env, run.Environ())
	}
	spec.Env = sandbox.Overlay(spec.Env, env)
	p, err := f.o.Runner.StartPiped(ctx, spec)
	if err != nil {
		done()
		return nil, nil, err
	}
	return p, done, nil
}

// notice shows a warning in every session.
func (f *Folder) notice(text string) { f.tell("warning", text) }

// tell shows a line in every session. Where nothing is lost its level is info, which a single prompt does not print.
func (f *Folder) tell(level, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.joined {
		s.Notice(level, text)
	}
}
