package web

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// depthMax is how deep elements are followed.
const depthMax = 300

// Markdown turns HTML into Markdown: the main part of the page where it is marked (main, article), without scripts,
// navigation and what is hidden from people. base is the page's address, for its links.
func Markdown(body []byte, base string) (title, text string, err error) {
	root, err := html.ParseWithOptions(io.LimitReader(bytes.NewReader(body), BodyMax), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", "", fmt.Errorf("the HTML cannot be read: %w", err)
	}
	at, _ := url.Parse(base)
	w := &writer{base: at}
	if t := find(root, atom.Title, 0); t != nil {
		title = strings.Join(strings.Fields(plain(t, 0)), " ")
	}
	top := root
	for _, kind := range []atom.Atom{atom.Main, atom.Article, atom.Body} {
		if n := find(root, kind, 0); n != nil && (kind == atom.Body || len(strings.TrimSpace(plain(n, 0))) > 200) {
			top = n
			break
		}
	}
	w.children(top, 0)
	return title, w.done(), nil
}

func find(n *html.Node, kind atom.Atom, depth int) *html.Node {
	if n.Type == html.ElementNode && n.DataAtom == kind {
		return n
	}
	for c := n.FirstChild; c != nil && depth < depthMax; c = c.NextSibling {
		if f := find(c, kind, depth+1); f != nil {
			return f
		}
	}
	return nil
}

// plain is the text below a node as it stands.
func plain(n *html.Node, depth int) string {
	var b strings.Builder
	plainTo(&b, n, depth)
	return b.String()
}

func plainTo(b *strings.Builder, n *html.Node, depth int) {
	switch {
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
	case n.DataAtom == atom.Br:
		b.WriteByte('\n')
	}
	for c := n.FirstChild; c != nil && depth < depthMax; c = c.NextSibling {
		if !hidden(c) {
			plainTo(b, c, depth+1)
		}
	}
}

// hidden reports nodes that people do not see, or that are not content: text that only a model would read is how pages give
// models orders.
func hidden(n *html.Node) bool {
	if n.Type == html.CommentNode || n.Type == html.DoctypeNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Nav, atom.Form,
		atom.Button, atom.Head, atom.Link, atom.Meta, atom.Canvas, atom.Dialog, atom.Select, atom.Input, atom.Textarea:
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			if style := strings.ToLower(strings.Join(strings.Fields(a.Val), "")); invisible(style) {
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

func (w *writer) children(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil && depth < depthMax; c = c.NextSibling {
		w.node(c, depth+1)
	}
}

func (w *writer) node(n *html.Node, depth int) {
	if hidden(n) {
		return
	}
	if n.Type == html.TextNode {
		w.text(n.Data)
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.line(2)
		w.raw(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
		w.children(n, depth)
		w.line(2)
	case atom.Br:
		w.line(1)
	case atom.Hr:
		w.line(2)
		w.raw("---")
		w.line(2)
	case atom.Pre:
		w.pre(n, depth)
	case atom.Code, atom.Kbd, atom.Samp:
		w.inline(strings.Join(strings.Fields(plain(n, depth)), " "), "`")
	case atom.Strong, atom.B:
		w.around(n, depth, "**")
	case atom.Em, atom.I:
		w.around(n, depth, "*")
	case atom.A:
		w.link(n, depth)
	case atom.Img:
		if alt := strings.Join(strings.Fields(attr(n, "alt")), " "); alt != "" {
			w.inline("[image: "+alt+"]", "")
		}
	case atom.Ul, atom.Ol:
		w.list(n, depth)
	case atom.Blockquote:
		w.block("> ", func() { w.children(n, depth) })
	case atom.Table:
		w.table(n, depth)
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Dl, atom.Figure, atom.Details, atom.Summary, atom.Figcaption:
		w.line(2)
		w.children(n, depth)
		w.line(2)
	case atom.Dt, atom.Dd, atom.Li, atom.Tr:
		w.line(1)
		w.children(n, depth)
		w.line(1)
	default:
		w.children(n, depth)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
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

func (w *writer) around(n *html.Node, depth int, mark string) {
	if s := strings.Join(strings.Fields(plain(n, depth)), " "); s != "" && find(n, atom.A, depth) == nil {
		w.inline(s, mark)
		return
	}
	w.children(n, depth)
}

func (w *writer) link(n *html.Node, depth int) {
	label, to := strings.Join(strings.Fields(plain(n, depth)), " "), attr(n, "href")
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

func (w *writer) pre(n *html.Node, depth int) {
	language := ""
	for _, class := range strings.Fields(attr(n, "class") + " " + firstClass(n)) {
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

func firstClass(n *html.Node) string {
	if c := find(n, atom.Code, 0); c != nil {
		return attr(c, "class")
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

func (w *writer) list(n *html.Node, depth int) {
	number := 0
	w.line(1)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Li || hidden(c) {
			continue
		}
		mark := "- "
		if number++; n.DataAtom == atom.Ol {
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
func (w *writer) item(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil && depth < depthMax; c = c.NextSibling {
		if c.DataAtom == atom.P || c.DataAtom == atom.Div {
			w.children(c, depth+1)
			w.line(1)
			continue
		}
		w.node(c, depth+1)
	}
}

func (w *writer) table(n *html.Node, depth int) {
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

func tableRows(n *html.Node, depth int, rows [][]string) [][]string {
	for c := n.FirstChild; c != nil && depth < depthMax; c = c.NextSibling {
		if hidden(c) {
			continue
		}
		if c.DataAtom != atom.Tr {
			rows = tableRows(c, depth+1, rows)
			continue
		}
		var row []string
		for cell := c.FirstChild; cell != nil; cell = cell.NextSibling {
			if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
				row = append(row, strings.ReplaceAll(strings.Join(strings.Fields(plain(cell, depth)), " "), "|", `\|`))
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
