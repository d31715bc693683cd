package lsp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
)

// TestMain is a language server that misbehaves as LSP_FAKE says, when that is set.
func TestMain(m *testing.M) {
	if lsptest.Serve() {
		return
	}
	if mode := os.Getenv("LSP_FAKE"); mode != "" {
		(&fake{mode: mode, in: bufio.NewReader(os.Stdin)}).serve()
		return
	}
	os.Exit(m.Run())
}

type fake struct {
	mode    string
	in      *bufio.Reader
	settled bool // it was sent settings
	memory  []byte
	held    []anything // reports that wait for a question
}

type anything = map[string]any

func (f *fake) serve() {
	if f.mode == "takes memory" {
		f.memory = bytes.Repeat([]byte("x"), 200<<20)
	}
	if f.mode == "dies at once" {
		fmt.Fprintln(os.Stderr, "no license")
		os.Exit(3)
	}
	for {
		m, err := f.receive()
		if err != nil {
			return
		}
		f.handle(m["method"], m["id"], m["params"])
	}
}

func (f *fake) receive() (anything, error) {
	size := 0
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(v)
		}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(f.in, body); err != nil {
		return nil, err
	}
	var m anything
	return m, json.Unmarshal(body, &m)
}

func (f *fake) send(m anything) {
	m["jsonrpc"] = "2.0"
	body, _ := json.Marshal(m)
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (f *fake) handle(method, id, params any) {
	switch method {
	case "initialize":
		if f.mode == "never starts" {
			return
		}
		if f.mode == "prints" {
			fmt.Print("starting up...\nwarning: Content: odd\n")
		}
		sync := 2
		if strings.HasPrefix(f.mode, "reports") {
			sync = 1 // it wants whole texts
		}
		caps := anything{
			"textDocumentSync": sync, "definitionProvider": true, "renameProvider": true, "hoverProvider": true,
			"positionEncoding": "utf-16",
		}
		if f.mode == "is asked" {
			caps["diagnosticProvider"] = anything{"interFileDependencies": false, "workspaceDiagnostics": false}
		}
		f.send(anything{"id": id, "result": anything{"capabilities": caps}})
	case "workspace/didChangeConfiguration":
		f.settled = true
	case "textDocument/didOpen", "textDocument/didChange":
		f.changed(params)
	case "textDocument/diagnostic":
		at := anything{"line": 0, "character": 4}
		list := []any{anything{"range": anything{"start": at, "end": at}, "severity": 1, "message": "asked for"}}
		f.send(anything{"id": id, "result": anything{"kind": "full", "items": list}})
	case "textDocument/definition":
		f.definition(id)
	case "textDocument/rename":
		f.rename(id, params)
	case "textDocument/hover":
		for _, m := range f.held {
			f.send(m)
		}
		f.held = nil
		if f.mode != "slow" && (f.mode != "waits for settings" || f.settled) {
			f.send(anything{"id": id, "result": anything{"contents": "hello"}})
		}
	case "shutdown":
		f.send(anything{"id": id, "result": nil})
	case "exit":
		os.Exit(0)
	}
}

func (f *fake) changed(params any) {
	doc := params.(anything)["textDocument"].(anything)
	report := func(uri, version any, list ...any) {
		f.send(anything{"method": "textDocument/publishDiagnostics", "params": anything{
			"uri": uri, "version": version,
			"diagnostics": list,
		}})
	}
	odd := anything{"range": anything{
		"start": anything{"line": 99999, "character": -5},
		"end":   anything{"line": -1, "character": 0},
	}, "message": "odd \x1b[31m place", "severity": 77, "code": 12}
	switch f.mode {
	case "reports", "reports late":
		f.review(doc, params.(anything))
	case "slow", "is asked":
	case "dies":
		os.Exit(1)
	case "floods":
		for i := range 3000 {
			report("file:///elsewhere/"+strconv.Itoa(i), 1, odd)
			report(doc["uri"], doc["version"], odd, odd)
		}
		f.send(anything{"method": "window/logMessage", "params": anything{"message": strings.Repeat("x", 1<<20)}})
	case "odd places":
		report(doc["uri"], doc["version"], odd)
	case "old versions":
		report(doc["uri"], 0, odd)
	default:
		report(doc["uri"], doc["version"])
	}
}

// review reports on a text: a line "error x" is an error, "warning x" a warning, and "breaks name" an error in another
// file of the folder.
func (f *fake) review(doc, params anything) {
	text, _ := doc["text"].(string)
	if list, ok := params["contentChanges"].([]any); ok {
		text, _ = list[0].(anything)["text"].(string) // the whole: see handle
	}
	uri := doc["uri"].(string)
	lists := map[string][]any{uri: {}}
	for n, line := range strings.Split(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		at := anything{"start": anything{"line": n, "character": 0}, "end": anything{"line": n, "character": 1}}
		switch kind {
		case "error":
			lists[uri] = append(lists[uri], anything{"range": at, "severity": 1, "message": rest})
		case "warning":
			lists[uri] = append(lists[uri], anything{"range": at, "severity": 2, "message": rest})
		case "breaks":
			other := uri[:strings.LastIndex(uri, "/")+1] + rest
			lists[other] = append(lists[other], anything{"range": at, "severity": 1, "message": "broken by another file"})
		}
	}
	for _, to := range slices.Sorted(maps.Keys(lists)) {
		p := anything{"uri": to, "diagnostics": lists[to]}
		if to == uri {
			p["version"] = doc["version"]
		}
		m := anything{"method": "textDocument/publishDiagnostics", "params": p}
		if f.mode == "reports late" {
			f.held = append(f.held, m)
			continue
		}
		f.send(m)
	}
}

func (f *fake) definition(id any) {
	switch f.mode {
	case "answers wrongly":
		f.send(anything{"id": id, "result": "what?"})
	case "answers others":
		f.send(anything{"id": 12345, "result": nil})
		f.send(anything{"id": id, "error": anything{"code": -1, "message": "no"}})
	default:
		f.send(anything{"id": id, "result": []any{
			anything{"uri": "http://example.com/x", "range": anything{}}, anything{
				"uri":   "file:///no/such",
				"range": anything{"start": anything{"line": -3, "character": -3}},
			},
		}})
	}
}

func (f *fake) rename(id, params any) {
	uri := params.(anything)["textDocument"].(anything)["uri"]
	edit := func(l1, c1, l2, c2 int) any {
		return anything{"range": anything{
			"start": anything{"line": l1, "character": c1},
			"end":   anything{"line": l2, "character": c2},
		}, "newText": "new"}
	}
	var result any
	switch f.mode {
	case "edits outside":
		result = anything{"changes": anything{"file:///etc/passwd": []any{edit(0, 0, 0, 1)}}}
	case "edits nowhere":
		result = anything{"changes": anything{uri.(string): []any{edit(0, 0, 700, 1)}}}
	case "edits inside of a character":
		result = anything{"changes": anything{uri.(string): []any{edit(1, 1, 1, 2)}}}
	case "edits overlap":
		result = anything{"changes": anything{uri.(string): []any{edit(0, 0, 0, 3), edit(0, 1, 0, 2)}}}
	case "edits an old version":
		result = anything{"documentChanges": []any{anything{
			"textDocument": anything{"uri": uri, "version": 77},
			"edits":        []any{edit(0, 0, 0, 1)},
		}}}
	case "dies in the rename":
		os.Exit(1)
	case "never answers the rename":
		return
	case "answers the rename wrongly":
		result = []any{"what?"}
	case "makes files":
		result = anything{"documentChanges": []any{anything{"kind": "delete", "uri": uri}}}
	default:
		result = anything{"changes": anything{uri.(string): []any{edit(0, 0, 0, 3)}}}
	}
	f.send(anything{"id": id, "result": result})
}

// misbehaving makes a pool whose server for .fk files is the fake one.
func misbehaving(t *testing.T, mode string, more ...option) (*lsp.Pool, lsp.File) {
	t.Helper()
	p := newPool(t, append(more, func(_ *lsp.Options, s *lsp.Settings) {
		s.Servers = map[string]lsp.Definition{"fake": {
			Command:   []string{os.Args[0]},
			Languages: map[string]string{".fk": "fake"}, Env: map[string]string{"LSP_FAKE": mode}, Data: true,
		}}
	})...)
	dir := project(t, "a.fk", "one two\n\U0001F600 smile\n")
	return p, lsp.File{Path: filepath.Join(dir, "a.fk"), Root: dir}
}

func quick(_ *lsp.Options, s *lsp.Settings) { s.WaitMs, s.StartMs, s.RequestMs = 300, 2000, 300 }

func TestAServerThatMisbehavesHoldsNothingUp(t *testing.T) {
	for _, mode := range []string{
		"dies at once", "never starts", "slow", "dies", "floods", "odd places", "old versions",
		"prints", "answers wrongly", "answers others", "waits for settings", "good",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p, f := misbehaving(t, mode, quick, func(_ *lsp.Options, s *lsp.Settings) {
				if mode == "floods" {
					s.RequestMs = 30_000 // it answers behind its flood
				}
			})
			seat := p.Seat(filepath.Clean)
			for i := range 3 {
				write(t, f.Path, strings.Repeat("line\n", i+1))
				if got := seat.Edited(t.Context(), []lsp.File{f}); strings.Contains(got, "elsewhere") {
					t.Errorf("a file outside of the root is reported: %s", got)
				}
				seat.Late()
			}
			for _, op := range []lsp.Operation{lsp.GoToDefinition, lsp.Hover, lsp.References} {
				a, err := p.Ask(t.Context(), lsp.Query{Operation: op, File: f, Line: 1, Column: 1})
				if op == lsp.Hover && (mode == "good" || mode == "waits for settings" || mode == "prints" || mode == "floods") &&
					(err != nil || a.Text != "hello") {
					t.Errorf("hover: %q, %v", a.Text, err)
				}
				if op == lsp.References && err == nil {
					t.Error("a server without references answered")
				}
				for _, pl := range a.Places {
					if pl.Line < 1 || pl.Column < 1 || strings.Contains(pl.Path, "example.com") {
						t.Errorf("an odd place: %+v", pl)
					}
				}
			}
		})
	}
}

func TestAWrongEditChangesNothing(t *testing.T) {
	for mode, want := range map[string]string{
		"edits outside": "outside of", "edits nowhere": "outside of", "edits inside of a character": "outside of",
		"edits overlap":        "overlap",
		"edits an old version": "version 77", "makes files": "delete a file",
		"dies in the rename": "", "never answers the rename": "did not answer within", "answers the rename wrongly": "",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p, f := misbehaving(t, mode, func(_ *lsp.Options, s *lsp.Settings) {
				if mode == "never answers the rename" {
					s.RequestMs = 100
				}
			})
			before, _ := os.ReadFile(f.Path)
			e, err := p.Rename(t.Context(), lsp.Query{File: f, Line: 1, Column: 1, Text: "new"})
			if err == nil || !strings.Contains(err.Error(), want) || len(e.Changes) > 0 {
				t.Errorf("%v, %v", e, err)
			}
			if after, _ := os.ReadFile(f.Path); string(after) != string(before) {
				t.Errorf("the file is changed: %q", after)
			}
		})
	}
	p, f := misbehaving(t, "good")
	e, err := p.Rename(t.Context(), lsp.Query{File: f, Line: 1, Column: 1, Text: "new"})
	if err != nil || len(e.Changes) != 1 || !strings.HasPrefix(e.Changes[0].After, "new two\n") {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAServerThatDiesIsGivenUpWithOneNotice(t *testing.T) {
	notices := make(chan string, 10)
	p, f := misbehaving(t, "dies at once", quick,
		func(o *lsp.Options, _ *lsp.Settings) { o.Notice = func(text string) { notices <- text } })
	given := func() bool {
		p.Touch(f)
		s := p.Status()
		return len(s) == 1 && s[0].State == "given up"
	}
	if !await.Until(given) {
		t.Fatalf("not given up: %+v", p.Status())
	}
	if text := <-notices; !strings.Contains(text, "no license") || !strings.Contains(text, "/lsp restart fake") {
		t.Error(text)
	}
	p.Touch(f)
	p.Close() // everything that was begun has ended
	if len(notices) > 0 {
		t.Errorf("a second notice: %s", <-notices)
	}
}

func TestAServerThatTakesTooMuchMemoryIsStartedOnceMoreAndGivenUpWithOneNotice(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of other processes is not known here")
	}
	notices := make(chan string, 10)
	p, f := misbehaving(t, "takes memory", func(o *lsp.Options, s *lsp.Settings) {
		o.Every, s.MaxMemoryMB = 10*time.Millisecond, 150
		o.Notice = func(text string) { notices <- text }
	})
	if !await.Until(func() bool { p.Touch(f); return len(notices) > 0 }) {
		t.Fatalf("not given up: %+v", p.Status())
	}
	if text := <-notices; !strings.Contains(text, "lsp.maxMemoryMB") {
		t.Error(text)
	}
	p.Touch(f)
	if s := p.Status(); len(s) != 1 || s[0].State != "given up" {
		t.Errorf("%+v", s)
	}
	p.Close()
	if len(notices) > 0 {
		t.Errorf("a second notice: %s", <-notices)
	}
}
