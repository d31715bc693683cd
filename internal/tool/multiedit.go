package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed multiedit.md
var multiEditDescription string

const multiEditSchema = `{"type":"object","properties":{` +
	`"file_path":{"type":"string"},` +
	`"edits":{"type":"array","items":{"type":"object","properties":{` +
	`"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},` +
	`"required":["old_string","new_string"]}}},` +
	`"required":["file_path","edits"]}`

type multiEditInput struct {
	FilePath string      `json:"file_path"`
	Edits    []editInput `json:"edits"`
}

var multiEditTool = call.Declaration{
	Name:    "MultiEdit",
	Aliases: []string{"multi_edit_file", "StrReplaceFile", "multi_replace_file_content", "multi_replace_string_in_file"},
	Schema:  json.RawMessage(multiEditSchema),
	Params:  map[string]string{"file_path": fileAliases, "edits": "changes replacements replacement_chunks edit"},
	Ignored: "description display_description mode=edit",
	Mend:    mendEdits,
	Subject: permission.SubjectEdit, SubjectIn: []string{"file_path"}, Class: permission.ClassWrite, Deferred: true,
	Accesses: call.Typed(func(in multiEditInput, at call.Place) ([]permission.Access, error) {
		return pathAccess(permission.Write, in.FilePath, at)
	}),
}

func newMultiEdit(env *Files) agent.Tool {
	return newTool(multiEditTool, multiEditDescription, func(ctx context.Context, _ llm.ToolCall, in multiEditInput) (
		*agent.Plan, error,
	) {
		if len(in.Edits) == 0 {
			return nil, errors.New(`"edits" is empty; give at least one edit with old_string and new_string`)
		}
		c, err := env.change("edit", in.FilePath)
		if err != nil {
			return nil, err
		}
		c.fromEditor(ctx)
		m := &multiEdit{edit: &edit{change: c}, list: in.Edits}
		if err := m.all(ctx); err != nil {
			c.close()
			return nil, err
		}
		return c.plan(in.FilePath, m.run)
	})
}

// multiEdit is one call of MultiEdit.
type multiEdit struct {
	*edit
	list  []editInput
	count int // of replacements
	notes string
}

// all computes the content after all edits.
func (m *multiEdit) all(ctx context.Context) error {
	list, data := m.list, m.before
	if m.info == nil {
		if list[0].OldString != "" {
			return missingError(ctx, m.env, "edit", m.path)
		}
		data, list = []byte(list[0].NewString), list[1:]
	} else if err := m.env.knows(m.change, false); err != nil {
		return err
	}
	for i, in := range list {
		c := *m.change
		c.before = data
		one := &edit{change: &c, in: in}
		err := one.check()
		if err == nil {
			err = one.compute(files.Decode(data))
		}
		if err != nil {
			after := ""
			if i > 0 {
				after = " after the edits before it"
			}
			return fmt.Errorf("edit %d of %d%s: %w. No edit was made", len(m.list)-len(list)+i+1, len(m.list), after, err)
		}
		data = one.after
		m.count += len(one.regions)
		m.notes += one.note
	}
	m.after = data
	m.diff, m.hunks = diffTexts(m.path.Lexical, files.Decode(m.before).View, files.Decode(data).View)
	m.diff.Created = m.info == nil
	return nil
}

func (m *multiEdit) run(ctx context.Context) (*agent.Result, error) {
	if err := m.settle(); err != nil {
		return nil, err
	}
	notes, err := m.apply(ctx)
	if err != nil {
		return nil, err
	}
	text := m.done(fmt.Sprintf(": %d edits, %d replacements, +%d -%d lines", len(m.list), m.count, m.diff.Added,
		m.diff.Removed))
	r := agent.TextResult(text + notes + m.notes)
	r.Title, r.View = m.env.Rel(m.path.Lexical), m.diff
	r.Meta = map[string]any{
		"filePath": m.path.Lexical, "edits": m.list, "originalFile": m.original(), "structuredPatch": m.patch(),
		"userModified": false,
	}
	r.Unstored = []string{"originalFile"}
	return r, nil
}
