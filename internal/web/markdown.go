package web

import (
	"fmt"
	"net/url"
	"strings"
)

// depthMax is how deep elements are followed.
const depthMax = 300

// Markdown turns HTML into Markdown: the main part of the page where it is marked (main, article), without scripts,
// navigation and what is hidden from people. base is the page's address, for its links.
func Markdown(body []byte, base string) (title, text string) {
	root := parseTree(body[:min(len(body), BodyMax)])
	at, _ := url.Parse(base)
	w := &writer{base: at}
	if t := find(root, "title", 0); t != nil {
		title = strings.Join(strings.Fields(plain(t, 0)), " ")
	}
	top := root
	for _, kind := range []string{"main", "article", "body"} {
		if n := find(root, kind, 0); n != nil && (kind == "body" || len(strings.TrimSpace(plain(n, 0))) > 200) {
			top = n
			break
		}
	}
	w.children(top, 0)
	return title, w.done()
}

// shallow are the children of a node that is not too deep.
func (n *node) shallow(depth int) []*node {
	if depth >= depthMax {
		return nil
	}
	return n.children
}

func find(n *node, kind string, depth int) *node {
	if n.name == kind {
		return n
	}
	for _, c := range n.shallow(depth) {
		if f := find(c, kind, depth+1); f != nil {
			return f
		}
	}
	return nil
}

// plain is the text below a node as it stands.
func plain(n *node, depth int) string {
	var b strings.Builder
	plainTo(&b, n, depth)
	return b.String()
}

func plainTo(b *strings.Builder, n *node, depth int) {
	switch {
	case n.name == "":
		b.WriteString(n.text)
	case n.name == "br":
		b.WriteByte('\n')
	}
	for _, c := range n.shallow(depth) {
		if !hidden(c) {
			plainTo(b, c, depth+1)
		}
	}
}

// hidden reports nodes that people do not see, or that are not content: text that only a model would read is how pages give
// models orders.
func hidden(n *node) bool {
	switch n.name {
	case "script", "style", "noscript", "template", "svg", "iframe", "object", "nav", "form",
		"button", "head", "link", "meta", "canvas", "dialog", "select", "input", "textarea", "title":
		return true
	}
	for _, a := range n.attrs {
		switch a.key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.value == "true"
		case "style":
			if style := strings.ToLower(strings.Join(strings.Fields(a.value), "")); invisible(style) {
				return true
			}
		}
	}
	return false
}

// invisible reports styles, in lower case and without blanks, with which an element is not seen.
func invisible(style string) bool {
	for declaration := range strings.SplitSeq(style, ";") {
		switch strings.TrimSuffix(declaration, "!important") {
		case "display:none", "visibility:hidden", "visibility:collapse", "opacity:0", "opacity:0.0", "font-size:0", "font-size:0px", "color:transparent":
			return true
		}
	}
	return false
}

// writer writes Markdown.
type writer struct {
	base   *url.URL
	out    strings.Builder
	prefix string // of each line: quotes and the indentation of lists
	blank  bool   // a blank belongs before the next text
	newBlk int    // line ends that belong before the next text
	start  bool   // at the beginning of a quote: no line ends before the first text
}

func (w *writer) done() string { return strings.TrimSpace(w.out.String()) + "\n" }

// text writes running text: blanks and line ends are one blank.
func (w *writer) text(s string) {
	for i, word := range strings.Fields(s) {
		if i > 0 || w.blank || strings.TrimLeft(s, " \t\r\n") != s {
			w.space()
		}
		w.raw(word)
	}
	w.blank = s != "" && strings.TrimRight(s, " \t\r\n") != s
}

func (w *writer) space() {
	if w.newBlk == 0 && w.out.Len() > 0 && !strings.HasSuffix(w.out.String()[max(0, w.out.Len()-1):], " ") {
		w.out.WriteByte(' ')
	}
}

// raw writes a text as it is, after the line ends that are due.
func (w *writer) raw(s string) {
	if w.newBlk > 0 {
		if w.out.Len() > 0 {
			for range w.newBlk {
				w.out.WriteString("\n" + w.prefix)
			}
		} else {
			w.out.WriteString(w.prefix)
		}
		w.newBlk = 0
	}
	w.out.WriteString(s)
	w.blank, w.start = false, w.start && s == ""
}

// line asks for n line ends before what comes.
func (w *writer) line(n int) {
	if !w.start {
		w.newBlk, w.blank = max(w.newBlk, n), false
	}
}

func (w *writer) children(n *node, depth int) {
	for _, c := range n.shallow(depth) {
		w.node(c, depth+1)
	}
}

func (w *writer) node(n *node, depth int) {
	if hidden(n) {
		return
	}
	if n.name == "" {
		w.text(n.text)
		return
	}
	switch n.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.line(2)
		w.raw(strings.Repeat("#", int(n.name[1]-'0')) + " ")
		w.children(n, depth)
		w.line(2)
	case "br":
		w.line(1)
	case "hr":
		w.line(2)
		w.raw("---")
		w.line(2)
	case "pre":
		w.pre(n, depth)
	case "code", "kbd", "samp":
		w.inline(strings.Join(strings.Fields(plain(n, depth)), " "), "`")
	case "strong", "b":
		w.around(n, depth, "**")
	case "em", "i":
		w.around(n, depth, "*")
	case "a":
		w.link(n, depth)
	case "img":
		if alt := strings.Join(strings.Fields(n.attr("alt")), " "); alt != "" {
			w.inline("[image: "+alt+"]", "")
		}
	case "ul", "ol":
		w.list(n, depth)
	case "blockquote":
		w.block("> ", func() { w.children(n, depth) })
	case "table":
		w.table(n, depth)
	case "p", "div", "section", "article", "main", "header", "footer", "aside", "dl", "figure", "details", "summary", "figcaption":
		w.line(2)
		w.children(n, depth)
		w.line(2)
	case "dt", "dd", "li", "tr":
		w.line(1)
		w.children(n, depth)
		w.line(1)
	default:
		w.children(n, depth)
	}
}

func (w *writer) inline(s, mark string) {
	if s == "" {
		return
	}
	if w.blank {
		w.space()
	}
	w.raw(mark + s + mark)
}

func (w *writer) around(n *node, depth int, mark string) {
	if s := strings.Join(strings.Fields(plain(n, depth)), " "); s != "" && find(n, "a", depth) == nil {
		w.inline(s, mark)
		return
	}
	w.children(n, depth)
}

func (w *writer) link(n *node, depth int) {
	label, to := strings.Join(strings.Fields(plain(n, depth)), " "), n.attr("href")
	u, err := url.Parse(to)
	if err == nil && w.base != nil {
		u = w.base.ResolveReference(u)
	}
	if label == "" || to == "" || strings.HasPrefix(to, "#") || err != nil || u.Scheme != "http" && u.Scheme != "https" {
		w.children(n, depth)
		return
	}
	w.inline("["+label+"]("+u.String()+")", "")
}

func (w *writer) pre(n *node, depth int) {
	language := ""
	for _, class := range strings.Fields(n.attr("class") + " " + firstClass(n)) {
		if l, ok := strings.CutPrefix(class, "language-"); ok {
			language = l
		}
	}
	w.line(2)
	code := strings.TrimRight(strings.TrimPrefix(plain(n, depth), "\n"), " \n")
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	w.raw(fence + language)
	for line := range strings.SplitSeq(code, "\n") {
		w.out.WriteString("\n" + w.prefix + line)
	}
	w.out.WriteString("\n" + w.prefix + fence)
	w.line(2)
}

func firstClass(n *node) string {
	if c := find(n, "code", 0); c != nil {
		return c.attr("class")
	}
	return ""
}

// block writes with a longer prefix.
func (w *writer) block(prefix string, f func()) {
	w.line(2)
	w.raw("")
	before := w.prefix
	w.prefix += prefix
	w.out.WriteString(prefix)
	w.start = true
	f()
	w.prefix, w.start = before, false
	w.line(2)
}

func (w *writer) list(n *node, depth int) {
	number := 0
	w.line(1)
	for _, c := range n.children {
		if c.name != "li" || hidden(c) {
			continue
		}
		mark := "- "
		if number++; n.name == "ol" {
			mark = fmt.Sprintf("%d. ", number)
		}
		w.line(1)
		w.raw(mark)
		before := w.prefix
		w.prefix += strings.Repeat(" ", len(mark))
		w.item(c, depth)
		w.prefix = before
	}
	if w.prefix != "" { // in another list
		w.line(1)
		return
	}
	w.line(2)
}

// item writes the content of a list's item, which begins on the line of its mark.
func (w *writer) item(n *node, depth int) {
	for _, c := range n.shallow(depth) {
		if c.name == "p" || c.name == "div" {
			w.children(c, depth+1)
			w.line(1)
			continue
		}
		w.node(c, depth+1)
	}
}

func (w *writer) table(n *node, depth int) {
	rows := tableRows(n, depth, nil)
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r))
	}
	if wide < 2 || wide > 50 { // a table for layout
		w.line(2)
		w.children(n, depth)
		w.line(2)
		return
	}
	w.line(2)
	for i, r := range rows {
		for len(r) < wide {
			r = append(r, "")
		}
		w.raw("| " + strings.Join(r, " | ") + " |")
		w.line(1)
		if i == 0 {
			w.raw("|" + strings.Repeat(" --- |", wide))
			w.line(1)
		}
	}
	w.line(2)
}

func tableRows(n *node, depth int, rows [][]string) [][]string {
	for _, c := range n.shallow(depth) {
		if hidden(c) {
			continue
		}
		if c.name != "tr" {
			rows = tableRows(c, depth+1, rows)
			continue
		}
		var row []string
		for _, cell := range c.children {
			if cell.name == "td" || cell.name == "th" {
				row = append(row, strings.ReplaceAll(strings.Join(strings.Fields(plain(cell, depth)), " "), "|", `\|`))
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
