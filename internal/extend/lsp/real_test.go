package lsp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
)

// real is a server on a small project of its language: main defines Shape with area, a type that implements it, and
// calls.
type real struct {
	name    string
	need    func(testing.TB) string
	files   []string
	main    string
	symbol  string // a function that is called in other
	other   string
	broken  [2]string // what an edit of main replaces, and by what
	without []lsp.Operation
	newer   []lsp.Operation // which older releases do not have
	action  *action         // nil: it offers none that change a text
}

// action is a code action: what is replaced in main, so that it is offered in the line of by; its title, and what it
// makes of the line.
type action struct{ old, by, title, want string }

func needProgram(name string) func(testing.TB) string {
	return func(t testing.TB) string {
		if path := filepath.Join(os.Getenv("LATHE_NPM"), "node_modules", ".bin", name); os.Getenv("LATHE_NPM") != "" {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		return path
	}
}

var reals = []real{
	{
		name: "gopls", need: needGopls, action: &action{
			"\tsum := 0", "\tsum := strings.Count(``, ``)", "Organize Imports",
			"import \"strings\"",
		},
		main: "shape.go", symbol: "Total", other: "use.go", broken: [2]string{"return sum", "return \"sum\""},
		files: []string{
			"go.mod", "module example.com/x\n\ngo 1.24\n",
			"shape.go", "package x\n\n// Shape has an area.\ntype Shape interface{ Area() int }\n\ntype Square struct{ Side " +
				"int }\n\nfunc (s Square) Area() int { return s.Side * s.Side }\n\n// Total adds areas.\nfunc Total(list " +
				"[]Shape) int {\n\tsum := 0\n\tfor _, s := range list {\n\t\tsum += s.Area()\n\t}\n\treturn sum\n}\n",
			"use.go", "package x\n\nfunc twice(list []Shape) int { return Total(list) + Total(list) }\n\nvar _ = twice\n",
		},
	},
	{
		name: "typescript-language-server", action: &action{
			"return sum", "return summ", "Change spelling to 'sum'",
			"return sum\n",
		}, need: needProgram("typescript-language-server"), main: "shape.ts", symbol: "total",
		other: "use.ts", broken: [2]string{"return sum", "return \"sum\""},
		files: []string{
			"tsconfig.json", `{"compilerOptions":{"strict":true,"noEmit":true}}`, "package.json", "{}",
			"shape.ts", "export interface Shape { area(): number }\n\nexport class Square implements Shape {\n  " +
				"constructor(private side: number) {}\n  area(): number { return this.side * this.side }\n}\n\nexport function " +
				"total(list: Shape[]): number {\n  let sum = 0\n  for (const s of list) sum += s.area()\n  return sum\n}\n",
			"use.ts", "import { total, Shape } from './shape'\n\nexport function twice(list: Shape[]): number { return " +
				"total(list) + total(list) }\n",
		},
		without: []lsp.Operation{lsp.Supertypes, lsp.Subtypes},
	},
	{
		name: "pyright", need: needProgram("pyright-langserver"), main: "shape.py", symbol: "total", other: "use.py",
		broken: [2]string{"return sums", "return \"sums\""},
		files: []string{
			"pyrightconfig.json", "{}",
			"shape.py", "class Shape:\n    def area(self) -> int:\n        return 0\n\n\nclass Square(Shape):\n    side: int " +
				"= 1\n\n    def area(self) -> int:\n        return self.side * self.side\n\n\ndef total(items: list[Shape]) -> " +
				"int:\n    sums = 0\n    for s in items:\n        sums += s.area()\n    return sums\n",
			"use.py", "from shape import Shape, total\n\n\ndef twice(items: list[Shape]) -> int:\n    return total(items) + " +
				"total(items)\n",
		},
		without: []lsp.Operation{lsp.Implementation, lsp.Supertypes, lsp.Subtypes},
	},
	{
		name: "clangd", action: &action{"return sum", "return summ", "change 'summ' to 'sum'", "return sum;"},
		need: needProgram("clangd"), main: "shape.cpp", symbol: "total", other: "shape.cpp", broken: [2]string{
			"return sum",
			"return \"sum\"",
		},
		files: []string{
			"compile_flags.txt", "-std=c++17\n",
			"shape.cpp", "struct Shape { virtual int area() const { return 0; } };\nstruct Square : Shape { int side = 1; " +
				"int area() const override { return side * side; } };\n\nint total(const Shape *list, int n) {\n  int sum = " +
				"0;\n  for (int i = 0; i < n; i++) sum += list[i].area();\n  return sum;\n}\n\nint twice(const Shape *list, int " +
				"n) { return total(list, n) + total(list, n); }\n",
		},
		newer: []lsp.Operation{lsp.OutgoingCalls, lsp.Supertypes, lsp.Subtypes}, // clangd 14 has none of them
	},
}

func TestRealServersAnswerEachOperation(t *testing.T) {
	for _, r := range reals {
		t.Run(r.name, func(t *testing.T) {
			program := r.need(t)
			args := map[string][]string{"typescript-language-server": {"--stdio"}, "pyright": {"--stdio"}}[r.name]
			p := newPool(t, func(_ *lsp.Options, s *lsp.Settings) {
				s.Servers = map[string]lsp.Definition{r.name: {Command: append([]string{program}, args...)}}
				if r.name == "pyright" {
					s.Servers["basedpyright"] = lsp.Definition{Disabled: true}
				}
			})
			dir := project(t, r.files...)
			main := lsp.File{Path: filepath.Join(dir, r.main), Root: dir}
			other := lsp.File{Path: filepath.Join(dir, r.other), Root: dir}
			r.feedback(t, p, dir)
			p.Touch(other)
			text, err := lsp.ReadText(main.Path)
			if err != nil {
				t.Fatal(err)
			}
			at := func(name string) lsp.Place {
				found := lsp.NewWords(name).Find(main.Path, text, true)
				if len(found) == 0 {
					t.Fatalf("the definition of %s is not found as text", name)
				}
				return found[0]
			}
			for _, op := range lsp.Operations {
				place := at(r.symbol)
				switch op {
				case lsp.Implementation, lsp.Subtypes:
					place = at("Shape")
				case lsp.Supertypes:
					place = at("Square")
				case lsp.Diagnostics, lsp.CodeActions, lsp.Rename:
					continue
				}
				if slices.Contains(r.without, op) {
					continue
				}
				q := lsp.Query{Operation: op, File: main, Line: place.Line, Column: place.Column, Text: r.symbol}
				a, err := p.Ask(t.Context(), q)
				if err != nil && slices.Contains(r.newer, op) && strings.Contains(err.Error(), "has no "+string(op)) {
					t.Log(err)
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", op, err)
					continue
				}
				if len(a.Places) == 0 && a.Text == "" && op != lsp.TypeDefinition {
					t.Errorf("%s has no answer", op)
				}
				if op == lsp.References && len(a.Places) < 3 {
					t.Errorf("references: %v", a.Places)
				}
			}
			place := at(r.symbol)
			edits, err := p.Rename(t.Context(), lsp.Query{File: main, Line: place.Line, Column: place.Column, Text: "renamed"})
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, c := range edits.Changes {
				count += strings.Count(c.After, "renamed") - strings.Count(c.Before, "renamed")
				if strings.Contains(c.After, r.symbol+"(") {
					t.Errorf("%s still has %s:\n%s", c.Path, r.symbol, c.After)
				}
			}
			if count < 3 {
				t.Errorf("renamed at %d places: %v", count, edits.Changes)
			}
			if _, err := p.Actions(t.Context(), lsp.Query{File: main, Line: place.Line}); err != nil {
				t.Errorf("code actions: %v", err)
			}
			r.applies(t, p, main, text)
			r.diagnoses(t, p, main, text)
		})
	}
}

// feedback breaks the main file and mends it.
func (r *real) feedback(t *testing.T, p *lsp.Pool, dir string) {
	t.Helper()
	seat := p.Seat(filepath.Clean)
	main := lsp.File{Path: filepath.Join(dir, r.main), Root: dir}
	good, err := lsp.ReadText(main.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := seat.Edited(t.Context(), []lsp.File{main}); got != "" {
		t.Fatalf("the project without errors: %s", got)
	}
	write(t, main.Path, strings.Replace(good, r.broken[0], r.broken[1], 1))
	if got := seat.Edited(t.Context(), []lsp.File{main}); !strings.Contains(got, r.main+":") || !strings.Contains(got,
		"error:") {
		t.Errorf("the broken edit is not reported: %q", got)
	}
	write(t, main.Path, good)
	if got := seat.Edited(t.Context(), []lsp.File{main}); got != "" {
		t.Errorf("mended, and yet: %s", got)
	}
}

// applies applies a code action.
func (r *real) applies(t *testing.T, p *lsp.Pool, main lsp.File, text string) {
	t.Helper()
	if r.action == nil {
		return
	}
	broken := strings.Replace(text, r.action.old, r.action.by, 1)
	write(t, main.Path, broken)
	// actions are offered for diagnostics, which typescript-language-server sends when it has time
	if !await.Until(func() bool {
		list, _, err := p.Diagnose(t.Context(), []lsp.File{main})
		return err != nil || slices.ContainsFunc(list, func(d lsp.Diagnostic) bool { return d.Severity == lsp.Error })
	}) {
		t.Fatal("the broken text has no diagnostics")
	}
	line := strings.Count(broken[:strings.Index(broken, r.action.by)], "\n") + 1
	q := lsp.Query{File: main, Line: line, Column: len(r.action.by)}
	edits, err := p.Apply(t.Context(), q, r.action.title)
	if err != nil {
		q.Column = 0 // of the whole line
		edits, err = p.Apply(t.Context(), q, r.action.title)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(edits.Changes) != 1 || !strings.Contains(edits.Changes[0].After, r.action.want) {
		t.Errorf("%s: %v", r.action.title, edits.Changes)
	}
	if now, err := lsp.ReadText(main.Path); err != nil || now != broken {
		t.Errorf("the file itself was changed: %q, %v", now, err)
	}
}

// diagnoses asks for the diagnostics of the file, broken and mended.
func (r *real) diagnoses(t *testing.T, p *lsp.Pool, main lsp.File, text string) {
	t.Helper()
	for _, broken := range []bool{true, false} {
		now := text
		if broken {
			now = strings.Replace(text, r.broken[0], r.broken[1], 1)
		}
		write(t, main.Path, now)
		isError := func(d lsp.Diagnostic) bool { return d.Severity == lsp.Error }
		var list []lsp.Diagnostic
		var served bool
		var err error
		if !await.Until(func() bool {
			list, served, err = p.Diagnose(t.Context(), []lsp.File{main})
			return err != nil || served && slices.ContainsFunc(list, isError) == broken
		}) || err != nil {
			t.Errorf("broken: %v, diagnostics: %v, %v", broken, list, err)
		}
		if all := p.All(main.Root); slices.ContainsFunc(all, isError) != broken {
			t.Errorf("broken: %v, of the project: %v", broken, all)
		}
	}
}
