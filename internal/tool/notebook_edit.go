package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/notebook"
)

//go:embed notebook_edit.md
var notebookDescription string

type notebookInput struct {
	Path   string  `json:"notebook_path"`
	Cell   string  `json:"cell_id,omitempty"`
	Source *string `json:"new_source,omitempty"`
	Type   string  `json:"cell_type,omitempty" limits:"enum=code|markdown"`
	Mode   string  `json:"edit_mode,omitempty" jsonschema:"Default: replace" limits:"enum=replace|insert|delete"`
}

var notebookTool = call.Declaration{
	Name: "NotebookEdit", Aliases: []string{"edit_notebook", "notebook_edit_cell"},
	Input: schemaOf[notebookInput](),
	Params: map[string]string{
		"notebook_path": fileAliases + " file_path", "cell_id": "cell", "new_source": "source content new_string",
		"cell_type": "type", "edit_mode": "mode",
	},
	Subject: permission.SubjectEdit, SubjectIn: []string{"notebook_path"}, Class: permission.ClassWrite, Deferred: true,
	Accesses: call.Typed(notebookAccesses),
}

func notebookAccesses(in notebookInput, at call.Place) ([]permission.Access, error) {
	return pathAccess(permission.Write, in.Path, at)
}

func newNotebookEdit(env *Files) agent.Tool {
	return newTool(notebookTool, notebookDescription, func(ctx context.Context, _ llm.ToolCall, in notebookInput) (
		*agent.Plan, error,
	) {
		if in.Mode == "" {
			in.Mode = "replace"
		}
		if in.Source == nil && in.Mode != "delete" {
			return nil, errors.New("new_source is missing: give the whole source of the cell, or edit_mode delete to remove it")
		}
		if !strings.EqualFold(filepath.Ext(in.Path), ".ipynb") {
			return nil, fmt.Errorf("%s is no notebook (.ipynb); use Edit", in.Path)
		}
		c, err := env.change("edit", in.Path)
		if err != nil {
			return nil, err
		}
		e := &cellEdit{change: c, in: in}
		if err := e.compute(ctx); err != nil {
			c.close()
			return nil, err
		}
		return c.plan(in.Path, e.run)
	})
}

// cellEdit is one call of NotebookEdit.
type cellEdit struct {
	*change
	in notebookInput
	at int // index of the cell
}

// compute makes the new content.
func (e *cellEdit) compute(ctx context.Context) error {
	if e.info == nil {
		return missingError(ctx, e.env, "edit", e.path)
	}
	if err := e.env.knows(e.change, false); err != nil {
		return err
	}
	change := notebook.Change{Mode: e.in.Mode, Cell: e.in.Cell, Type: e.in.Type}
	if e.in.Source != nil {
		change.Source = *e.in.Source
	}
	var err error
	if e.after, e.at, err = notebook.Edit(e.before, change); err != nil {
		return fmt.Errorf("cannot edit %s: %w", e.path.Lexical, err)
	}
	if len(e.before)+len(e.after) <= diffMax {
		e.diff, e.hunks = diffTexts(e.path.Lexical, files.Decode(e.before).View, files.Decode(e.after).View)
		return nil
	}
	e.diff.Path, e.diff.Unified = e.path.Lexical, "(too large for a diff)"
	return nil
}

// run writes the notebook. One that an earlier call of the same reply changed is changed in its new content.
func (e *cellEdit) run(ctx context.Context) (*agent.Result, error) {
	if err := e.settle(); errors.Is(err, files.ErrChanged) {
		data, info, readErr := e.target.Read(writeMax)
		if seen, ok := e.env.Reads.Get(e.path.Real); readErr != nil || !ok || !seen.Written || seen.Hash != HashOf(data) {
			return nil, err
		}
		e.before, e.info = data, info
		if err := e.compute(ctx); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	notes, err := e.apply(ctx)
	if err != nil {
		return nil, err
	}
	done := map[string]string{
		"replace": "Replaced cell %d.", "insert": "Inserted as cell %d.",
		"delete": "Deleted cell %d.",
	}[e.in.Mode]
	r := agent.TextResult(fmt.Sprintf(done, e.at+1) + notes)
	r.Title, r.View = e.env.Rel(e.path.Lexical), e.diff
	r.Meta = map[string]any{
		"notebook_path": e.path.Lexical, "cell_id": e.in.Cell, "cell_type": e.in.Type, "edit_mode": e.in.Mode,
		"new_source": e.in.Source, "structuredPatch": e.patch(),
	}
	return r, nil
}
