package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Change is the new content of a file.
type Change struct {
	Path   string
	Before string // the text that the edits are for
	After  string
}

// Edits are the changes of a rename or a code action. Nothing is changed on disk.
type Edits struct {
	Server  string
	Title   string
	Changes []Change
}

// Rename asks for the changes that give the symbol at a place another name. All files lie in the query's root.
func (p *Pool) Rename(ctx context.Context, q Query) (Edits, error) {
	r, err := p.able(ctx, q.File, Rename)
	if err != nil {
		return Edits{}, err
	}
	params, err := r.at(q)
	if err != nil {
		return Edits{}, err
	}
	params["newName"] = q.Text
	var answer *workspaceEdit
	if err := r.call(ctx, "textDocument/rename", params, &answer); err != nil {
		return Edits{}, err
	}
	if answer == nil {
		return Edits{}, errors.New("the language server sees no name there that could be changed")
	}
	changes, err := r.apply(answer, q.File.Root)
	return Edits{Server: r.s.name(), Title: "rename to " + q.Text, Changes: changes}, err
}

// Action is a change that a server offers.
type Action struct {
	Title string
	Kind  string

	raw  json.RawMessage
	edit *workspaceEdit
	able string // why it cannot be applied; empty: it can
}

// Actions lists the changes that a server offers at a place.
func (p *Pool) Actions(ctx context.Context, q Query) ([]Action, error) {
	_, list, err := p.actions(ctx, q)
	return list, err
}

func (p *Pool) actions(ctx context.Context, q Query) (*run, []Action, error) {
	r, err := p.able(ctx, q.File, CodeActions)
	if err != nil {
		return nil, nil, err
	}
	params, err := r.at(q)
	if err != nil {
		return nil, nil, err
	}
	known, cancel := context.WithTimeout(ctx, ms(p.o.Settings().WaitMs)) // a server may have no diagnostics to send
	r.diagnose(known, []string{q.File.Path})
	cancel()
	at := params["position"].(Position)
	line := Range{Position{at.Line, 0}, Position{at.Line, units(r.textOf(q.File.Path).line(at.Line), r.enc)}}
	if q.Column > 0 {
		line = Range{at, at}
	}
	now, _ := r.current()
	diags := []wireDiagnostic{}
	for _, d := range now[q.File.Path] {
		if d.wire.Range.Start.Line <= at.Line && d.wire.Range.End.Line >= at.Line {
			diags = append(diags, d.wire)
		}
	}
	ask := func(at Range, of []wireDiagnostic) (raw []json.RawMessage, err error) {
		params := object{"textDocument": params["textDocument"], "range": at, "context": object{
			"diagnostics": of,
			"triggerKind": 1,
		}}
		return raw, r.call(ctx, "textDocument/codeAction", params, &raw)
	}
	raw, err := ask(line, diags)
	if err != nil {
		return nil, nil, err
	}
	out := readActions(raw)
	for _, d := range diags[:min(len(diags), maxFixed)] { // typescript-language-server mends what is exactly there
		if raw, err := ask(d.Range, []wireDiagnostic{d}); err == nil {
			out = append(out, readActions(raw)...)
		}
	}
	seen := map[string]bool{}
	return r, slices.DeleteFunc(out, func(a Action) bool {
		again := seen[a.Title+"\x00"+a.Kind]
		seen[a.Title+"\x00"+a.Kind] = true
		return again
	}), nil
}

// maxFixed is how many diagnostics of a line are asked about one by one.
const maxFixed = 5

// readActions reads what a server offers.
func readActions(raw []json.RawMessage) (out []Action) {
	for _, one := range raw[:min(len(raw), 200)] {
		var a struct {
			Title    string          `json:"title"`
			Kind     string          `json:"kind"`
			Edit     *workspaceEdit  `json:"edit"`
			Command  json.RawMessage `json:"command"`
			Data     json.RawMessage `json:"data"`
			Disabled *struct {
				Reason string `json:"reason"`
			} `json:"disabled"`
		}
		if json.Unmarshal(one, &a) != nil || a.Title == "" {
			continue
		}
		action := Action{Title: short(a.Title), Kind: a.Kind, raw: one, edit: a.Edit}
		if a.Edit == nil {
			action.edit = commandEdit(one, a.Command)
		}
		switch {
		case a.Disabled != nil:
			action.able = short(a.Disabled.Reason)
		case action.edit == nil && (len(a.Command) > 0 && a.Command[0] == '"' || len(a.Data) == 0):
			action.able = "it runs a command in the server"
		}
		out = append(out, action)
	}
	return out
}

// commandEdit is the edit in the arguments of a command that only applies it, as typescript-language-server and jdtls
// write their actions; nil for any other command. The command itself is never run.
func commandEdit(action, command json.RawMessage) *workspaceEdit {
	if len(command) > 0 && command[0] == '"' {
		command = action // it is a command itself
	}
	var c struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(command, &c) != nil || len(c.Arguments) == 0 ||
		!strings.HasSuffix(strings.ToLower(strings.ReplaceAll(c.Command, ".", "")), "applyworkspaceedit") {
		return nil
	}
	var e workspaceEdit
	if json.Unmarshal(c.Arguments[0], &e) != nil || len(e.Changes)+len(e.DocumentChanges) == 0 {
		return nil
	}
	return &e
}

// Applicable reports why an action cannot be applied, "" if it can.
func (a Action) Applicable() string { return a.able }

// Apply returns the changes of the action with a title.
func (p *Pool) Apply(ctx context.Context, q Query, title string) (Edits, error) {
	r, list, err := p.actions(ctx, q)
	if err != nil {
		return Edits{}, err
	}
	at := slices.IndexFunc(list, func(a Action) bool { return a.Title == title })
	if at < 0 {
		at = slices.IndexFunc(list, func(a Action) bool { return strings.EqualFold(a.Title, title) })
	}
	if at < 0 {
		var titles []string
		for _, a := range list {
			titles = append(titles, a.Title)
		}
		return Edits{}, fmt.Errorf("no action is called %q there; there are: %s", title, cmp.Or(strings.Join(titles, "; "),
			"none"))
	}
	a := list[at]
	if a.able != "" {
		return Edits{}, fmt.Errorf("the action %q cannot be applied: %s", a.Title, a.able)
	}
	if a.edit == nil {
		var resolved struct {
			Edit *workspaceEdit `json:"edit"`
		}
		if err := r.call(ctx, "codeAction/resolve", a.raw, &resolved); err != nil {
			return Edits{}, err
		}
		if a.edit = resolved.Edit; a.edit == nil {
			return Edits{}, fmt.Errorf("the action %q cannot be applied: it runs a command in the server", a.Title)
		}
	}
	changes, err := r.apply(a.edit, q.File.Root)
	return Edits{Server: r.s.name(), Title: a.Title, Changes: changes}, err
}

// Bounds of an edit.
const (
	maxChanged = 2000    // files
	maxGrowth  = 8 << 20 // bytes of new text
)

// apply computes the new contents. An edit outside of root, at a position outside of its text, of overlapping parts, of
// another version or that makes, moves or removes files is refused as a whole.
func (r *run) apply(e *workspaceEdit, root string) ([]Change, error) {
	byPath := map[string][]textEdit{}
	add := func(uri string, edits []textEdit) error {
		path := pathOf(uri)
		if path == "" || !within(path, root) {
			return fmt.Errorf("the language server wants to change %.200q, which is outside of %s; nothing was changed", uri,
				root)
		}
		byPath[path] = append(byPath[path], edits...)
		return nil
	}
	for _, c := range e.DocumentChanges {
		if c.Kind != "" {
			return nil, fmt.Errorf("the language server wants to %.20s a file (%.200s), which this tool does not do; nothing "+
				"was changed", c.Kind, cmp.Or(c.URI, c.OldURI))
		}
		if err := r.sameVersion(c); err != nil {
			return nil, err
		}
		if err := add(c.Document.URI, c.Edits); err != nil {
			return nil, err
		}
	}
	if len(e.DocumentChanges) == 0 {
		for uri, edits := range e.Changes {
			if err := add(uri, edits); err != nil {
				return nil, err
			}
		}
	}
	if len(byPath) > maxChanged {
		return nil, fmt.Errorf("the language server wants to change %d files at once; nothing was changed", len(byPath))
	}
	var out []Change
	for path, edits := range byPath {
		c, err := r.edited(path, edits)
		if err != nil {
			return nil, err
		}
		if c.Before != c.After {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// sameVersion refuses edits that are for another version than the one that the server was sent.
func (r *run) sameVersion(c documentChange) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.docs[pathOf(c.Document.URI)]
	if v := c.Document.Version; d != nil && v != nil && *v != 0 && *v != d.version {
		return fmt.Errorf("the language server answered for version %d of %s, which has version %d; nothing was changed, "+
			"try again", *v, pathOf(c.Document.URI), d.version)
	}
	return nil
}

// edited applies edits to the text of a file as it is on disk, which must be the text that the server knows.
func (r *run) edited(path string, edits []textEdit) (Change, error) {
	before, err := ReadText(path)
	if err != nil {
		return Change{}, fmt.Errorf("cannot change %s: %w", path, err)
	}
	if known := r.textOf(path); known != nil && known.s != before {
		return Change{}, fmt.Errorf("%s was changed meanwhile; nothing was changed, try again", path)
	}
	t := newText(before)
	type part struct {
		start, end int
		text       string
	}
	parts := make([]part, len(edits))
	grown := 0
	for i, e := range edits {
		start, ok := t.offset(e.Range.Start, r.enc)
		end, also := t.offset(e.Range.End, r.enc)
		if !ok || !also || end < start {
			return Change{}, fmt.Errorf("the language server named a place outside of %s (line %d); nothing was changed", path,
				e.Range.Start.Line+1)
		}
		parts[i] = part{start, end, e.NewText}
		if grown += len(e.NewText); grown > maxGrowth {
			return Change{}, fmt.Errorf("the language server wants to add more than %d MB to %s; nothing was changed",
				maxGrowth>>20, path)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	at := 0
	for _, p := range parts {
		if p.start < at {
			return Change{}, fmt.Errorf("the language server's edits of %s overlap; nothing was changed", path)
		}
		b.WriteString(before[at:p.start])
		b.WriteString(p.text)
		at = p.end
	}
	b.WriteString(before[at:])
	return Change{Path: path, Before: before, After: b.String()}, nil
}

// Lines returns the texts of places, in their order; each file is read once. Without a path there is no text.
func Lines(list []Place) []string {
	texts := map[string]*text{}
	out := make([]string, len(list))
	for i, p := range list {
		t, ok := texts[p.Path]
		if !ok {
			if s, err := ReadText(p.Path); err == nil {
				t = newText(s)
			}
			texts[p.Path] = t
		}
		if t != nil {
			out[i] = strings.TrimSpace(t.line(p.Line - 1))
		}
	}
	return out
}
