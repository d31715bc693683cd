package internal_test

import (
	"go/ast"
	"strings"
	"testing"
)

// The budgets of shape: as much as a reader can hold. Soft ones are listed, hard ones fail.
const (
	fileSoft, fileHard = 500, 800 // lines
	funcSoft, funcHard = 60, 120  // lines, from the func keyword to the closing brace, without tables of data
	methodsHard        = 8        // methods of an interface
)

func TestEveryPackageHasOnePackageDoc(t *testing.T) {
	pkgs := packages(t)
	for _, dir := range sortedKeys(pkgs) {
		var docs []string
		for _, f := range pkgs[dir] {
			if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
				docs = append(docs, f.path)
				checkDocForm(t, f)
			}
		}
		switch len(docs) {
		case 1:
		case 0:
			t.Errorf("%s has no package doc: say what it is, its words and its promises above one package clause", dir)
		default:
			t.Errorf("%s has %d package docs, go doc would join them: %s", dir, len(docs), strings.Join(docs, ", "))
		}
	}
}

func checkDocForm(t *testing.T, f source) {
	t.Helper()
	name := f.ast.Name.Name
	want := "Package " + name + " "
	if name == "main" {
		want = "Command " // as go doc shows programs
	}
	if text := f.ast.Doc.Text(); !strings.HasPrefix(text, want) {
		line, _, _ := strings.Cut(text, "\n")
		t.Errorf("%s: the package doc starts with %q, want %q", f.path, line, want)
	}
}

func TestFilesAndFunctionsStayReadable(t *testing.T) {
	for _, f := range tree(t) {
		if ast.IsGenerated(f.ast) {
			continue
		}
		budget(t, f.size, fileSoft, fileHard, f.path)
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				budget(t, f.lines(fn), funcSoft, funcHard, f.path+": func "+fn.Name.Name)
			}
		}
	}
}

// lines counts the lines of a function. A composite literal counts as one: a table is data.
func (s source) lines(fn ast.Node) int {
	span := func(n ast.Node) int { return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line }
	total := span(fn) + 1
	ast.Inspect(fn, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if ok {
			total -= span(lit)
		}
		return !ok
	})
	return total
}

func budget(t *testing.T, n, soft, hard int, what string) {
	t.Helper()
	switch {
	case n > hard:
		t.Errorf("%s has %d lines; %d is the limit", what, n, hard)
	case n > soft:
		t.Logf("%s has %d lines; aim for %d", what, n, soft)
	}
}

func TestInterfacesStaySmall(t *testing.T) {
	for _, f := range tree(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if in, ok := spec.Type.(*ast.InterfaceType); ok && in.Methods.NumFields() > methodsHard {
				t.Errorf("%s: interface %s has %d methods; %d is the limit", f.path, spec.Name.Name, in.Methods.NumFields(),
					methodsHard)
			}
			return true
		})
	}
}
