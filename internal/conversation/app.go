// Package conversation builds a working lathe out of its parts, once: an [Instance] is one folder's, with its
// settings and providers; a [Session] is one conversation in it. Nothing heavy starts before it is
// needed, and two instances in one process share nothing.
//
// It is the only package that knows all the others. Front ends see a Session through a small interface of
// their own.
//
// [Instance.NewSession] assembles a session from top to bottom; each part has a file: its kind of agent (kind.go), its
// tools (registry.go, env.go), its folders and files (workspace.go), what a prompt brings along (attach.go, notes.go),
// its context window (window.go), what a resumed conversation gets back (resume.go).
//
// Promises: a file is read for a person only where policy allows it without a question; a log of any age is read; a
// tool that a rule or the kind of the agent removes is in no list.
package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/conversation/language"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/provider"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/worktree"
	"github.com/lathe-dev/lathe/internal/tool"
)

// ErrNoKey is returned when no key is configured; it names the ways to get one.
var ErrNoKey = provider.ErrNoKey

// Options are the loaded configuration and the command line's choices.
type Options struct {
	Config  *config.Config
	Dir     string   // the working folder, absolute
	Environ []string // nil: the process's
	Version string

	AddDirs      []string
	Allowed      []string // rules of the command line
	Disallowed   []string
	Mode         permission.Mode // "": the configured one
	Tools        []string        // nil: all; else only these
	System       string          // replaces the system prompt
	AppendSystem string
	PlanGuide    string // replaces the advice on how to plan
	OutputSchema []byte // a JSON Schema that the answer must fit
	MaxTurns     int    // steps; 0: the configured number
	MaxBudgetUSD float64
	Fallback     []string
	TaskBudget   int  // see provider.Options
	Patient      bool // somebody watches: a failed request is sent again more often, unless the settings say how often

	DebugFile     string             // where the debug record goes, instead of one folder per session
	DebugFilter   string             // as in event.RecorderOptions
	Bare          bool               // no memory files and no skills, neither the user's nor the project's
	NoSkills      bool               // no skills and no commands from files
	Skills        []string           // names of the skills that the model may use; nil: all
	Agents        []subagent.Kind    // in addition to those from files
	Agent         string             // the kind of new main conversations; "": the configured one
	Servers       serverset.Flags    // MCP servers of the command line
	Boundary      *boundary.Boundary // confines commands; nil: no sandbox. The caller closes it, after the instance
	Eval          bool               // judges look at the work, also if the settings do not say so
	Hooks         []hook.Group       // of a host program, in addition to those of the settings
	PluginDirs    []string           // folders of plugins for this run
	NoPersistence bool               // sessions live in memory and end with the instance
	Peers         tool.Peers         // the other sessions of the machine; nil: they are not reached
	Buffers       tool.Buffers       // of an editor; nil: there is none
	// Push sends a text from the model to the user's notification services. Nil: no service is set up.
	Push func(ctx context.Context, session, text string) error

	ToolAliases map[string]string // tools that calls of others reach, by the name that the model says
	Share       bool              // other programs read the transcripts (transcript.Shared)
	// Shared hears of lines that were added to them; nil: nothing does.
	Shared func(path string, lines []json.RawMessage)
}

// Instance is lathe at work in one folder.
type Instance struct {
	opts          Options
	conf          atomic.Pointer[config.Config] // changes on reload
	paths         config.Paths
	logs          *session.Opener
	tools         *call.Catalogue
	runner        *sandbox.Runner
	secrets       func() *event.Values
	*provider.Set // the models

	extensions  *extension.Folder
	hooks       *hook.Machine
	slots       *subagent.Slots
	servers     *mcp.Set
	Code        *language.Folder // language servers
	trees       *worktree.Maker
	checkpoints *checkpoint.Folder

	mu       sync.Mutex
	sessions map[*Session]bool
}

func (i *Instance) settings() *config.Settings { return &i.conf.Load().Settings }

// Open makes an instance. It reads no files and starts no processes. A permission rule that cannot be enforced is an
// error.
func Open(o Options) (*Instance, error) {
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the working folder cannot be used: %w; choose another with --cwd", err)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; choose one with --cwd", o.Dir)
	}
	o.Dir = dir
	i := &Instance{
		opts: o, paths: o.Config.Paths(), tools: tool.Catalogue(), runner: o.Boundary.Runner(),
		sessions: map[*Session]bool{}, slots: subagent.NewSlots(o.Config.Settings.Subagents.MaxConcurrent),
	}
	i.conf.Store(o.Config)
	i.Set = provider.New(provider.Options{
		Settings: i.settings, Version: o.Version, Runner: i.runner, Dir: o.Dir,
		Env: i.ChildEnv, Environ: i.environ, TaskBudget: o.TaskBudget, Retries: i.retries,
		Keys: provider.Keys(i.paths.StateHome, os.Getenv),
	})
	i.logs = &session.Opener{Store: session.NewStore(i.paths.DataHome), KeepNothing: o.NoPersistence}
	i.trees = worktree.New(i.runner, func() config.Worktree { return i.settings().Worktree })
	i.checkpoints = checkpoint.New(o.Config.Settings.Snapshots, i.projectDir(), git.New(i.runner).WithEnviron(i.ChildEnv))
	i.extensions = extension.New(extension.Options{
		Plugins: plugin.NewSet(i.conf.Load, plugin.Open(i.paths.DataHome, i.runner, i.environ), o.PluginDirs, o.Bare),
		Config:  i.conf.Load, Dir: dir, Bare: o.Bare, NoSkills: o.NoSkills, Skills: o.Skills, Agents: o.Agents,
		Tools: i.tools, Runner: i.runner, Boundary: o.Boundary, Environ: i.ChildEnv,
	})
	i.hooks = i.extensions.Hooks(o.Hooks)
	i.servers = serverset.New(serverset.Options{
		Config: i.conf.Load, Dir: dir, Flags: o.Servers, Bare: o.Bare,
		Keep: !o.NoPersistence, Version: o.Version, Builtin: tool.Names(), Agents: i.extensions.AgentServers,
		Plugins: i.extensions.PluginServers, Runner: i.runner, Boundary: o.Boundary, Environ: i.ChildEnv,
	})
	i.Code = language.New(language.Options{
		Plugins: i.extensions.PluginLanguages, Config: i.conf.Load, Dir: dir, Tools: i.tools,
		Runner: i.runner, Boundary: o.Boundary, Environ: i.ChildEnv, Version: o.Version,
	})
	i.secrets = sync.OnceValue(func() *event.Values {
		return event.NewValues(append(i.settings().Secrets(i.environ()),
			boundary.StoredSecrets(i.paths.Home)...)...).WithKeys(i.settings().MaskKeys)
	})
	if o.Mode != "" {
		if err := i.checkMode(o.Mode); err != nil {
			return nil, err
		}
	}
	if _, _, err := i.rules(o.Config); err != nil {
		return nil, err
	}
	return i, nil
}

// Close ends every child process.
func (i *Instance) Close() error {
	i.Set.Close()
	err := errors.Join(i.Code.Close(), i.servers.Close(), i.extensions.Close())
	i.runner.Close()
	return errors.Join(err, i.checkpoints.Close(), i.logs.Close())
}

// Store is where sessions are kept.
func (i *Instance) Store() *session.Store { return i.logs.Store }

// Checkpoints are the states of files that are kept for undo.
func (i *Instance) Checkpoints() *checkpoint.Folder { return i.checkpoints }

// projectDir is where lathe keeps the project's data; empty when nothing is kept.
func (i *Instance) projectDir() string {
	if i.opts.NoPersistence || i.paths.DataHome == "" {
		return ""
	}
	return i.Store().ProjectDir(cmp.Or(i.paths.Root, i.opts.Dir))
}

// Servers are the MCP servers.
func (i *Instance) Servers() *mcp.Set { return i.servers }

// Dir is the folder of the instance, with links resolved.
func (i *Instance) Dir() string { return i.opts.Dir }

func (i *Instance) environ() []string {
	if i.opts.Environ != nil {
		return i.opts.Environ
	}
	return os.Environ()
}

// mode is the permission mode a session begins with.
func (i *Instance) mode() permission.Mode {
	if i.opts.Mode != "" && i.checkMode(i.opts.Mode) == nil {
		return i.opts.Mode
	}
	if m := permission.Mode(i.settings().Permissions.DefaultMode); m != "" && i.checkMode(m) == nil {
		return m
	}
	return permission.Default
}

// checkMode refuses unknown modes and those that the policy of the machine forbids.
func (i *Instance) checkMode(m permission.Mode) error {
	if !slices.Contains(permission.Modes, m) {
		return fmt.Errorf("there is no permission mode %q; the modes are %s", m, strings.Join(permission.ModeNames(), ", "))
	}
	if m == permission.Bypass {
		return i.opts.Boundary.BypassForbidden(i.settings().Sandbox, i.conf.Load().BypassForbidden)
	}
	return i.conf.Load().ModeForbidden(string(m))
}

// meta describes a new session: of the main agent, or of the last one of its chain.
func (o SessionOptions) meta(i *Instance, model llm.Model) session.Meta {
	m := session.Meta{Dir: i.opts.Dir, Model: i.settings().Model, Version: i.opts.Version, ID: o.ID}
	if o.Parent != nil {
		m.Parent, m.Model = o.Parent.ID(), model.Info().ID
	}
	if n := len(o.Chain); n > 0 {
		m.Agent, m.Call, _ = strings.Cut(o.Chain[n-1], "/")
	}
	return m
}

// Answer answers an open question of one of the sessions that are open here, or, for "", of any.
func (i *Instance) Answer(session, id string, a event.Answer) error {
	for _, s := range i.running() {
		if (session == "" || s.ID() == session) && s.Answer(id, a) == nil {
			return nil
		}
	}
	return event.ErrNoQuestion
}
