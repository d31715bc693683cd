// Package tool is every built-in tool, one file each with its description beside it; all.go lists them. A tool's
// [call.Declaration] stands in the same file: names, parameters, the subject of rules on it, and
// the accesses of a call. [Catalogue] holds them all.
//
// A tool is an [agent.Tool]: Prepare resolves the files of the call and holds them open, Run acts on exactly
// those. The tools of one session share one [Env], by concern: [Files] has the roots, the working folder, the
// [ReadTracker] that remembers which files the model has seen, and the explore [Cache]; [Commands] is what Bash
// needs beside them, [Programs] starts programs, [Results] keeps what is too long. Each tool gets the parts that it
// uses. There are no globals: two sessions in one process share nothing.
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
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

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
		Name: d.Name, Description: strings.TrimSpace(description), Schema: d.InputSchema(), Closed: true,
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
func (e *Files) place(resolved ...files.Path) call.Place {
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
func (e *Files) look(name string) (named string, node permission.Node) {
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
