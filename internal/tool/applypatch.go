package tool

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/patch"
)

//go:embed applypatch.md
var patchDescription string

type patchInput struct {
	Patch   string `json:"patch"`
	Workdir string `json:"workdir,omitempty" jsonschema:"the folder that paths are relative to"`
}

var patchTool = call.Declaration{
	Name:    "ApplyPatch",
	Aliases: []string{"patch", "apply_diff", "delete_file", "Delete", "delete_path", "move_path", "insert_content"},
	Input:   schemaOf[patchInput](),
	Params:  map[string]string{"patch": "input diff patch_text patch_content content", "workdir": folderAliases},
	Subject: permission.SubjectEdit, Class: permission.ClassWrite, Deferred: true,
	Accesses: call.Typed(patchAccesses),
}

// in is a path of the patch as a call names it.
func (in *patchInput) in(path string) string {
	if in.Workdir == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return path
	}
	return filepath.Join(in.Workdir, path)
}

// patchAccesses writes the files that a patch names; without one it is unknown.
func patchAccesses(in patchInput, at call.Place) ([]permission.Access, error) {
	var out []permission.Access
	for _, path := range patch.Paths(in.Patch) {
		a := at.Access(permission.Write, in.in(path))
		if !slices.ContainsFunc(out, func(b permission.Access) bool { return a.Target == b.Target && a.Named == b.Named }) {
			out = append(out, a)
		}
	}
	return out, nil
}

func newApplyPatch(env *Files) agent.Tool {
	return newTool(patchTool, patchDescription, func(ctx context.Context, _ llm.ToolCall, in patchInput) (*agent.Plan,
		error,
	) {
		list, err := patch.Parse(in.Patch)
		if err != nil {
			return nil, err
		}
		p := &patching{env: env, in: in, by: map[string]*patched{}}
		if err := p.resolve(ctx, list); err != nil {
			p.close()
			return nil, fmt.Errorf("%w\nNo file was changed", err)
		}
		return p.plan()
	})
}

// patching is one call of ApplyPatch.
type patching struct {
	env   *Files
	in    patchInput
	by    map[string]*patched // by real path
	order []*patched          // as the patch names them first
	notes []string
}

// patched is one file of a patch: change has it as it was, after as the patch leaves it.
type patched struct {
	*change
	there   bool // it is there after the sections so far
	touched bool
	from    *patched // where its content came from, if it moved
	verb    string   // for the result
}

func (p *patching) close() {
	for _, f := range p.order {
		f.close()
	}
}

// file is the state of a file after the sections so far.
func (p *patching) file(name string) (*patched, error) {
	c, err := p.env.change("patch", p.in.in(name))
	if err != nil {
		return nil, err
	}
	if f, ok := p.by[c.path.Real]; ok {
		c.close()
		return f, nil
	}
	f := &patched{change: c, there: c.info != nil}
	c.after = c.before
	p.by[c.path.Real] = f
	p.order = append(p.order, f)
	return f, nil
}

// resolve computes the new content of every file.
func (p *patching) resolve(ctx context.Context, list []patch.File) error {
	for i := range list {
		f, err := p.file(list[i].Path)
		if err != nil {
			return err
		}
		switch list[i].Op {
		case patch.Add:
			err = p.add(f, &list[i])
		case patch.Delete:
			err = p.remove(ctx, f, &list[i])
		default:
			err = p.update(ctx, f, &list[i])
		}
		if err != nil {
			return err
		}
	}
	return p.finish()
}

// finish makes the diffs, and refuses a patch that changes nothing.
func (p *patching) finish() error {
	p.order = slices.DeleteFunc(p.order, func(f *patched) bool {
		idle := !f.touched || !f.there && f.info == nil
		if idle {
			f.close()
		}
		return idle
	})
	changed := false
	for _, f := range p.order {
		f.compare()
		changed = changed || f.there != (f.info != nil) || string(f.before) != string(f.after) || f.target.Mode != 0
	}
	if !changed {
		return errors.New("the patch changes nothing: its added lines are the removed ones")
	}
	return nil
}

// compare makes the diff of a file. That of one that moved is against its old content.
func (f *patched) compare() {
	before, after := f.before, f.after
	if f.from != nil && f.info == nil {
		before = f.from.before
	}
	switch {
	case f.moved():
		f.diff = event.Diff{Path: f.path.Lexical}
	case files.Binary(before[:min(len(before), 8192)]):
		f.diff = event.Diff{Path: f.path.Lexical, Unified: "(not text)"}
	case len(before)+len(after) > diffMax:
		f.diff = event.Diff{
			Path: f.path.Lexical, Unified: tooLarge, Added: bytes.Count(after, []byte("\n")),
			Removed: bytes.Count(before, []byte("\n")),
		}
	default:
		f.diff, f.hunks = diffTexts(f.path.Lexical, files.Decode(before).View, files.Decode(after).View)
	}
	f.diff.Created = f.info == nil && f.from == nil
}

// moved reports whether the file is gone since its content is at another path.
func (f *patched) moved() bool { return !f.there && f.verb == "" }

func (p *patching) add(f *patched, from *patch.File) error {
	if f.info != nil && f.there && !f.touched {
		if err := p.env.knows(f.change, true); err != nil {
			return fmt.Errorf("%w. To change a part of it use \"*** Update File: %s\"", err, from.Path)
		}
	}
	f.verb, f.there, f.touched = "A", true, true
	f.after, f.whole = []byte(from.Content), &from.Content
	if f.info != nil {
		f.verb = "M"
		f.after = files.Decode(f.before).Rewrite(from.Content)
	}
	f.executable(from.Exec)
	return nil
}

// executable sets or clears the bits that let a file run.
func (f *patched) executable(exec *bool) {
	if exec == nil {
		return
	}
	mode := f.target.Mode
	if mode == 0 && f.info != nil {
		mode = f.info.Mode().Perm()
	}
	if mode == 0 {
		mode = 0o644
	}
	f.target.Mode = mode &^ 0o111
	if *exec {
		f.target.Mode = mode | mode>>2&0o111
	}
}

func (p *patching) remove(ctx context.Context, f *patched, from *patch.File) error {
	if !f.there {
		return missingError(ctx, p.env, "delete", f.path)
	}
	if err := p.current(f); err != nil {
		return err
	}
	if len(from.Hunks) > 0 {
		if _, err := patch.Apply(files.Decode(f.after).View, from.Hunks); err != nil {
			return fmt.Errorf("cannot delete %s, as it is not as the patch has it: %w", f.path.Lexical, err)
		}
	}
	f.there, f.touched, f.after, f.verb = false, true, nil, "D"
	return nil
}

// current refuses a file that changed since the model saw it.
func (p *patching) current(f *patched) error {
	if _, seen := p.env.Reads.Get(f.path.Real); !seen || f.info == nil || f.touched {
		return nil
	}
	return p.env.knows(f.change, false)
}

func (p *patching) update(ctx context.Context, f *patched, from *patch.File) error {
	if !f.there {
		return missingError(ctx, p.env, "update", f.path)
	}
	if err := p.current(f); err != nil {
		return err
	}
	if err := p.apply(f, from); err != nil {
		return err
	}
	f.touched = true
	f.executable(from.Exec)
	if f.verb == "" {
		f.verb = "M"
	}
	if from.To == "" {
		return nil
	}
	return p.move(f, from)
}

// apply changes the content of a file. A file that was never read may be changed where the lines of the patch prove
// that its content is known.
func (p *patching) apply(f *patched, from *patch.File) error {
	if len(from.Hunks) == 0 {
		return nil
	}
	if files.Binary(f.after[:min(len(f.after), 8192)]) {
		return fmt.Errorf("cannot patch %s: it is not text. Change it with a program in Bash", f.path.Lexical)
	}
	text := files.Decode(f.after)
	r, err := patch.Apply(text.View, from.Hunks)
	if err != nil {
		return fmt.Errorf("cannot patch %s: %w", f.path.Lexical, err)
	}
	if r.Vague && f.info != nil && !f.touched {
		if err := p.env.knows(f.change, false); err != nil {
			return err
		}
	}
	regions := make([]files.Region, len(r.Edits))
	for i, e := range r.Edits {
		regions[i] = files.Region{Start: e.Start, End: e.End}
	}
	f.after, err = text.ReplaceEach(regions, func(i int) string { return r.Edits[i].New })
	if err != nil {
		return fmt.Errorf("cannot patch %s: %w", f.path.Lexical, err)
	}
	for _, n := range r.Notes {
		p.notes = append(p.notes, from.Path+": "+n)
	}
	return nil
}

// move gives the content of a file to another path, with its mode.
func (p *patching) move(f *patched, from *patch.File) error {
	to, err := p.file(from.To)
	if err != nil {
		return err
	}
	if to == f {
		return nil
	}
	if to.there && !to.touched {
		if err := p.env.knows(to.change, true); err != nil {
			return fmt.Errorf("cannot move %s to %s: %w", f.path.Lexical, to.path.Lexical, err)
		}
	}
	to.after, to.there, to.touched, to.from, to.verb = f.after, true, true, f, "M"
	if to.target.Mode = f.target.Mode; to.target.Mode == 0 && f.info != nil {
		to.target.Mode = f.info.Mode().Perm()
	}
	f.after, f.there, f.verb = nil, false, ""
	return nil
}

func (p *patching) plan() (*agent.Plan, error) {
	resolved := make([]files.Path, 0, len(p.order))
	for _, f := range p.order {
		resolved = append(resolved, f.path)
	}
	accesses, err := patchAccesses(p.in, p.env.place(resolved...))
	for i := 0; i < len(p.order) && err == nil; i++ {
		err = p.order[i].keepsSecrets()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return &agent.Plan{Accesses: accesses, Title: p.title(), Preview: p.view(), Run: p.run, Close: p.close}, nil
}

func (p *patching) title() string {
	var names []string
	for _, f := range p.order {
		names = append(names, p.env.Rel(f.path.Lexical))
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:2], ", "), len(names)-2)
	}
	return strings.Join(names, ", ")
}

func (p *patching) view() event.Diff {
	var list []event.Diff
	for _, f := range p.order {
		if !f.moved() {
			list = append(list, f.diff)
		}
	}
	return event.JoinDiffs(list)
}

func (p *patching) run(ctx context.Context) (*agent.Result, error) {
	var list []transact.Change
	written := p.written()
	for _, f := range written {
		if err := f.settle(); err != nil {
			return nil, fmt.Errorf("%w\nNo file was changed", err)
		}
		list = append(list, transact.Change{
			Target: f.target, Info: f.info, Before: f.before, After: f.after,
			Remove: !f.there, Mode: f.target.Mode,
		})
	}
	done, err := transact.Apply(ctx, p.env.Journals, list)
	if err != nil {
		return nil, fmt.Errorf("the patch was not applied: %w. Read the files again before the next try", err)
	}
	id := agent.CallID(ctx)
	for i, f := range written {
		p.env.Cache.InvalidateFile(f.path.Real)
		if !f.there {
			p.env.Reads.Forget(f.path.Real)
			continue
		}
		f.learn(p.env.Reads, id, done[i])
		f.note(id, done[i].Info)
	}
	return p.result(), nil
}

// learn has a file that moved be known as far as it was at its old path.
func (f *patched) learn(reads *ReadTracker, id string, done files.Replaced) {
	if f.from == nil {
		return
	}
	if seen, ok := reads.Get(f.from.path.Real); ok && seen.Whole() {
		reads.Wrote(f.path.Real, id, done.Info, f.after)
	}
}

// written are the files in the order in which they are written: what goes is last, so that no content is on the way
// only.
func (p *patching) written() []*patched {
	out := slices.Clone(p.order)
	slices.SortStableFunc(out, func(a, b *patched) int {
		switch {
		case a.there == b.there:
			return 0
		case a.there:
			return -1
		}
		return 1
	})
	return out
}

func (p *patching) result() *agent.Result {
	var b strings.Builder
	b.WriteString("Success. Updated the following files:")
	changes := []map[string]any{}
	for _, f := range p.order {
		one := map[string]any{"filePath": f.path.Lexical, "added": f.diff.Added, "removed": f.diff.Removed}
		switch name := p.env.Rel(f.path.Lexical); {
		case f.moved(): // the new path says so
			one["type"] = "delete"
		case f.from != nil:
			fmt.Fprintf(&b, "\nR %s -> %s", p.env.Rel(f.from.path.Lexical), name)
			one["type"], one["from"] = "move", f.from.path.Lexical
		default:
			fmt.Fprintf(&b, "\n%s %s", f.verb, name)
			one["type"] = map[string]string{"A": "add", "D": "delete", "M": "update"}[f.verb]
		}
		changes = append(changes, one)
	}
	for _, n := range p.notes {
		b.WriteString("\nNote: " + n + ".")
	}
	r := agent.TextResult(b.String())
	r.Title, r.View = p.title(), p.view()
	r.Meta = map[string]any{"files": changes}
	return r
}
