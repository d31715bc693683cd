package internal_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns is the longest line of code, a tab counted as one column.
const mostColumns = 120

// Lines fit half a screen. The text of a raw string or a struct tag is data and keeps its lines, and so does a string
// without a blank to break at.
func TestLinesFitTheScreen(t *testing.T) {
	for _, f := range tree(t) {
		if ast.IsGenerated(f.ast) {
			continue
		}
		data := f.dataLines()
		n := 0
		for line := range strings.Lines(readFile(t, f.path)) {
			n++
			line = strings.TrimRight(line, "\n")
			if width := utf8.RuneCountInString(line); width > mostColumns && !data[n] {
				t.Errorf("%s:%d: the line has %d columns; %d is the limit", f.path, n, width, mostColumns)
			}
		}
	}
}

// dataLines are the lines that a literal fills which cannot be broken.
func (s source) dataLines() map[int]bool {
	out := map[int]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING && (lit.Value[0] == '`' || len(strings.Fields(lit.Value)) < 3) {
			for i := s.fset.Position(lit.Pos()).Line; i <= s.fset.Position(lit.End()).Line; i++ {
				out[i] = true
			}
		}
		return true
	})
	return out
}
