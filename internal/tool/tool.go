// Package tool is every built-in tool, one file each with its description beside it; all.go lists them. A tool's
// [call.Declaration] stands in the same file: names, parameters, the subject of rules on it, and
// the accesses of a call. [Catalogue] holds them all.
//
// A tool is an [agent.Tool]: Prepare resolves the files of the call and holds them open, Run acts on exactly
// those. The tools of one session share one [Env]: the roots, the working folder, the [ReadTracker] that
// remembers which files the model has seen, the explore [Cache] and the task list. There are no globals:
// two sessions in one process share nothing.
//
// The words: canonical is the one spelling of a tool or parameter name; an alias is another that models
// use ([call.Catalogue]). A result's Parts are for the model, its View for people, its Meta for machines, in
// the shape Claude Code gives them.
package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/memory"
	"github.com/lathe-dev/lathe/internal/tool/web"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

// Env is shared by the tools of one session.
type Env struct {
	Roots  *files.Roots // where the session works: its own folder, added ones, read-only ones
	Dir    *Dir         // the working folder, which Bash moves
	Reads  *ReadTracker // the files that the model has seen, with their state
	Cache  *Cache       // results of Read, Glob and Grep
	Todos  *Todos       // the task list
	Limits Limits

	Plan *consult.Plan // of the main agent; nil: plan mode is not this session's to enter or leave

	Deferred *Deferral // the tools that the model's list leaves out

	Web *web.Fetcher // fetches pages, and keeps them for a while
	// Search returns the engine that answers WebSearch, nil where there is none; so does a nil Search.
	Search func(ctx context.Context) *websearch.Engine
	// Ask has the small model answer one prompt. Nil: pages are given whole.
	Ask func(ctx context.Context, system, prompt string) (string, error)

	Runner *sandbox.Runner // starts the children of Bash and Grep; NewEnv makes one
	// Language has the language servers. Nil: there are none.
	Language *lsp.Pool
	// Boundary confines the commands of Bash. Nil: they are not confined.
	Boundary *boundary.Boundary
	// Hosts makes the network of the command of a call; hosts in named were approved with it. Nil: hosts that the settings
	// do not name are refused, and nothing is recorded.
	Hosts func(callID, command string, named []string) boundary.Network
	// Unconfined asks a person whether a command that the sandbox refused something may run once outside. Nil: it may not.
	Unconfined func(ctx context.Context, a agent.Approval, why string) bool
	// Keep asks about the changes of a command in its private view. Nil: they are dropped.
	Keep KeepQuestion
	// Background has the commands that run beside the conversation. Close it before Blob's keeper.
	Background *Background
	Shells     *Shells // the named shells of Bash

	// Blob keeps data with the session and returns the path to read it back from. Nil: a temporary folder.
	Blob func(ctx context.Context, name string, data []byte) (string, error)
	// NewBlob is Blob for data of unknown size. Nil: a temporary file.
	NewBlob func(ctx context.Context, name string) (BlobWriter, error)
	// InContext reports whether the result of an earlier call is still in the conversation as the model
	// will see it. Nil: never, so that nothing is answered with "you have seen this".
	InContext func(callID string) bool
	// MayRead is the decision on reading one file by itself. A search over a folder leaves out files that it
	// does not allow. Nil: everything may be read.
	MayRead func(path string) permission.Effect
	// Readings returns MayRead for the many files of one search, with the rules of this moment; the function is for one
	// goroutine. Nil: MayRead.
	Readings func() func(path string) permission.Effect
	Notes    *memory.Store // of earlier sessions; nil: none are kept
	Journals string        // the folder for the journals of changes of several files; empty: none are kept

	// Invoke runs calls through the choke point, as the agent's own. Nil: calls cannot be bundled.
	Invoke func(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult
	// LoadSkill puts a skill into the conversation: the texts for the model. Nil: there are none.
	LoadSkill func(ctx context.Context, name, args string) ([]llm.Part, error)
	// Agents starts subagents. Nil: there are none.
	Agents *subagent.Agents
	// Owner is the chain of the agent that has this Env; empty for the main agent. Its commands in the background are its
	// own to hear of.
	Owner string
	// More and Mail are the tools and the unread messages of a team's agent, by its Owner; nil: there is no team.
	More func(owner string) []agent.Tool
	Mail func(owner string) string
	// Isolated is the copy of the project that an isolated agent works in. Nil: it works in the project.
	Isolated *permission.Place
	// Secrets are the values of the user's credentials, which results do not show. Nil: nothing is masked.
	Secrets func() *event.Values
	// DeniedNames are the names that rules deny reading, wherever they lie. Nil: none.
	DeniedNames func() []string
	// Environ is the environment of child processes before lathe's own keys are removed. Nil: os.Environ.
	Environ func() []string
	// ChildEnv changes how the environment of child processes is cleaned.
	ChildEnv sandbox.Options
	// Profile has the start-up files of the shell for commands. Nil: they are not read.
	Profile *Profile
	// Shell is the shell for Bash. Empty: the user's, if it is bash or zsh, else the first that is found.
	Shell string

	tracked *indexFacts
	small   func(context.Context) (llm.Model, error)
	count   func(purpose string, m llm.ModelInfo, u llm.Usage)
}

// Limits bound the results of tools and how long they run. Zero values mean the defaults.
type Limits struct {
	ReadLines      int           // lines of one Read: 2,000
	LineChars      int           // characters of one line of Read: 2,000
	GlobResults    int           // paths of one Glob: 100
	GrepResults    int           // lines or paths of one Grep, unless head_limit says otherwise: 250
	BashTimeout    time.Duration // 120 s
	BashMaxTimeout time.Duration // 600 s
	BashOutput     int           // characters of output inline: 30,000
	SearchTime     time.Duration // of one Glob or Grep: 20 s
}

// NewEnv makes the Env of a session that works in dir.
func NewEnv(dir string) (*Env, error) {
	roots, err := files.NewRoots(dir)
	if err != nil {
		return nil, err
	}
	return &Env{
		Roots: roots, Dir: NewDir(roots.First()), Reads: NewReadTracker(), Cache: NewCache(), Todos: &Todos{},
		Deferred: &Deferral{}, Web: &web.Fetcher{},
		Runner: sandbox.New(), Background: NewBackground(), Shells: new(Shells), tracked: new(indexFacts),
	}, nil
}

// Clone makes the Env of a subagent: it starts with its parent's reads and cache, in the parent's
// working folder, and nothing it learns goes back. Roots, blobs and background commands are shared; the task
// list is its own.
func (e *Env) Clone() *Env {
	c := *e
	c.Dir, c.Reads, c.Cache, c.Todos = NewDir(e.Dir.Get()), e.Reads.Clone(), e.Cache.Clone(), &Todos{}
	c.Deferred, c.Shells, c.Plan, c.Invoke = &Deferral{}, new(Shells), nil, nil
	c.InContext = nil // that of the subagent's own conversation is the caller's to set
	return &c
}

// more are the tools of a team.
func (e *Env) more() []agent.Tool {
	if e.More == nil {
		return nil
	}
	return e.More(e.Owner)
}

// SaveBlob keeps data under a name made of name, and returns the path it can be read back from.
func (e *Env) SaveBlob(ctx context.Context, name string, data []byte) (string, error) {
	if e.Blob != nil {
		return e.Blob(ctx, name, data)
	}
	dir, err := os.MkdirTemp("", "lathe-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(name))
	return path, os.WriteFile(path, data, 0o600)
}

// Rel is path as people read it: relative to the working folder when it lies below it.
func (e *Env) Rel(path string) string {
	if rel, err := filepath.Rel(e.Dir.Get(), path); err == nil && rel != ".." && !strings.HasPrefix(rel,
		".."+string(filepath.Separator)) {
		return rel
	}
	return path
}

func (e *Env) resolve(path string) (files.Path, error) { return e.Roots.Resolve(path, e.Dir.Get()) }

// Dir is the working folder of a session. Safe for concurrent use.
type Dir struct {
	// Moved hears of each move; nil: nobody does. It is set before the first one.
	Moved func(before, now string)

	mu  sync.Mutex
	dir string
}

// NewDir makes a Dir that starts at dir.
func NewDir(dir string) *Dir { return &Dir{dir: dir} }

// Get returns the folder.
func (d *Dir) Get() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dir
}

// Set moves to dir, an absolute path.
func (d *Dir) Set(dir string) {
	d.mu.Lock()
	before := d.dir
	d.dir = dir
	d.mu.Unlock()
	if d.Moved != nil && before != dir {
		d.Moved(before, dir)
	}
}

// newTool makes a tool from its declaration. Its input may have the parameters of the schema only.
func newTool[In any](d call.Declaration, description string, prepare func(context.Context, llm.ToolCall,
	In) (*agent.Plan, error),
) agent.Tool {
	spec := llm.ToolSpec{
		Name: d.Name, Description: strings.TrimSpace(description), Schema: d.Schema, Closed: true,
		Unlisted: d.Deferred,
	}
	return agent.NewTool(spec, func(ctx context.Context, c llm.ToolCall, in In) (*agent.Plan, error) {
		plan, err := prepare(ctx, c, in)
		if err == nil {
			d.Classify(plan.Accesses)
		}
		return plan, err
	})
}

// place is this machine with the working folder. Paths that were resolved already are not resolved again.
func (e *Env) place(resolved ...files.Path) call.Place {
	return call.Place{World: e.Machine(), Dir: e.Dir.Get(), Resolve: func(name string) (string, permission.Node) {
		for _, p := range resolved {
			if p.Named == name {
				return p.Lexical, nodeAt(p)
			}
		}
		return e.look(name)
	}}
}

// look resolves a path as a call names it.
func (e *Env) look(name string) (named string, node permission.Node) {
	p, err := e.resolve(name)
	if err != nil {
		return name, permission.Node{Real: name, Kind: permission.Unknown}
	}
	return p.Lexical, nodeAt(p)
}

// nodeAt is the node at a resolved path.
func nodeAt(p files.Path) permission.Node {
	n := nodeOf(p.Real, p.Info, p.Err)
	if p.Info == nil && p.Err == nil {
		n.Kind = permission.Missing
	}
	return n
}

// Other spellings of the parameter that names a file or folder.
const (
	fileAliases   = "path filepath file filename absolute_path target_file"
	folderAliases = "dir dir_path directory folder cwd root target_directory"
)

// pathAccess is the access to the one path that an input names.
func pathAccess(kind permission.Kind, path string, at call.Place) ([]permission.Access, error) {
	if path == "" {
		return nil, errors.New(`the input names no path; give it as "file_path"`)
	}
	return []permission.Access{at.Access(kind, path)}, nil
}

// pathError explains an error of a path to the model.
func pathError(what string, p files.Path, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot %s %s: it does not exist; look for it with Glob", what, p.Lexical)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot %s %s: permission denied by the file system; ask the user for access, or use another file",
			what, p.Lexical)
	}
	return fmt.Errorf("cannot %s %s: %w", what, p.Lexical, err)
}
