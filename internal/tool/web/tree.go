package web

import (
	"bytes"
	"html"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	lexer "github.com/tdewolff/parse/v2/html"
)

// node is an element of a page, or a text.
type node struct {
	name     string // in lower case; empty for a text
	text     string
	attrs    []attribute
	children []*node
	work     *int // what is left for the page
}

type attribute struct{ key, value string }

func (n *node) attr(key string) string {
	for _, a := range n.attrs {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

// tree builds the elements of a page as browsers do where that decides on the text: end tags that may be left out, tags
// that close nothing, content between the cells of a table.
type tree struct {
	open  []*node // the first is the root, the last the one that takes the next
	work  *int    // what is left for the page
	early bool    // content came before the tag of the body, so that the tag means nothing any more
}

// openMax is how many elements may be open in each other; deeper ones have no children.
const openMax = 500

// parseTree reads a page. There is no page that cannot be read.
func parseTree(body []byte) *node {
	work := workMax
	t := &tree{open: []*node{{name: "#root", work: &work}}, work: &work}
	t.read(body, 0)
	return t.open[0]
}

func (t *tree) read(body []byte, within int) {
	l := lexer.NewLexer(parse.NewInputBytes(bytes.Clone(body)))
	var tag *node
	for {
		kind, data := l.Next()
		switch kind {
		case lexer.ErrorToken:
			return
		case lexer.TextToken:
			t.addText(html.UnescapeString(string(data)))
		case lexer.StartTagToken:
			tag = &node{name: strings.ToLower(string(l.Text())), work: t.work}
		case lexer.AttributeToken:
			value := html.UnescapeString(strings.Trim(string(l.AttrVal()), `"'`))
			tag.attrs = append(tag.attrs, attribute{strings.ToLower(string(l.AttrKey())), value})
		case lexer.StartTagCloseToken, lexer.StartTagVoidToken:
			t.start(tag)
		case lexer.EndTagToken:
			t.end(strings.ToLower(string(l.Text())))
		case lexer.MathToken:
			from, to := bytes.IndexByte(data, '>'), bytes.LastIndex(data, []byte("</"))
			if from >= 0 && to > from && within < 3 {
				t.read(data[from+1:to], within+1)
			}
		}
	}
}

func (t *tree) top() *node { return t.open[len(t.open)-1] }

func (t *tree) addText(s string) {
	if strings.TrimSpace(s) == "" {
		if last := t.top(); !inTable(last.name) {
			last.children = append(last.children, &node{text: s})
		}
		return
	}
	if t.top().name == "head" {
		t.pop(len(t.open) - 1)
	}
	t.add(&node{text: s})
}

// add puts a node where the next one belongs. Between the cells of a table that is before the table.
func (t *tree) add(n *node) {
	last := t.top()
	t.early = t.early || (frame(last.name) || last.name == "#root") && last.name != "body" && !frame(n.name) &&
		!ofHead(n.name)
	if !inTable(last.name) || cellular(n.name) {
		last.children = append(last.children, n)
		return
	}
	for i := len(t.open) - 1; i > 0; i-- {
		if t.open[i].name != "table" {
			continue
		}
		above := t.open[i-1]
		at := len(above.children)
		// the table is the last or close to it, or elsewhere if it was moved itself
		for back := 1; back <= min(8, len(above.children)); back++ {
			if above.children[len(above.children)-back] == t.open[i] {
				at = len(above.children) - back
			}
		}
		above.children = slices.Insert(above.children, at, n)
		return
	}
	last.children = append(last.children, n)
}

func inTable(name string) bool {
	switch name {
	case "table", "tbody", "thead", "tfoot", "tr":
		return true
	}
	return false
}

// cellular reports elements that may stand between the cells of a table.
func cellular(name string) bool {
	switch name {
	case "tbody", "thead", "tfoot", "tr", "td", "th", "caption", "colgroup", "col", "script", "style", "template", "form",
		"input":
		return true
	}
	return false
}

func (t *tree) start(n *node) {
	if frame(n.name) && (t.early || t.find(n.name) >= 0) {
		return
	}
	if t.top().name == "head" && !ofHead(n.name) {
		t.pop(len(t.open) - 1)
	}
	t.closeFor(n.name)
	t.add(n)
	if !void(n.name) && len(t.open) < openMax {
		t.open = append(t.open, n)
	}
}

// frame reports the elements that a page has once.
func frame(name string) bool { return name == "html" || name == "head" || name == "body" }

func ofHead(name string) bool {
	switch name {
	case "title", "meta", "link", "script", "style", "base", "noscript", "template":
		return true
	}
	return false
}

func void(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

// closeFor closes the elements that end where this one begins.
func (t *tree) closeFor(name string) {
	switch name {
	case "li":
		t.closeUpTo([]string{"li"}, "ul", "ol", "menu")
	case "dt", "dd":
		t.closeUpTo([]string{"dt", "dd"}, "dl")
	case "option", "optgroup":
		t.closeUpTo([]string{"option"}, "select")
	case "td", "th":
		t.closeWithin([]string{"td", "th", "caption"}, "tr", "table")
	case "tr":
		t.closeWithin([]string{"tr", "caption", "colgroup"}, "tbody", "thead", "tfoot", "table")
	case "tbody", "thead", "tfoot":
		t.closeWithin([]string{"tbody", "thead", "tfoot", "caption", "colgroup"}, "table")
	case "a":
		t.closeUpTo([]string{"a"})
	}
	if endsParagraph(name) {
		t.closeUpTo([]string{"p"}, "button")
	}
	if heading(name) && heading(t.top().name) {
		t.pop(len(t.open) - 1)
	}
}

func heading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

func endsParagraph(name string) bool {
	switch name {
	case "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "div", "dl", "dt", "fieldset",
		"figcaption", "figure",
		"footer", "form", "header", "hgroup", "hr", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary",
		"table", "ul":
		return true
	}
	return heading(name)
}

// closeUpTo closes the innermost of these elements, unless a boundary or the cell of a table lies between.
func (t *tree) closeUpTo(names []string, boundaries ...string) {
	t.closeWithin(names, append(boundaries, "td", "th", "caption", "table")...)
}

func (t *tree) closeWithin(names []string, boundaries ...string) {
	for i := len(t.open) - 1; i > 0; i-- {
		switch name := t.open[i].name; {
		case slices.Contains(names, name):
			t.pop(i)
			return
		case slices.Contains(boundaries, name):
			return
		}
	}
}

// end closes the element of an end tag with all in it. A tag that closes nothing in its cell of a table is ignored.
func (t *tree) end(name string) {
	for i := len(t.open) - 1; i > 0; i-- {
		if t.open[i].name == name || heading(name) && heading(t.open[i].name) {
			t.pop(i)
			return
		}
		if at := t.open[i].name; (at == "td" || at == "th" || at == "caption") && !cellular(name) && name != "table" {
			return
		}
	}
}

func (t *tree) find(name string) int {
	return slices.IndexFunc(t.open, func(n *node) bool { return n.name == name })
}

func (t *tree) pop(i int) { t.open = t.open[:i] }
