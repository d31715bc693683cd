package gfm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"pgregory.net/rapid"
)

// The blocks that are found line by line are held against those that goldmark finds in the whole text.

// oracle is goldmark with tables, and without definitions of links, which are taken out later here.
var oracle = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
))).Parser()

// theirs lists goldmark's leaves, one per line: containers, kind, text.
func theirs(source string) string {
	src := []byte(source)
	var out []string
	var walk func(n ast.Node, path string)
	walk = func(n ast.Node, path string) {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			switch c := c.(type) {
			case *ast.Blockquote:
				walk(c, path+">")
			case *ast.List:
				number := c.Start
				for item := c.FirstChild(); item != nil; item = item.NextSibling() {
					mark := string(c.Marker)
					if c.IsOrdered() {
						mark = fmt.Sprint(number, mark)
						number++
					} else {
						mark = "-"
					}
					if item.FirstChild() == nil {
						out = append(out, path+mark+" empty")
					}
					walk(item, path+mark)
				}
			case *ast.Paragraph, *ast.TextBlock:
				out = append(out, path+" text "+joined(c, src))
			case *ast.Heading:
				out = append(out, fmt.Sprintf("%s h%d %s", path, c.Level, joined(c, src)))
			case *ast.CodeBlock:
				out = append(out, fmt.Sprintf("%s code %q", path, raw(c, src)))
			case *ast.FencedCodeBlock:
				info := ""
				if c.Info != nil {
					info = string(c.Info.Value(src))
				}
				out = append(out, fmt.Sprintf("%s fence %q %q", path, info, raw(c, src)))
			case *ast.HTMLBlock:
				s := lines(c, src)
				if c.HasClosure() {
					s += "\n" + string(c.ClosureLine.Value(src))
				}
				out = append(out, fmt.Sprintf("%s html %q", path, blanks(s)))
			case *ast.ThematicBreak:
				out = append(out, path+" rule")
			case *east.Table:
				out = append(out, fmt.Sprintf("%s table %d", path, c.ChildCount()))
			default:
				out = append(out, fmt.Sprintf("%s ? %T", path, c))
			}
		}
	}
	walk(oracle.Parse(text.NewReader(src)), "")
	return strings.Join(out, "\n")
}

func joined(n ast.Node, src []byte) string { return squeeze(string(n.Lines().Value(src))) }

// squeeze makes blanks at the ends of lines the same.
func squeeze(s string) string {
	var out []string
	for l := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		out = append(out, strings.TrimSpace(expand(l)))
	}
	return strings.Join(out, "|")
}

func raw(n ast.Node, src []byte) string { return blanks(lines(n, src)) }

func lines(n ast.Node, src []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(src))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// blanks drops the blanks at the ends of lines, and blank lines at the end.
func blanks(s string) string {
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		out = append(out, strings.TrimRight(expand(l), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// ours lists the leaves found line by line.
func ours(source string) string {
	var b Blocks[struct{}]
	for l := range strings.SplitSeq(strings.TrimSuffix(source, "\n"), "\n") {
		b.Add(l, false)
	}
	b.closeTo(0)
	b.close()
	var out []string
	for i := 0; i < len(b.Out); i++ {
		l := b.Out[i]
		path := ""
		for _, c := range l.Frame {
			switch {
			case c.Quote:
				path += ">"
			case c.Marker[0] >= 0x80:
				path += "-"
			default:
				path += c.Marker
			}
		}
		if l.Kind == Empty {
			filled := false
			if i+1 < len(b.Out) && len(b.Out[i+1].Frame) >= len(l.Frame) {
				filled = true
				for k := range l.Frame {
					filled = filled && b.Out[i+1].Frame[k].Quote == l.Frame[k].Quote && !b.Out[i+1].Frame[k].First
				}
			}
			if !filled {
				out = append(out, path+" empty")
			}
			continue
		}
		body := strings.Join(l.Lines, "\n")
		switch l.Kind {
		case Paragraph:
			out = append(out, path+" text "+squeeze(body))
		case Heading:
			out = append(out, fmt.Sprintf("%s h%d %s", path, l.Level, squeeze(body)))
		case Fence:
			out = append(out, fmt.Sprintf("%s fence %q %q", path, l.Info, blanks(body)))
		case Indented:
			out = append(out, fmt.Sprintf("%s code %q", path, blanks(body)))
		case HTML:
			out = append(out, fmt.Sprintf("%s html %q", path, blanks(body)))
		case Rule:
			out = append(out, path+" rule")
		case Table:
			out = append(out, fmt.Sprintf("%s table %d", path, len(l.Lines)))
		}
	}
	return strings.Join(out, "\n")
}

// TestBlocksAreThoseOfTheStandard goes through the examples of CommonMark, which goldmark's module carries.
func TestBlocksAreThoseOfTheStandard(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Skip("the go command does not say where goldmark is: ", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Skip("goldmark came without the examples of the standard: ", err)
	}
	var list []struct {
		Markdown string
		Example  int
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if x, y := theirs(e.Markdown), ours(e.Markdown); x != y {
			t.Errorf("example %d: %q\ntheirs:\n%s\nours:\n%s", e.Example, e.Markdown, x, y)
		}
	}
}

// emptyItem is where goldmark does not keep to the standard: items that begin with a blank line.
var emptyItem = regexp.MustCompile(`(?m)([-*]|[0-9][.)]) *$`)

func TestBlocksAreThoseThatGoldmarkFinds(t *testing.T) {
	pieces := []string{
		"- ", "* ", "1. ", "2) ", "> ", "# ", "```", "~~~", "    ", "  ", " ", "text", "a", "---", "===",
		"\n", "\n", "\n\n", "<div>", "</p>", "<b>", "<!--", "-->", "go",
	}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 20).Draw(t, "s"), "") + "\n"
		if emptyItem.MatchString(s) {
			t.Skip("an empty item")
		}
		if x, y := theirs(s), ours(s); x != y {
			t.Fatalf("%q\ntheirs:\n%s\nours:\n%s", s, x, y)
		}
	})
}
