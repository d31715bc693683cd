// Package tool is every built-in tool, one file each with its description beside it; all.go lists them.
//
// A tool is an [agent.Tool]: Prepare looks and holds open what the call would touch, Run acts on exactly
// that. The tools of one session share one [Env]: the roots, the working folder, the [Guard] that
// remembers which files the model has seen, the explore [Cache] and the task list. There are no globals:
// two sessions in one process share nothing.
//
// The words: canonical is the one spelling of a tool or parameter name; an alias is another that models
// use ([Canonical]). A result's Parts are for the model, its View for people, its Meta for machines, in
// the shape Claude Code gives them.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/files"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/sandbox"
)

// Env is what the tools of one session share.
type Env struct {
	Roots  *files.Roots // where the session works: its own folder, added ones, read-only ones
	Dir    *Dir         // the working folder, which Bash moves
	Guard  *Guard       // which files the model has seen, and in what state
	Cache  *Cache       // results of Read, Glob and Grep
	Todos  *Todos       // the task list
	Limits Limits

	Runner *sandbox.Runner // starts the children of Bash and Grep; NewEnv makes one
	// Background has the commands that run beside the conversation. Close it before Blob's keeper.
	Background *Background

	// Blob keeps data with the session and returns the path to read it back from. Nil: a temporary folder.
	Blob func(ctx context.Context, name string, data []byte) (string, error)
	// NewBlob is Blob for data of unknown size. Nil: a temporary file.
	NewBlob func(ctx context.Context, name string) (BlobWriter, error)
	// InContext tells whether the result of an earlier call is still in the conversation as the model
	// will see it. Nil: never, so that nothing is answered with "you have seen this".
	InContext func(callID string) bool
	// MayRead is what would be decided on reading one file by itself. A search over a folder leaves out what it
	// does not allow. Nil: everything may be read.
	MayRead func(path string) permission.Effect
	// Environ is the environment of child processes before lathe's own keys are removed. Nil: os.Environ.
	Environ func() []string
	// ChildEnv changes how the environment of child processes is cleaned.
	ChildEnv sandbox.Options
	// Shell is the shell for Bash. Empty: the user's, if it is bash or zsh, else the first that is found.
	Shell string
}

// Limits bound what tools return and how long they run. Zero values mean the defaults.
type Limits struct {
	ReadLines      int           // lines of one Read: 2,000
	LineChars      int           // characters of one line of Read: 2,000
	GlobResults    int           // paths of one Glob: 100
	GrepResults    int           // lines or paths of one Grep, unless head_limit says otherwise: 250
	BashTimeout    time.Duration // 120 s
	BashMaxTimeout time.Duration // 600 s
	BashOutput     int           // characters of output inline: 30,000
}

// NewEnv makes the Env of a session that works in dir.
func NewEnv(dir string) (*Env, error) {
	roots, err := files.NewRoots(dir)
	if err != nil {
		return nil, err
	}
	return &Env{
		Roots: roots, Dir: NewDir(roots.First()), Guard: NewGuard(), Cache: NewCache(), Todos: &Todos{},
		Runner: sandbox.New(), Background: NewBackground(),
	}, nil
}

// Clone makes the Env of a subagent: it starts with what its parent has seen and cached, in the parent's
// working folder, and nothing it learns goes back. Roots, blobs and background commands are shared; the task
// list is its own.
func (e *Env) Clone() *Env {
	c := *e
	c.Dir, c.Guard, c.Cache, c.Todos = NewDir(e.Dir.Get()), e.Guard.Clone(), e.Cache.Clone(), &Todos{}
	return &c
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
	if rel, err := filepath.Rel(e.Dir.Get(), path); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return rel
	}
	return path
}

func (e *Env) resolve(path string) (files.Path, error) { return e.Roots.Resolve(path, e.Dir.Get()) }

// Dir is the working folder of a session. Safe for concurrent use.
type Dir struct {
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
	defer d.mu.Unlock()
	d.dir = dir
}

// prepared is a tool whose Prepare gets the call's id and its input decoded into In.
type prepared[In any] struct {
	spec    llm.ToolSpec
	prepare func(ctx context.Context, callID string, in In) (*agent.Plan, error)
}

func newTool[In any](name, description, schema string, prepare func(context.Context, string, In) (*agent.Plan, error)) agent.Tool {
	spec := llm.ToolSpec{Name: name, Description: strings.TrimSpace(description), Schema: json.RawMessage(schema)}
	return &prepared[In]{spec, prepare}
}

func (t *prepared[In]) Spec() llm.ToolSpec { return t.spec }

func (t *prepared[In]) Prepare(ctx context.Context, call llm.ToolCall) (*agent.Plan, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return nil, fmt.Errorf("the input does not fit %s: %w", t.spec.Name, err)
	}
	return t.prepare(ctx, call.ID, in)
}

// access is the permission to ask for to touch p.
func access(kind permission.Kind, p files.Path) permission.Access {
	n := nodeOf(p.Real, p.Info, p.Err)
	if p.Info == nil && p.Err == nil {
		n.Kind = permission.Missing
	}
	a := permission.Access{Kind: kind, Target: p.Real, Node: n.Kind, Links: n.Links}
	if p.Linked() {
		a.Named = p.Lexical
	}
	return a
}

// pathError says what is wrong with a path in words for the model.
func pathError(what string, p files.Path, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot %s %s: it does not exist", what, p.Lexical)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot %s %s: permission denied by the file system", what, p.Lexical)
	}
	return fmt.Errorf("cannot %s %s: %w", what, p.Lexical, err)
}
