package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Diagnostic is one report of a server on a file.
type Diagnostic struct {
	Path     string
	Line     int // from 1
	Column   int // from 1, in characters
	Severity Severity
	Code     string // may be empty
	Source   string // the tool that found it; may be empty
	Message  string
	Server   string

	wire wireDiagnostic
}

// String is one line, without the path.
func (d Diagnostic) String() string {
	text := fmt.Sprintf("%d:%d %s: %s", d.Line, d.Column, d.Severity, strings.Join(strings.Fields(d.Message), " "))
	if mark := strings.Join(strings.Fields(d.Source+" "+d.Code), " "); mark != "" {
		text += " [" + mark + "]"
	}
	return text
}

// key is a diagnostic without its place.
func (d Diagnostic) key() string {
	return fmt.Sprintf("%d\x00%s\x00%s\x00%s\x00%s", d.Severity, d.Server, d.Source, d.Code, d.Message)
}

// Bounds of the diagnostics that a server may have in memory.
const (
	maxPerFile  = 500
	maxFiles    = 2000
	maxMessage  = 2000 // bytes
	quietPush   = 30 * time.Millisecond
	quietReload = 400 * time.Millisecond // after a change on disk, for which gopls may read packages again
	quietUntold = 300 * time.Millisecond // of a server that does not say which version its diagnostics are of
	pulledFiles = 8                      // open documents that are asked about after a change of another
)

// fileDiagnostics are those of one file.
type fileDiagnostics struct {
	pushed, pulled []Diagnostic
	version        int // of the document that pushed are of; 0: not told
	at             int // the count of news when they came
	pulledVersion  int
	resultID       string
}

// published takes pushed diagnostics.
func (r *run) published(params json.RawMessage) {
	var p struct {
		URI         string           `json:"uri"`
		Version     *int             `json:"version"`
		Diagnostics []wireDiagnostic `json:"diagnostics"`
	}
	path := ""
	if json.Unmarshal(params, &p) == nil {
		path = pathOf(p.URI)
	}
	if path == "" || !within(path, r.s.root) {
		return
	}
	list := r.read(path, p.Diagnostics)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.diags[path]
	if f == nil {
		if len(r.diags) >= maxFiles {
			return
		}
		f = &fileDiagnostics{}
		r.diags[path] = f
	}
	version := 0
	if p.Version != nil {
		version = *p.Version
	}
	if d := r.docs[path]; d != nil && version != 0 && version < d.version && version < f.version {
		return // older than the last
	}
	r.warmed = r.warmed || r.docs[path] != nil
	r.announce()
	f.pushed, f.version, f.at = list, version, r.changes
	r.reloads = false
}

func (r *run) reloaded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reloads = false
}

// read makes diagnostics of what a server sent.
func (r *run) read(path string, wire []wireDiagnostic) []Diagnostic {
	t := r.textOf(path)
	out := make([]Diagnostic, 0, min(len(wire), maxPerFile))
	for _, w := range wire[:min(len(wire), maxPerFile)] {
		if len(w.Message) > maxMessage {
			w.Message = strings.ToValidUTF8(w.Message[:maxMessage], "") + "..."
		}
		d := Diagnostic{
			Path: path, Line: max(0, w.Range.Start.Line) + 1, Column: max(0, w.Range.Start.Character) + 1,
			Severity: w.Severity, Source: w.Source, Message: w.Message, Server: r.s.name(), wire: w,
		}
		if d.Severity < Error || d.Severity > Hint {
			d.Severity = Error
		}
		d.Code = strings.Trim(string(w.Code), `"`)
		if d.Code == "null" || len(d.Code) > 100 {
			d.Code = ""
		}
		if t != nil {
			at, _ := t.offset(w.Range.Start, r.enc)
			p := t.position(at, UTF32)
			d.Line, d.Column = p.Line+1, p.Character+1
		}
		out = append(out, d)
	}
	return out
}

// puller returns how the server is asked for diagnostics; ok is false if it only pushes them.
func (r *run) puller() (diagnosticOptions, bool) {
	if d := r.caps.Diagnostic; d != nil {
		return diagnosticOptions{InterFile: d.InterFile, Identifier: d.Identifier}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.pulls {
		return o, true
	}
	return diagnosticOptions{}, false
}

type report struct {
	Kind     string            `json:"kind"`
	ResultID string            `json:"resultId"`
	Items    []wireDiagnostic  `json:"items"`
	Related  map[string]report `json:"relatedDocuments"`
}

// pull asks for the diagnostics of an open document.
func (r *run) pull(ctx context.Context, path string, o diagnosticOptions) error {
	r.mu.Lock()
	d := r.docs[path]
	var previous string
	if f := r.diags[path]; f != nil {
		previous = f.resultID
	}
	r.mu.Unlock()
	if d == nil {
		return nil
	}
	params := object{"textDocument": object{"uri": uriOf(path)}}
	if o.Identifier != "" {
		params["identifier"] = o.Identifier
	}
	if previous != "" {
		params["previousResultId"] = previous
	}
	var answer report
	if err := r.call(ctx, "textDocument/diagnostic", params, &answer); err != nil {
		return err
	}
	r.pulled(path, d.version, answer)
	for uri, related := range answer.Related {
		if p := pathOf(uri); p != "" && within(p, r.s.root) {
			r.pulled(p, 0, related)
		}
	}
	return nil
}

func (r *run) pulled(path string, version int, answer report) {
	list := r.read(path, answer.Items)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.diags[path]
	if f == nil {
		if len(r.diags) >= maxFiles {
			return
		}
		f = &fileDiagnostics{}
		r.diags[path] = f
	}
	if version != 0 && version < f.pulledVersion {
		return
	}
	r.warmed = true
	r.announce()
	if f.pulledVersion, f.at = version, r.changes; answer.Kind != "unchanged" {
		f.pulled = list
	}
	f.resultID = answer.ResultID
}

// answered reports whether the diagnostics of a document are those of its present text. r.mu is held.
func (r *run) answered(path string) bool {
	d, f := r.docs[path], r.diags[path]
	switch {
	case d == nil:
		return true
	case f == nil:
		return false
	case f.pulledVersion == d.version:
		return true
	case f.version != 0:
		return f.version >= d.version
	}
	return f.at > d.since && f.pulledVersion == 0
}

// diagnose brings the diagnostics of changed documents up to date, and those of documents that depend on them, as far
// as the server answers before ctx ends.
func (r *run) diagnose(ctx context.Context, paths []string) {
	if o, ok := r.puller(); ok {
		r.pullAll(ctx, paths, o)
		return
	}
	for {
		r.mu.Lock()
		open, wait := true, quietPush
		for _, p := range paths {
			open = open && r.answered(p)
			if f := r.diags[p]; f != nil && f.version == 0 {
				wait = quietUntold
			}
		}
		if r.reloads {
			wait = quietReload
		}
		news, seen := r.news, r.changes
		r.mu.Unlock()
		if open {
			if r.quiet(ctx, seen, wait) {
				r.reloaded()
				return
			}
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		case <-r.over:
			return
		}
	}
}

// quiet waits whether more diagnostics follow soon: those of dependants come after those of the file.
func (r *run) quiet(ctx context.Context, seen int, wait time.Duration) bool {
	r.mu.Lock()
	news, now := r.news, r.changes
	r.mu.Unlock()
	if now != seen {
		return ctx.Err() != nil
	}
	select {
	case <-news:
		return false
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return true
	}
}

// pullAll asks about the changed documents, and where they may matter about the others that are open, the last used
// first.
func (r *run) pullAll(ctx context.Context, paths []string, o diagnosticOptions) {
	ask := slices.Clone(paths)
	if o.InterFile {
		r.mu.Lock()
		var others []string
		for p := range r.docs {
			if !slices.Contains(paths, p) {
				others = append(others, p)
			}
		}
		slices.SortFunc(others, func(a, b string) int {
			return cmp.Or(r.docs[b].used.Compare(r.docs[a].used), strings.Compare(a, b))
		})
		r.mu.Unlock()
		ask = append(ask, others[:min(len(others), pulledFiles)]...)
	}
	var wg sync.WaitGroup
	for _, p := range ask {
		wg.Go(func() { _ = r.pull(ctx, p, o) }) // a document without an answer stays out of date
	}
	wg.Wait()
}

// current lists the diagnostics that belong to the present texts; those of outdated files are left out, and named in
// old.
func (r *run) current() (list map[string][]Diagnostic, old map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, old = map[string][]Diagnostic{}, map[string]bool{}
	for path, f := range r.diags {
		if !r.answered(path) {
			old[path] = true
			continue
		}
		if len(f.pushed)+len(f.pulled) > 0 {
			list[path] = distinct(f.pushed, f.pulled)
		}
	}
	for path := range r.docs {
		if !r.answered(path) {
			old[path] = true
		}
	}
	return list, old
}

// distinct joins lists without repeats: some servers both push and answer.
func distinct(a, b []Diagnostic) []Diagnostic {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.ContainsFunc(a, func(o Diagnostic) bool {
			return o.Line == d.Line && o.Column == d.Column && o.Message == d.Message
		}) {
			out = append(out, d)
		}
	}
	return out
}

// warm reports whether the server has read its project, so that its next diagnostics follow from changes.
func (r *run) warm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, busy := r.working()
	return r.warmed && !busy
}
