package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// Operation is a question to a language server.
type Operation string

// The operations.
const (
	GoToDefinition  Operation = "definition"
	TypeDefinition  Operation = "typeDefinition"
	Implementation  Operation = "implementation"
	References      Operation = "references"
	Hover           Operation = "hover"
	DocumentSymbol  Operation = "documentSymbol"
	WorkspaceSymbol Operation = "workspaceSymbol"
	IncomingCalls   Operation = "incomingCalls"
	OutgoingCalls   Operation = "outgoingCalls"
	Supertypes      Operation = "supertypes"
	Subtypes        Operation = "subtypes"
	Diagnostics     Operation = "diagnostics"
	CodeActions     Operation = "codeActions"
	Rename          Operation = "rename"
)

// Operations are all of them.
var Operations = [...]Operation{
	GoToDefinition, TypeDefinition, Implementation, References, Hover, DocumentSymbol, WorkspaceSymbol, IncomingCalls,
	OutgoingCalls, Supertypes, Subtypes, Diagnostics, CodeActions, Rename,
}

// ParseOperation accepts the names and Claude Code's.
func ParseOperation(name string) (Operation, error) {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	for _, o := range Operations {
		if strings.ToLower(string(o)) == plain {
			return o, nil
		}
	}
	other := map[string]Operation{
		"gotodefinition": GoToDefinition, "gototypedefinition": TypeDefinition, "gotoimplementation": Implementation,
		"findreferences": References, "documentsymbols": DocumentSymbol,
		"workspacesymbols": WorkspaceSymbol, "symbols": DocumentSymbol, "preparecallhierarchy": IncomingCalls,
		"callers": IncomingCalls, "callees": OutgoingCalls, "codeaction": CodeActions,
	}
	if o, ok := other[plain]; ok {
		return o, nil
	}
	names := make([]string, len(Operations))
	for i, o := range Operations {
		names[i] = string(o)
	}
	return "", fmt.Errorf("there is no operation %q; there are %s", name, strings.Join(names, ", "))
}

// Place is a position in a file, with a label of the server's.
type Place struct {
	Path   string
	Line   int // from 1
	Column int // from 1, in characters
	Label  string
	Depth  int // of a symbol in others
}

// Query is a question about a place.
type Query struct {
	Operation    Operation
	File         File
	Line, Column int    // from 1, in characters
	Text         string // of WorkspaceSymbol: the name; of Rename: the new name
}

// Answer is an answer: places, or a text.
type Answer struct {
	Server   string
	Places   []Place
	Text     string
	Indexing bool // the server still read its project
}

// method is the request and the capability of an operation.
func (c *capabilities) method(o Operation) (string, feature) {
	switch o {
	case GoToDefinition:
		return "textDocument/definition", c.Definition
	case TypeDefinition:
		return "textDocument/typeDefinition", c.TypeDefinition
	case Implementation:
		return "textDocument/implementation", c.Implementation
	case References:
		return "textDocument/references", c.References
	case Hover:
		return "textDocument/hover", c.Hover
	case DocumentSymbol:
		return "textDocument/documentSymbol", c.DocumentSymbol
	case WorkspaceSymbol:
		return "workspace/symbol", c.WorkspaceSymbol
	case IncomingCalls, OutgoingCalls:
		return "textDocument/prepareCallHierarchy", c.CallHierarchy
	case Supertypes, Subtypes:
		return "textDocument/prepareTypeHierarchy", c.TypeHierarchy
	case CodeActions:
		return "textDocument/codeAction", c.CodeAction
	case Rename:
		return "textDocument/rename", c.Rename
	}
	return "", false
}

// able returns a server of the file that can answer, and waits until it has read its project.
func (p *Pool) able(ctx context.Context, f File, o Operation) (*run, error) {
	var failed error
	ctx, cancel := context.WithTimeout(ctx, ms(p.o.Settings().StartMs))
	defer cancel()
	for _, s := range p.serve(f) {
		r := s.current()
		if r == nil {
			s.mu.Lock()
			failed = errors.Join(s.gaveUp, s.last)
			s.mu.Unlock()
			continue
		}
		if s.def.DiagnosticsOnly && o != CodeActions {
			continue
		}
		if err := r.wait(ctx); err != nil {
			failed = err
			continue
		}
		if _, can := r.caps.method(o); !can {
			failed = fmt.Errorf("the language server %s has no %s", s.name(), o)
			continue
		}
		r.catchUp()
		if _, err := r.sync(f.Path); err != nil && o != WorkspaceSymbol {
			failed = err
			continue
		}
		r.settle(ctx)
		return r, nil
	}
	if failed != nil {
		return nil, failed
	}
	return nil, ErrNoServer
}

// Ask asks a server about a place. The error is ErrNoServer if none serves the file.
func (p *Pool) Ask(ctx context.Context, q Query) (Answer, error) {
	r, err := p.able(ctx, q.File, q.Operation)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Server: r.s.name()}
	r.mu.Lock()
	_, a.Indexing = r.working()
	r.mu.Unlock()
	switch q.Operation {
	case DocumentSymbol:
		a.Places, err = r.documentSymbols(ctx, q.File.Path)
	case WorkspaceSymbol:
		a.Places, err = r.workspaceSymbols(ctx, q.Text)
	case Hover:
		a.Text, err = r.hover(ctx, q)
	case IncomingCalls, OutgoingCalls, Supertypes, Subtypes:
		a.Places, err = r.hierarchy(ctx, q)
	default:
		a.Places, err = r.locations(ctx, q)
	}
	// clangd 14 says that it can, and cannot
	if no := (*jsonrpc.Error)(nil); errors.As(err, &no) && no.Code == jsonrpc.NoMethod {
		err = fmt.Errorf("the language server %s has no %s", a.Server, q.Operation)
	}
	return a, err
}

// at is the position of a query as parameters; an error says what is wrong with it.
func (r *run) at(q Query) (object, error) {
	t := r.textOf(q.File.Path)
	if t == nil {
		return nil, errNotSent
	}
	if q.Line < 1 || q.Line > len(t.lines) {
		return nil, fmt.Errorf("%s has %d lines, there is no line %d", q.File.Path, len(t.lines), q.Line)
	}
	at, _ := t.offset(Position{q.Line - 1, max(0, q.Column-1)}, UTF32)
	return object{"textDocument": object{"uri": uriOf(q.File.Path)}, "position": t.position(at, r.enc)}, nil
}

func (r *run) locations(ctx context.Context, q Query) ([]Place, error) {
	params, err := r.at(q)
	if err != nil {
		return nil, err
	}
	if q.Operation == References {
		params["context"] = object{"includeDeclaration": true}
	}
	method, _ := r.caps.method(q.Operation)
	var raw json.RawMessage
	if err := r.call(ctx, method, params, &raw); err != nil {
		return nil, err
	}
	list, err := oneOrMany[location](raw)
	if err != nil {
		return nil, err
	}
	var out []Place
	for _, l := range list {
		uri, at := l.URI, l.Range
		if l.TargetURI != "" {
			uri = l.TargetURI
			if l.TargetRange != nil {
				at = *l.TargetRange
			}
		}
		out = r.place(out, uri, at, "", 0)
	}
	return tidy(out), nil
}

// oneOrMany decodes a value, a list of them, or null.
func oneOrMany[T any](raw json.RawMessage) ([]T, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []T
	if raw[0] != '[' {
		list = make([]T, 1)
		return list, json.Unmarshal(raw, &list[0])
	}
	return list, json.Unmarshal(raw, &list)
}

// maxPlaces bounds what a server may answer.
const maxPlaces = 5000

// place adds a place of a server's, unless it is in no file.
func (r *run) place(list []Place, uri string, at Range, label string, depth int) []Place {
	path := pathOf(uri)
	if path == "" || len(list) >= maxPlaces {
		return list
	}
	p := Place{
		Path: path, Line: max(0, at.Start.Line) + 1, Column: max(0, at.Start.Character) + 1, Label: label,
		Depth: depth,
	}
	if t := r.textOf(path); t != nil {
		at, _ := t.offset(at.Start, r.enc)
		pos := t.position(at, UTF32)
		p.Line, p.Column = pos.Line+1, pos.Character+1
	}
	return append(list, p)
}

// tidy drops repeats and keeps the server's order otherwise.
func tidy(list []Place) []Place {
	seen := map[Place]bool{}
	return slices.DeleteFunc(list, func(p Place) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

func (r *run) hover(ctx context.Context, q Query) (string, error) {
	params, err := r.at(q)
	if err != nil {
		return "", err
	}
	var answer *struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := r.call(ctx, "textDocument/hover", params, &answer); err != nil || answer == nil {
		return "", err
	}
	parts, err := oneOrMany[markup](answer.Contents)
	var out []string
	for _, m := range parts {
		out = append(out, string(m))
	}
	return strings.TrimSpace(strings.Join(out, "\n\n")), err
}

// markup is a text, a MarkupContent or a MarkedString.
type markup string

// UnmarshalJSON accepts all of them.
func (m *markup) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(m))
	}
	var o struct {
		Value string `json:"value"`
	}
	err := json.Unmarshal(data, &o)
	*m = markup(o.Value)
	return err
}

// symbol is a DocumentSymbol, a SymbolInformation or a hierarchy item.
type symbol struct {
	Name      string    `json:"name"`
	Kind      int       `json:"kind"`
	Detail    string    `json:"detail"`
	Container string    `json:"containerName"`
	Range     *Range    `json:"range"`
	Selection *Range    `json:"selectionRange"`
	Location  *location `json:"location"`
	URI       string    `json:"uri"`
	Children  []symbol  `json:"children"`
}

func (s *symbol) place(uri string) (string, Range) {
	switch {
	case s.Location != nil:
		return s.Location.URI, s.Location.Range
	case s.URI != "":
		uri = s.URI
	}
	if s.Selection != nil {
		return uri, *s.Selection
	}
	if s.Range != nil {
		return uri, *s.Range
	}
	return uri, Range{}
}

// label is the kind and the name of a symbol.
func (s *symbol) label() string {
	text := strings.TrimSpace(kindOf(s.Kind) + " " + s.Name)
	if s.Container != "" {
		text += " (in " + s.Container + ")"
	}
	return short(text)
}

func kindOf(k int) string {
	kinds := [...]string{
		"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
		"interface", "function", "variable", "constant", "string", "number",
		"boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator", "type parameter",
	}
	if k < 0 || k >= len(kinds) {
		return ""
	}
	return kinds[k]
}

func (r *run) documentSymbols(ctx context.Context, path string) ([]Place, error) {
	var list []symbol
	if err := r.call(ctx, "textDocument/documentSymbol", object{"textDocument": object{"uri": uriOf(path)}},
		&list); err != nil {
		return nil, err
	}
	var out []Place
	var add func(list []symbol, depth int)
	add = func(list []symbol, depth int) {
		for i := range list {
			uri, at := list[i].place(uriOf(path))
			out = r.place(out, uri, at, list[i].label(), depth)
			if depth < 20 {
				add(list[i].Children, depth+1)
			}
		}
	}
	add(list, 0)
	return out, nil
}

func (r *run) workspaceSymbols(ctx context.Context, name string) ([]Place, error) {
	var list []symbol
	if err := r.call(ctx, "workspace/symbol", object{"query": name}, &list); err != nil {
		return nil, err
	}
	var out []Place
	for i := range list {
		uri, at := list[i].place("")
		out = r.place(out, uri, at, list[i].label(), 0)
	}
	return tidy(out), nil
}

// hierarchy asks for the calls or types next to the one at a place.
func (r *run) hierarchy(ctx context.Context, q Query) ([]Place, error) {
	params, err := r.at(q)
	if err != nil {
		return nil, err
	}
	method, _ := r.caps.method(q.Operation)
	var items []json.RawMessage
	if err := r.call(ctx, method, params, &items); err != nil {
		return nil, err
	}
	next := map[Operation]string{
		IncomingCalls: "callHierarchy/incomingCalls", OutgoingCalls: "callHierarchy/outgoingCalls",
		Supertypes: "typeHierarchy/supertypes", Subtypes: "typeHierarchy/subtypes",
	}[q.Operation]
	var out []Place
	for _, item := range items[:min(len(items), 20)] {
		var list []struct {
			symbol
			From   *symbol `json:"from"`
			To     *symbol `json:"to"`
			Ranges []Range `json:"fromRanges"`
		}
		if err := r.call(ctx, next, object{"item": item}, &list); err != nil {
			return nil, err
		}
		for i := range list {
			one := &list[i]
			s := &one.symbol
			switch {
			case one.From != nil:
				s = one.From
			case one.To != nil:
				s = one.To
			}
			uri, at := s.place("")
			if one.From != nil && len(one.Ranges) > 0 { // where it calls
				for _, at := range one.Ranges {
					out = r.place(out, uri, at, "in "+s.label(), 0)
				}
				continue
			}
			out = r.place(out, uri, at, s.label(), 0)
		}
	}
	return tidy(out), nil
}
