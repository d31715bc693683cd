package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// exposing is a bench with a language server that names .env, a file outside and links to both.
func exposing(t *testing.T) (b *bench, paths []string) {
	b = newBench(t)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("OUTSIDE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env, plain := b.put(".env", "K=SECRET\n"), b.put("a.fk", "one two\n")
	for link, to := range map[string]string{"link.txt": outside, "dotenv.txt": env, "folder": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(b.dir, link)); err != nil {
			t.Skip(err)
		}
	}
	b.env.MayRead = func(path string) permission.Effect {
		if path == plain || strings.HasPrefix(path, b.dir) && filepath.Base(path) != ".env" {
			return permission.Allow
		}
		return permission.Ask
	}
	for _, name := range []string{"a.fk", ".env", "link.txt", "dotenv.txt", "folder/outside.txt"} {
		paths = append(paths, filepath.Join(b.dir, name))
	}
	return b, paths
}

func TestALanguageServerShowsNoFileThatReadingWouldAskFor(t *testing.T) {
	b, paths := exposing(t)
	var places []any
	for _, p := range paths {
		places = append(places, lsptest.Place(p, 0))
	}
	symbols := []any{}
	for _, p := range paths {
		symbols = append(symbols, in{"name": "name of " + filepath.Base(p), "kind": 12, "location": lsptest.Place(p, 0)})
	}
	b.env.Language, _ = lsptest.Pool(t, in{
		"textDocument/definition": places, "textDocument/references": places,
		"workspace/symbol": symbols,
	})
	for _, op := range []string{"definition", "references", "workspaceSymbol"} {
		got := b.must("LSP", in{
			"operation": op, "file_path": "a.fk", "line": 1, "character": 1,
			"symbol": map[string]string{"workspaceSymbol": "one"}[op],
		})
		if strings.Contains(got, "SECRET") || strings.Contains(got, "OUTSIDE") || strings.Contains(got, "name of .env") {
			t.Errorf("%s shows what may not be read:\n%s", op, got)
		}
		wantIn(t, got, "a.fk:1", "one two", ".env:1", "link.txt:1")
	}
}

func TestThePreviewOfARenameShowsNoFileThatReadingWouldAskFor(t *testing.T) {
	b, paths := exposing(t)
	for _, p := range paths {
		b.env.Language, _ = lsptest.Pool(t, in{"textDocument/rename": in{"changes": in{
			"file://" + paths[0]: []any{lsptest.Edit(0, 0, 3, "new")}, "file://" + p: []any{lsptest.Edit(0, 0, 1, "new")},
		}}})
		got, err := b.call("LSP", in{
			"operation": "rename", "file_path": "a.fk", "line": 1, "character": 1,
			"new_name": "new", "preview": true,
		})
		shown := fmt.Sprint(err)
		if got != nil {
			shown = text(got)
		}
		if strings.Contains(shown, "SECRET") || strings.Contains(shown, "OUTSIDE") {
			t.Errorf("%s is shown: %s", p, shown)
		}
		if p == paths[1] {
			wantIn(t, shown, "-one two", ".env: +1 -1, not shown, since reading it needs permission")
		}
	}
}

func TestWithoutAServerTextIsSearchedAndTheResultSaysSo(t *testing.T) {
	b := newBench(t)
	b.put("shape.groovy", "int total(int n);\nint total(int n) {\n  return n;\n}\n")
	b.put("use.groovy", "int x = total(1);\n")
	for _, server := range []string{"no support", "no server"} {
		if server == "no server" {
			b.env.Language, _ = lsptest.Pool(t, in{}) // it is for .fk files only
		}
		const said = "Found as text, not by a language server (no language server):\n"
		if got, want := b.must("LSP", in{"operation": "goToDefinition", "symbol": "shape.total"}),
			said+"shape.groovy:2: int total(int n) {"; got != want {
			t.Errorf("%s: definition: %q, want %q", server, got, want)
		}
		if got, want := b.must("LSP", in{
			"operation": "findReferences", "file_path": "use.groovy", "line": 1,
			"character": 10,
		}), said+"shape.groovy:1: int total(int n);\nshape.groovy:2: int total(int n) {\nuse.groovy:1: "+
			"int x = total(1);"; got != want {
			t.Errorf("%s: references: %q, want %q", server, got, want)
		}
		for _, op := range []string{"hover", "incomingCalls", "rename"} {
			_, err := b.call("LSP", in{
				"operation": op, "file_path": "use.groovy", "line": 1, "character": 10,
				"new_name": "sum",
			})
			if err == nil || !strings.Contains(err.Error(), "no language server") {
				t.Errorf("%s: %s: %v", server, op, err)
			}
		}
	}
}

func TestADefinitionAskedForByNameIsAmongTheAnswers(t *testing.T) {
	b := newBench(t)
	path := b.put("a.fk", "declared one\nfunc one() {\n")
	// as clangd, which leads from a definition to its declaration
	b.env.Language, _ = lsptest.Pool(t, in{"textDocument/definition": []any{lsptest.Place(path, 0)}})
	if got, want := b.must("LSP", in{"operation": "definition", "symbol": "one"}),
		"a.fk:2: func one() {\na.fk:1: declared one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.env.Language, _ = lsptest.Pool(t, in{"textDocument/definition": []any{lsptest.Place(path, 1)}})
	if got, want := b.must("LSP", in{"operation": "definition", "symbol": "one"}), "a.fk:2: func one() {"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestASymbolWhoseDefinitionLooksLikeNoneIsAskedAboutAtAUse(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "odd one\n") // of no language
	path := b.put("b.fk", "let's say\n one <- 1\n")
	b.env.Language, _ = lsptest.Pool(t, in{"textDocument/definition": []any{lsptest.Place(path, 1)}})
	if got, want := b.must("LSP", in{"operation": "definition", "symbol": "one"}), "b.fk:2: one <- 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnActionWhoseCommandOnlyAppliesAnEditIsAppliedAndNoCommandIsRun(t *testing.T) {
	b := newBench(t)
	path := b.put("a.fk", "one two\n")
	edit := in{"changes": in{"file://" + path: []any{lsptest.Edit(0, 0, 3, "new")}}}
	outside := in{"changes": in{"file:///etc/passwd": []any{lsptest.Edit(0, 0, 3, "new")}}}
	pool, server := lsptest.Pool(t, in{"textDocument/codeAction": []any{
		in{"title": "Mend", "kind": "quickfix", "command": in{
			"title": "Mend", "command": "_typescript.applyWorkspaceEdit",
			"arguments": []any{edit},
		}},
		in{"title": "Also", "command": "java.apply.workspaceEdit", "arguments": []any{edit}},
		in{"title": "Outside", "command": "java.apply.workspaceEdit", "arguments": []any{outside}},
		in{"title": "Run", "command": in{"title": "Run", "command": "odd.run", "arguments": []any{edit}}},
	}})
	b.env.Language = pool
	call := in{"operation": "codeActions", "file_path": "a.fk", "line": 1}
	if got, want := b.must("LSP", call), "Mend (quickfix)\nAlso\nOutside\nRun [cannot be applied: it runs a command in "+
		"the server]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for title, want := range map[string]string{"Run": "it runs a command in the server", "Outside": "outside of"} {
		call["action"] = title
		if _, err := b.call("LSP", call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", title, err)
		}
	}
	for _, title := range []string{"Mend", "Also"} {
		if err := os.WriteFile(path, []byte("one two\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		call["action"] = title
		b.must("LSP", call)
		if data, err := os.ReadFile(path); err != nil || string(data) != "new two\n" {
			t.Errorf("%s: %q, %v", title, data, err)
		}
	}
	if strings.Contains(server.Log(), "executeCommand") {
		t.Errorf("a command was run: %s", server.Log())
	}
}
