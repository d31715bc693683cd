package telegram

import (
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// Entity marks a part of a text, in units of UTF-16.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

var parsed = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
})

// writer turns a tree of Markdown into a text with entities.
type writer struct {
	src  []byte
	text strings.Builder
	at   int // units so far
	list []Entity
}

// Entities is Markdown as a text with entities.
func Entities(markdown string) (string, []Entity) {
	w := &writer{src: []byte(markdown)}
	w.children(parsed().Parse(text.NewReader(w.src)), "\n\n", "")
	out := strings.TrimRight(w.text.String(), "\n ")
	most := gateway.Units(out)
	list := w.list[:0]
	for _, e := range w.list {
		if e.Length = min(e.Length, most-e.Offset); e.Length > 0 {
			list = append(list, e)
		}
	}
	return out, list
}

func (w *writer) put(s string) {
	w.text.WriteString(s)
	w.at += gateway.Units(s)
}

// mark puts what f writes under an entity.
func (w *writer) mark(e Entity, f func()) {
	e.Offset = w.at
	i := len(w.list)
	w.list = append(w.list, e)
	f()
	w.list[i].Length = w.at - e.Offset
}

// children writes the children of a node, with a text between them.
func (w *writer) children(n ast.Node, between, indent string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() && between != "" {
			w.put(between + indent)
		}
		w.node(c, indent)
	}
}

func (w *writer) node(n ast.Node, indent string) {
	switch n := n.(type) {
	case *ast.Heading:
		w.mark(Entity{Type: "bold"}, func() { w.children(n, "", "") })
	case *ast.FencedCodeBlock:
		w.mark(Entity{Type: "pre", Language: string(n.Language(w.src))}, func() { w.lines(n) })
	case *ast.CodeBlock:
		w.mark(Entity{Type: "pre"}, func() { w.lines(n) })
	case *ast.Blockquote:
		w.mark(Entity{Type: "blockquote"}, func() { w.children(n, "\n\n", indent) })
	case *ast.List:
		w.items(n, indent)
	case *ast.ThematicBreak:
		w.put("———")
	case *ast.HTMLBlock:
		w.lines(n)
	case *east.Table:
		w.mark(Entity{Type: "pre"}, func() { w.table(n) })
	default:
		w.inline(n, indent)
	}
}

func (w *writer) inline(n ast.Node, indent string) {
	switch n := n.(type) {
	case *ast.Text:
		w.put(string(n.Segment.Value(w.src)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.put("\n" + indent)
		}
	case *ast.String:
		w.put(string(n.Value))
	case *ast.CodeSpan:
		w.mark(Entity{Type: "code"}, func() { w.children(n, "", "") })
	case *ast.Emphasis:
		kind := "italic"
		if n.Level > 1 {
			kind = "bold"
		}
		w.mark(Entity{Type: kind}, func() { w.children(n, "", indent) })
	case *east.Strikethrough:
		w.mark(Entity{Type: "strikethrough"}, func() { w.children(n, "", indent) })
	case *ast.Link:
		w.mark(Entity{Type: "text_link", URL: string(n.Destination)}, func() { w.children(n, "", indent) })
	case *ast.AutoLink:
		w.put(string(n.URL(w.src)))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			w.put(string(s.Value(w.src)))
		}
	case *east.TaskCheckBox:
		if n.IsChecked {
			w.put("☑ ")
		} else {
			w.put("☐ ")
		}
	default:
		w.children(n, "", indent)
	}
}

// lines writes the lines of a block as they are.
func (w *writer) lines(n ast.Node) {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(w.src))
	}
	w.put(strings.TrimRight(b.String(), "\n"))
}

func (w *writer) items(l *ast.List, indent string) {
	number := l.Start
	for c := l.FirstChild(); c != nil; c = c.NextSibling() {
		if c != l.FirstChild() {
			w.put("\n" + indent)
		}
		mark := "• "
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		} else if c.FirstChild() != nil && c.FirstChild().FirstChild() != nil {
			if _, ok := c.FirstChild().FirstChild().(*east.TaskCheckBox); ok {
				mark = ""
			}
		}
		w.put(mark)
		w.children(c, "\n", indent+"   ")
	}
}

// table writes a table in columns.
func (w *writer) table(t *east.Table) {
	var rows [][]string
	var widths []int
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cell := &writer{src: w.src}
			cell.children(c, "", "")
			row = append(row, cell.text.String())
			if len(row) > len(widths) {
				widths = append(widths, 0)
			}
			widths[len(row)-1] = max(widths[len(row)-1], gateway.Units(cell.text.String()))
		}
		rows = append(rows, row)
	}
	for i, row := range rows {
		if i > 0 {
			w.put("\n")
		}
		for k, cell := range row {
			if k < len(row)-1 {
				cell += strings.Repeat(" ", widths[k]-gateway.Units(cell)+2)
			}
			w.put(cell)
		}
	}
}
