package tool

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed lsp.md
var lspDescription string

type lspInput struct {
	Operation string `json:"operation"`
	FilePath  string `json:"file_path,omitempty"`
	Line      int    `json:"line,omitempty"`
	Character int    `json:"character,omitempty"`
	Symbol    string `json:"symbol,omitempty"`
	NewName   string `json:"new_name,omitempty"`
	Action    string `json:"action,omitempty"`
	Preview   bool   `json:"preview,omitempty"`
}

var lspTool = call.Declaration{
	Name: "LSP", Input: schemaOf[lspInput](), Deferred: true,
	Params: map[string]string{
		"file_path": fileAliases, "operation": "command method", "character": "column col",
		"symbol": "query name", "new_name": "newName", "action": "title",
	},
	Subject: permission.SubjectRead, SubjectIn: []string{"file_path"}, Class: permission.ClassRead,
	Accesses: call.Typed(lspAccesses),
}

// writes reports whether the call changes files.
func (in *lspInput) writes() bool {
	op, err := lsp.ParseOperation(in.Operation)
	return err == nil && !in.Preview && (op == lsp.Rename || op == lsp.CodeActions && in.Action != "")
}

// lspAccesses are the file or the folder that is read. The files that a rename changes are known to its language server
// only, so it is unknown here.
func lspAccesses(in lspInput, at call.Place) ([]permission.Access, error) {
	if in.writes() {
		return nil, nil
	}
	return []permission.Access{at.Access(permission.Read, cmp.Or(in.FilePath, at.Dir))}, nil
}

// coder is what LSP uses.
type coder struct {
	*Files
	Language *lsp.Pool // nil: there are no language servers
}

func newLSP(env *coder) agent.Tool {
	return newTool(lspTool, lspDescription, func(ctx context.Context, _ llm.ToolCall, in lspInput) (*agent.Plan, error) {
		op, err := lsp.ParseOperation(in.Operation)
		if err != nil {
			return nil, err
		}
		q := &lspQuery{env: env, in: in, op: op}
		if err := q.resolve(); err != nil {
			return nil, err
		}
		if in.writes() {
			return q.change(ctx)
		}
		var known []files.Path
		if in.FilePath != "" {
			known = append(known, q.path)
		}
		accesses, err := lspAccesses(in, env.place(known...))
		if err != nil {
			return nil, err
		}
		return &agent.Plan{Accesses: accesses, Title: q.title(), Parallel: true, Run: q.run}, nil
	})
}

// lspQuery is one call of LSP.
type lspQuery struct {
	env  *coder
	in   lspInput
	op   lsp.Operation
	path files.Path // of file_path
	used bool       // the symbol's place is a use, since no definition was found as text
}

func (q *lspQuery) title() string {
	what := q.in.Symbol
	if q.in.FilePath != "" {
		what = strings.TrimSpace(what + " " + q.env.Rel(q.path.Lexical))
		if q.in.Line > 0 {
			what += fmt.Sprintf(":%d", q.in.Line)
		}
	}
	return strings.TrimSpace(string(q.op) + " " + what)
}

// resolve checks that the input names what the operation needs.
func (q *lspQuery) resolve() error {
	in := &q.in
	if in.FilePath != "" {
		p, err := q.env.resolve(in.FilePath)
		if err != nil {
			return err
		}
		if p.Err != nil {
			return pathError("ask about", p, p.Err)
		}
		if p.Info == nil || !p.Info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file", p.Lexical)
		}
		q.path = p
	}
	switch {
	case q.op == lsp.Rename && in.NewName == "":
		return errors.New("new_name is missing: give the new name")
	case q.op == lsp.Diagnostics, q.op == lsp.DocumentSymbol && in.FilePath != "":
	case q.op == lsp.WorkspaceSymbol && cmp.Or(in.Symbol, in.FilePath) == "":
		return errors.New("symbol is missing: give the name to look for")
	case in.FilePath == "" && in.Symbol == "":
		return errors.New("give file_path with line and character, or symbol")
	case in.Symbol == "" && in.Line < 1 && q.op != lsp.WorkspaceSymbol:
		return errors.New("give line (from 1) and character, or symbol")
	}
	return nil
}

// file is the file of a real path with its working root; one outside of the roots is its own.
func (q *lspQuery) file(p files.Path) lsp.File {
	root := q.env.Roots.First()
	if p.Root != nil {
		root = p.Root.Path
	}
	return lsp.File{Path: p.Real, Root: root}
}

func (q *lspQuery) run(ctx context.Context) (*agent.Result, error) {
	var text string
	var err error
	switch q.op {
	case lsp.Diagnostics:
		text, err = q.diagnostics(ctx)
	case lsp.CodeActions:
		text, err = q.actions(ctx)
	case lsp.Rename:
		text, err = q.previewed(ctx)
	default:
		text, err = q.ask(ctx)
	}
	if err != nil {
		return nil, err
	}
	r := agent.TextResult(text)
	r.Title, r.View = q.title(), event.TextView{Text: text}
	r.Meta = map[string]any{"operation": string(q.op), "result": text}
	return r, nil
}

// ask answers from the server, or by searching text where there is none.
func (q *lspQuery) ask(ctx context.Context) (string, error) {
	if q.env.Language == nil {
		return q.search(ctx, lsp.ErrNoServer)
	}
	query, err := q.place(ctx)
	if errors.Is(err, lsp.ErrNoServer) {
		return q.search(ctx, err)
	}
	if err != nil {
		return "", err
	}
	a, err := q.env.Language.Ask(ctx, query)
	if err != nil && ctx.Err() == nil {
		text, serr := q.search(ctx, err)
		if serr != nil {
			return "", err
		}
		return text, nil
	}
	if err != nil {
		return "", err
	}
	note := ""
	if a.Indexing {
		note = fmt.Sprintf("\n[%s still reads the project; the answer may be incomplete]", a.Server)
	}
	if q.op == lsp.Hover {
		return clipText(cmp.Or(a.Text, "Nothing is known there.")) + note, nil
	}
	return q.list(q.withAsked(query, a.Places)) + note, nil
}

// withAsked adds the definition that was found by its name, if the server leads from there to another place, as to a
// declaration.
func (q *lspQuery) withAsked(query lsp.Query, list []lsp.Place) []lsp.Place {
	if q.op != lsp.GoToDefinition || q.in.Symbol == "" || q.used || slices.ContainsFunc(list,
		func(p lsp.Place) bool { return p.Path == query.File.Path && p.Line == query.Line }) {
		return list
	}
	return append([]lsp.Place{{Path: query.File.Path, Line: query.Line, Column: query.Column}}, list...)
}

// place is the query with the position of its symbol.
func (q *lspQuery) place(ctx context.Context) (lsp.Query, error) {
	query := lsp.Query{
		Operation: q.op, Line: q.in.Line, Column: q.in.Character,
		Text: cmp.Or(q.in.NewName, lsp.Last(q.in.Symbol)),
	}
	if q.in.FilePath != "" {
		query.File = q.file(q.path)
	}
	if q.in.Symbol == "" || q.op == lsp.WorkspaceSymbol && q.in.FilePath != "" {
		return query, nil
	}
	found, err := q.definitions(ctx)
	if err == nil && len(found) == 0 { // a server knows a name by each of its uses
		found, err = q.words(ctx, false)
		found = slices.DeleteFunc(found, func(p lsp.Place) bool { return !q.env.Language.Covers(p.Path) })
		q.used = true
	}
	if err != nil {
		return query, err
	}
	if len(found) == 0 {
		return query, lsp.ErrNoServer
	}
	p, err := q.env.resolve(found[0].Path)
	if err != nil {
		return query, err
	}
	query.File, query.Line, query.Column = q.file(p), found[0].Line, found[0].Column
	return query, nil
}

// definitions finds the places that look like the definition of the symbol: by the symbols of the file, else by text.
func (q *lspQuery) definitions(ctx context.Context) ([]lsp.Place, error) {
	places, err := q.words(ctx, true)
	if err != nil || len(places) < 2 {
		return places, err
	}
	first, _, qualified := strings.Cut(q.in.Symbol, ".")
	if !qualified {
		return places, nil
	}
	lines := q.lines(places)
	var better, rest []lsp.Place
	for i, p := range places { // func (r *Type) Method, or a file of the package
		line := strings.Replace(lines[i], lsp.Last(q.in.Symbol), "", 1)
		if strings.Contains(line, first) || filepath.Base(filepath.Dir(p.Path)) == first ||
			strings.TrimSuffix(filepath.Base(p.Path), filepath.Ext(p.Path)) == first {
			better = append(better, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(better, rest...), nil
}

// Bounds of a search for a name as text.
const (
	wordsTime = 5 * time.Second
	wordsMax  = 500
	wordsFile = 1 << 20
)

// words searches the file, or the first working folder, for the symbol.
func (q *lspQuery) words(ctx context.Context, definitions bool) (out []lsp.Place, err error) {
	w := lsp.NewWords(q.in.Symbol)
	if q.in.FilePath != "" {
		return q.inFile(w, q.path.Real, definitions), nil
	}
	ctx, cancel := context.WithTimeout(ctx, wordsTime)
	defer cancel()
	start, err := q.env.resolve(q.env.Roots.First())
	if err != nil {
		return nil, err
	}
	_, err = q.env.Roots.Walk(ctx, start, files.WalkOptions{Ignore: true}, func(e files.Entry) error {
		if info, serr := e.Stat(); serr != nil || !info.Mode().IsRegular() || info.Size() > wordsFile {
			return nil
		}
		if out = append(out, q.inFile(w, e.Path, definitions)...); len(out) > wordsMax {
			return files.SkipAll
		}
		return ctx.Err()
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return out, err
}

// readable is the real path of a file that may be read without a question. A server, or a link in the project, can name
// any file.
func (q *lspQuery) readable(path string) (real string, ok bool) {
	p, err := q.env.resolve(path)
	if err != nil || q.env.MayRead != nil && q.env.MayRead(p.Real) != permission.Allow {
		return "", false
	}
	return p.Real, true
}

// inFile searches one file, if it may be read.
func (q *lspQuery) inFile(w *lsp.Words, path string, definitions bool) []lsp.Place {
	real, ok := q.readable(path)
	if !ok {
		return nil
	}
	text, err := lsp.ReadText(real)
	if err != nil {
		return nil
	}
	return w.Find(path, text, definitions)
}

// search answers without a server, and says so.
func (q *lspQuery) search(ctx context.Context, why error) (string, error) {
	definitions := q.op == lsp.GoToDefinition || q.op == lsp.WorkspaceSymbol || q.op == lsp.Implementation
	if !definitions && q.op != lsp.References {
		return "", fmt.Errorf("%s: %w. Use Grep and Read instead", q.title(), why)
	}
	if q.in.Symbol == "" {
		if q.in.Symbol = q.wordAt(); q.in.Symbol == "" {
			return "", fmt.Errorf("%s: %w, and there is no name at that place", q.title(), why)
		}
		q.in.FilePath = ""
	}
	places, err := q.words(ctx, definitions)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Found as text, not by a language server (%v):\n%s", why, q.list(places)), nil
}

// wordAt is the name at the place of the input.
func (q *lspQuery) wordAt() string {
	text, err := lsp.ReadText(q.path.Real)
	lines := strings.Split(text, "\n")
	if err != nil || q.in.Line < 1 || q.in.Line > len(lines) {
		return ""
	}
	line := []rune(lines[q.in.Line-1])
	at := max(0, q.in.Character-1)
	part := func(r rune) bool {
		return r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
	}
	if at >= len(line) || !part(line[at]) {
		return ""
	}
	start, end := at, at
	for start > 0 && part(line[start-1]) {
		start--
	}
	for end < len(line) && part(line[end]) {
		end++
	}
	return string(line[start:end])
}

// lspShown is how many places a result lists.
const lspShown = 100

// list writes places as path:line with the line's text. The text of a file that may not be read is left out.
func (q *lspQuery) list(places []lsp.Place) string {
	if len(places) == 0 {
		return "None found."
	}
	shown := places[:min(len(places), lspShown)]
	texts := q.lines(shown)
	var b strings.Builder
	for i, p := range shown {
		fmt.Fprintf(&b, "%s%s:%d", strings.Repeat("  ", p.Depth), q.env.Rel(p.Path), p.Line)
		if _, ok := q.readable(p.Path); ok && p.Label != "" {
			b.WriteString(" " + p.Label)
		}
		if texts[i] != "" {
			b.WriteString(": " + clip(texts[i]))
		}
		b.WriteString("\n")
	}
	if more := len(places) - len(shown); more > 0 {
		fmt.Fprintf(&b, "[%d more]\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines returns the texts of places, each read once; that of a file that may not be read is empty.
func (q *lspQuery) lines(list []lsp.Place) []string {
	real := map[string]string{}
	follow := slices.Clone(list)
	for i, p := range list {
		path, asked := real[p.Path]
		if !asked {
			path, _ = q.readable(p.Path)
			real[p.Path] = path
		}
		follow[i].Path = path
	}
	return lsp.Lines(follow)
}

func clipText(s string) string {
	if len(s) > 10_000 {
		return strings.ToValidUTF8(s[:10_000], "") + "\n[cut]"
	}
	return s
}

func (q *lspQuery) diagnostics(ctx context.Context) (string, error) {
	if q.env.Language == nil {
		return "", lsp.ErrNoServer
	}
	var list []lsp.Diagnostic
	if q.in.FilePath != "" {
		found, served, err := q.env.Language.Diagnose(ctx, []lsp.File{q.file(q.path)})
		if !served {
			return "", fmt.Errorf("%s: %w", q.env.Rel(q.path.Lexical), cmp.Or(err, lsp.ErrNoServer))
		}
		list = found
	} else {
		list = slices.DeleteFunc(q.env.Language.All(q.env.Roots.First()),
			func(d lsp.Diagnostic) bool { _, ok := q.readable(d.Path); return !ok })
	}
	if len(list) == 0 {
		return "No diagnostics.", nil
	}
	var b strings.Builder
	for _, d := range list[:min(len(list), lspShown)] {
		fmt.Fprintf(&b, "%s:%s\n", q.env.Rel(d.Path), d)
	}
	if more := len(list) - lspShown; more > 0 {
		fmt.Fprintf(&b, "[%d more]\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
