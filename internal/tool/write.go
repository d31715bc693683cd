package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed write.md
var writeDescription string

// createdMax is the largest new content that is shown as a diff, whose every line is one that was written.
const createdMax = 1 << 20

// writeMax is the largest file that Write and Edit hold in memory.
const writeMax = 64 << 20

type writeInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

type writer struct{ env *Files }

var writeTool = call.Declaration{
	Name:    "Write",
	Aliases: []string{"write_file", "write_to_file", "create_file", "create", "save_file", "create_new_file"},
	Input:   schemaOf[writeInput](),
	Params:  map[string]string{"file_path": fileAliases, "content": "contents text file_text file_content data code_content"},
	Ignored: "line_count empty_file overwrite mode=overwrite mode=w",
	Subject: permission.SubjectEdit, SubjectIn: []string{"file_path"}, Class: permission.ClassWrite,
	Accesses: call.Typed(writeAccesses),
}

func writeAccesses(in writeInput, at call.Place) ([]permission.Access, error) {
	return pathAccess(permission.Write, in.FilePath, at)
}

func newWrite(env *Files) agent.Tool {
	return newTool(writeTool, writeDescription, (&writer{env}).prepare)
}

func (t *writer) prepare(ctx context.Context, _ llm.ToolCall, in writeInput) (*agent.Plan, error) {
	c, err := t.env.change("write", in.FilePath)
	if err != nil {
		return nil, err
	}
	c.fromEditor(ctx)
	c.whole = &in.Content
	if err := t.fill(c, in.Content); err != nil {
		c.close()
		return nil, err
	}
	return c.plan(in.FilePath, c.write)
}

// fill computes the new content and how it is shown.
func (t *writer) fill(c *change, content string) error {
	if c.info == nil {
		c.after = []byte(content)
		if len(content) > createdMax {
			c.diff = event.Diff{Path: c.path.Lexical, Unified: tooLarge, Added: strings.Count(content, "\n")}
		} else {
			c.diff, c.hunks = diffTexts(c.path.Lexical, "", content)
		}
		c.diff.Created = true
		return nil
	}
	if err := t.env.knows(c, true); err != nil {
		return err
	}
	text := files.Decode(c.before)
	c.after = text.Rewrite(content)
	if len(c.before)+len(c.after) <= diffMax {
		c.diff, c.hunks = diffTexts(c.path.Lexical, text.View, files.Decode(c.after).View)
		return nil
	}
	c.diff = event.Diff{
		Path: c.path.Lexical, Unified: "(too large for a diff)",
		Added: strings.Count(content, "\n"), Removed: strings.Count(text.View, "\n"),
	}
	return nil
}

// change is one file about to be changed, held open from Prepare to Run.
type change struct {
	env    *Files
	path   files.Path
	target *files.Target
	info   fs.FileInfo // of the file as Prepare saw it; nil when it does not exist
	before []byte
	disk   []byte // the content on disk where the editor has another, which is in before; else nil
	after  []byte
	whole  *string // the content as the model gave it, where it gave all of it
	diff   event.Diff
	hunks  []event.Hunk
}

// change reads the file to be changed and holds its folder open. The caller closes it.
func (e *Files) change(what, path string) (*change, error) {
	p, err := e.resolve(path)
	if err != nil {
		return nil, err
	}
	if p.Err != nil {
		return nil, pathError(what, p, p.Err)
	}
	if p.Info != nil {
		if err := files.Regular(p.Info); err != nil {
			return nil, pathError(what, p, err)
		}
	}
	target, err := e.Roots.Hold(p)
	if err != nil {
		return nil, pathError(what, p, err)
	}
	c := &change{env: e, path: p, target: target}
	if p.Info != nil {
		if c.before, c.info, err = target.Read(writeMax); err != nil {
			c.close()
			return nil, pathError(what, p, err)
		}
	}
	return c, nil
}

func (c *change) close() { _ = c.target.Close() }

func (c *change) plan(path string, run func(context.Context) (*agent.Result, error)) (*agent.Plan, error) {
	accesses, err := pathAccess(permission.Write, path, c.env.place(c.path))
	if err == nil {
		err = c.keepsSecrets()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return &agent.Plan{
		Accesses: accesses,
		Title:    c.env.Rel(c.path.Lexical),
		Preview:  c.diff,
		Run:      run,
		Close:    c.close,
	}, nil
}

// knows checks that the model has seen the file as it is: all of it, if it is to be replaced whole.
func (e *Files) knows(c *change, whole bool) error {
	seen, ok := e.Reads.Get(c.path.Real)
	if !ok {
		return fmt.Errorf("File has not been read yet: %s. Read it first before writing to it",
			c.path.Lexical)
	}
	if seen.Hashed() && seen.Hash != HashOf(c.before) || !seen.Hashed() && !seen.Same(c.info) {
		return fmt.Errorf("File has been modified since it was read, by the user or a program: %s. Read it again before "+
			"writing to it", c.path.Lexical)
	}
	if whole && !seen.Whole() {
		return fmt.Errorf("only a part of %s has been read, and Write would replace all of it. Read the whole file first, "+
			"or use Edit", c.path.Lexical)
	}
	return nil
}

// settle checks that the file still is as Prepare saw it.
func (c *change) settle() error {
	now, err := c.target.Stat()
	if err != nil {
		return pathError("write", c.path, err)
	}
	if files.Unchanged(c.info, now) {
		return nil
	}
	if c.info == nil {
		return fmt.Errorf("%s was made by something else meanwhile. Read it, then try again", c.path.Lexical)
	}
	if now == nil {
		return fmt.Errorf("%s was removed by something else meanwhile. Look at the folder, then try again", c.path.Lexical)
	}
	data, info, err := c.target.Read(writeMax)
	if err != nil {
		return pathError("write", c.path, err)
	}
	was := c.before
	if c.disk != nil {
		was = c.disk
	}
	if HashOf(data) != HashOf(was) {
		return fmt.Errorf("cannot write %s: %w. Read it again, then try again", c.path.Lexical, files.ErrChanged)
	}
	c.info = info // touched, but the same content
	return nil
}

// apply puts the new content in place and updates the tracker and the cache. notes are for the model.
func (c *change) apply(ctx context.Context) (notes string, err error) {
	if notes, saved, err := c.saveInEditor(ctx); saved || err != nil {
		return notes, err
	}
	done, err := c.target.Replace(c.after, c.info)
	if errors.Is(err, files.ErrChanged) {
		return "", fmt.Errorf("cannot write %s: %w. Read it again, then try again", c.path.Lexical, err)
	}
	if err != nil {
		return "", pathError("write", c.path, err)
	}
	c.note(agent.CallID(ctx), done.Info)
	c.env.Cache.InvalidateFile(c.path.Real)
	if done.Links > 0 {
		notes += fmt.Sprintf(" It had %d more hard links, which keep the old content.", done.Links)
	}
	if done.InPlace {
		notes += " It was written in place, as its folder does not let it be replaced."
	}
	if c.path.Linked() {
		notes += fmt.Sprintf(" (The file is %s; the path goes through a link.)", c.path.Real)
	}
	return notes, nil
}

// note records the new content in the tracker.
func (c *change) note(callID string, info fs.FileInfo) {
	reads := c.env.Reads
	if c.whole == nil {
		reads.Edited(c.path.Real, callID, info, c.after)
		return
	}
	reads.Wrote(c.path.Real, callID, info, c.after)
}

func (c *change) write(ctx context.Context) (*agent.Result, error) {
	if err := c.settle(); err != nil {
		return nil, err
	}
	notes, err := c.apply(ctx)
	if err != nil {
		return nil, err
	}
	kind := "create"
	if !c.diff.Created {
		kind = "update"
	}
	r := agent.TextResult(c.done(fmt.Sprintf(": +%d -%d lines", c.diff.Added, c.diff.Removed)) + notes)
	r.Title, r.View = c.env.Rel(c.path.Lexical), c.diff
	r.Meta = map[string]any{
		"type": kind, "filePath": c.path.Lexical, "content": c.written(),
		"structuredPatch": c.patch(), "originalFile": c.original(),
	}
	r.Unstored = []string{"originalFile"}
	return r, nil
}

// done says what was changed. The model knows the text, from its own call.
func (c *change) done(what string) string {
	if c.diff.Created {
		return "File created: " + c.path.Lexical + "."
	}
	return "The file " + c.path.Lexical + " has been updated" + what + ". No need to read it back."
}

// patch is never nil, as readers of the structured output expect a list.
func (c *change) patch() []event.Hunk {
	if c.hunks == nil {
		return []event.Hunk{}
	}
	return c.hunks
}

// originalMax is how large an old content may be to be part of the structured output.
const originalMax = 256 << 10

// written is the content as it is now, or nil for a large one: the input of the call has it.
func (c *change) written() any {
	if len(c.after) > createdMax {
		return nil
	}
	return files.Decode(c.after).View
}

// original is the content before, or nil for a new file and for a large one.
func (c *change) original() any {
	if c.info == nil || len(c.before) > originalMax {
		return nil
	}
	return files.Decode(c.before).View
}
