package shell

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// printTree is a tree with all positions.
func printTree(t *testing.T, f *syntax.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := syntax.DebugPrint(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sameTree holds a line that is parsed quickly against the parser, and reports whether it is.
func sameTree(t *testing.T, line string) bool {
	t.Helper()
	var mem trees
	quick, ok := mem.quickly(line)
	if !ok {
		return false
	}
	want, err := parse(line)
	if err != nil {
		t.Fatalf("%q does not parse: %v", line, err)
	}
	if got, want := printTree(t, quick), printTree(t, want); got != want {
		t.Fatalf("%q is read as\n%s\nand not as\n%s", line, got, want)
	}
	return true
}

func TestSimpleLinesAreReadAsTheParserReadsThem(t *testing.T) {
	for _, line := range []string{
		"ls", " ls -la\tsrc ", "cd sub && go test ./... 2>&1 | tail -20", "a|b||c&&d|e", "a;b; c ;", "a && b || c; d | e | f",
		"grep -n 'a b' \"c d\" x'y'z\"\" ''", "> out ls", "ls >a >>b 2> c", "ls 3>&- 2>&1", "a 1 2 >x",
		"find . ! -name '*.go' -exec ls {} +", "[ -f a ]", "a b=c -x=y ~/z {1,2} [a-c]*",
		"echo a2>b", "",
	} {
		if !sameTree(t, line) {
			t.Errorf("%q is left to the parser", line)
		}
	}
}

func TestOtherLinesAreLeftToTheParser(t *testing.T) {
	for _, line := range []string{
		"if a", "a; then", "a=b c", "a[1]=2", "{ a; }", "! a", "a & b", "a |& b", "a ;; b", ";", "a | ", "&& a", "a &&",
		"a <b", "a <<< b", "a >| b", "a &> b", "a >(b)", "a {fd}>b", "a >b 2>1>c",
		"a $b", "a `b`", "a \\b", "a #b", "a\nb", "a 'b", "a \"$b\"", "a (b)", "time a", "export a", "ä", "a 'ä'",
		"coproc a", "> a", "a >", "]] a", "a b[c", "a 'x\ny'",
	} {
		var mem trees
		if _, ok := mem.quickly(line); ok {
			t.Errorf("%q is not left to the parser", line)
		}
	}
}

// linesOfTests are the lines of all tables of this package's tests.
func linesOfTests(t testing.TB) (lines []string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(data), "\n")...)
	}
	return lines
}

func TestTheTablesAreReadAsTheParserReadsThem(t *testing.T) {
	quick := 0
	lines := linesOfTests(t)
	for i, line := range lines {
		for _, line := range []string{line, line + "; " + lines[(i+7)%len(lines)], line + " | " + lines[(i+3)%len(lines)] +
			" 2>&1 >x", line[:len(line)/2]} {
			if sameTree(t, line) {
				quick++
			}
		}
	}
	if quick < len(lines) {
		t.Errorf("%d of %d lines are simple: the tables or the quick way have changed", quick, 4*len(lines))
	}
}

func FuzzQuickParse(f *testing.F) {
	for _, line := range []string{"ls -la | wc -l", "a && b || c; d 2>&1 >x", "a 'b' \"c\"d {e,f} [g]*"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) < maxLine {
			sameTree(t, line)
		}
	})
}
