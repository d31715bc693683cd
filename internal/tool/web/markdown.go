package web

import (
	"fmt"
	"net/url"
	"strings"
)

// depthMax is how deep elements are followed.
const depthMax = 300

// Markdown turns HTML into Markdown: the main text of the page as a reader would choose it, without scripts, navigation
// and what is hidden from people. It is empty only if the page shows no text. base is the page's address, for its
// links.
func Markdown(body []byte, base string) (title, text string) {
	return markdown(parseTree(body[:min(len(body), BodyMax)]), base)
}

func markdown(root *node, base string) (title, text string) {
	w := &writer{}
	w.base, _ = url.Parse(base)
	if t := find(root, "title", 0); t != nil {
		title = strings.Join(strings.Fields(w.plain(t, 0)), " ")
	}
	text = w.page(root)
	if *root.work <= 0 {
		text = strings.TrimRight(text, "\n") + "\n\n" + unread + "\n"
	}
	return title, text
}

// unread stands for what was not looked at.
const unread = "[The page is too tangled to be read whole: more may be missing than was cut. Fetch its parts from " +
	"other addresses, or use Bash (curl) on it]"

// workMax is how many nodes and words of a page are looked at. Some are looked at several times, and a hostile page
// could make that its square.
const workMax = 60_000_000

// shallow are the children of a node that is not too deep, as long as there is work left for the page.
func (n *node) shallow(depth int) []*node {
	if depth >= depthMax || n.work == nil || *n.work <= 0 {
		return nil
	}
	*n.work -= 1 + len(n.children)
	for _, c := range n.children {
		*n.work -= len(c.text) / 8
	}
	return n.children
}

// indentMax is how many bytes of quotes and indentation stand before a line.
const indentMax = 40

// indent lengthens what stands before each line, and returns what stood there.
func (w *writer) indent(by string) (before string) {
	before = w.prefix
	if len(before)+len(by) <= indentMax {
		w.prefix += by
	}
	return before
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

// plain is the text below a node as it stands, with blocks on lines of their own.
func (w *writer) plain(n *node, depth int) string {
	var b strings.Builder
	w.plainTo(&b, n, depth)
	return b.String()
}

func (w *writer) plainTo(b *strings.Builder, n *node, depth int) {
	b.WriteString(n.text)
	for _, c := range n.shallow(depth) {
		if w.skip(c) {
			continue
		}
		if c.name == "br" {
			b.WriteByte('\n')
		}
		if block(c.name) {
			ownLine(b)
		}
		w.plainTo(b, c, depth+1)
		if block(c.name) {
			ownLine(b)
		}
	}
}

func ownLine(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != '\n' {
		b.WriteByte('\n')
	}
}

// block reports elements that do not stand in a line with what surrounds them.
func block(name string) bool {
	return endsParagraph(name) || name == "tr" || name == "td" || name == "th" || name == "option"
}

// writer writes Markdown.
type writer struct {
	reader
	base   *url.URL
	out    strings.Builder
	prefix string // of each line: quotes and the indentation of lists
	blank  bool   // a blank belongs before the next text
	newBlk int    // line ends that belong before the next text
	start  bool   // at the beginning of a quote: no line ends before the first text
	inline bool   // in a heading, the label of a link or the cell of a table, which are one line
}

func (w *writer) done() string {
	if text := strings.TrimSpace(w.out.String()); text != "" {
		return text + "\n"
	}
	return ""
}

// lines are the lines of what is in a node, which will stand in one line.
func (w *writer) lines(n *node, depth int) (lines []string) {
	in := &writer{reader: w.reader, base: w.base, inline: true}
	in.children(n, depth)
	for line := range strings.Lines(in.done()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

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
	if w.skip(n) {
		w.headline(n, depth)
		return
	}
	if n.name == "" {
		w.text(n.text)
		return
	}
	switch n.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.heading(n, depth)
	case "br":
		w.line(1)
	case "hr":
		w.rule()
	case "pre":
		w.pre(n, depth)
	case "code", "kbd", "samp":
		w.code(strings.Join(strings.Fields(w.plain(n, depth)), " "))
	case "strong", "b":
		w.around(n, depth, "**")
	case "em", "i":
		w.around(n, depth, "*")
	case "a":
		w.link(n, depth)
	case "img":
		if alt := strings.Join(strings.Fields(n.attr("alt")), " "); alt != "" {
			w.mark("[image: "+alt+"]", "")
		}
	case "ul", "ol", "menu":
		w.list(n, depth)
	case "blockquote":
		w.quote("> ", func() { w.children(n, depth) })
	case "table":
		w.table(n, depth)
	case "section", "article", "main":
		outer := w.outer
		w.outer = false
		w.paragraph(n, depth)
		w.outer = outer
	case "p", "div", "header", "footer", "aside", "dl", "figure", "details", "summary", "figcaption", "form", "fieldset",
		"dialog", "caption":
		w.paragraph(n, depth)
	case "li":
		w.marked(n, depth, "- ")
	case "dt", "dd", "tr", "td", "th", "option":
		w.line(1)
		w.children(n, depth)
		w.line(1)
	default:
		w.children(n, depth)
	}
}

func (w *writer) paragraph(n *node, depth int) {
	w.line(2)
	w.children(n, depth)
	w.line(2)
}

func (w *writer) rule() {
	w.line(2)
	if !w.inline {
		w.raw("---")
		w.line(2)
	}
}

// heading writes a heading in one line. One that is only a button, as in lists of questions that unfold, is that
// button's text.
func (w *writer) heading(n *node, depth int) {
	if w.inline {
		w.paragraph(n, depth)
		return
	}
	lines := w.lines(n, depth)
	if lines == nil {
		all := w.all
		w.all = true
		lines = w.lines(n, depth)
		w.all = all
	}
	if lines == nil {
		return
	}
	w.line(2)
	w.raw(strings.Repeat("#", int(n.name[1]-'0')) + " " + strings.Join(lines, " "))
	w.line(2)
}

// mark writes a text between marks.
func (w *writer) mark(s, mark string) {
	if s == "" {
		return
	}
	if w.blank {
		w.space()
	}
	w.raw(mark + s + mark)
}

// code writes code in a line.
func (w *writer) code(s string) {
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if len(mark) > 1 {
		s = " " + s + " "
	}
	w.mark(s, mark)
}

func (w *writer) around(n *node, depth int, mark string) {
	if s := strings.Join(strings.Fields(w.plain(n, depth)), " "); s != "" && find(n, "a", depth) == nil {
		w.mark(s, mark)
		return
	}
	w.children(n, depth)
}

func (w *writer) link(n *node, depth int) {
	to := n.attr("href")
	u, err := url.Parse(to)
	if err == nil && w.base != nil {
		u = w.base.ResolveReference(u)
	}
	if to == "" || strings.HasPrefix(to, "#") || err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		strings.TrimSpace(w.plain(n, depth)) == "" {
		w.children(n, depth)
		return
	}
	if label := strings.Join(w.lines(n, depth), " "); label != "" {
		w.mark("["+label+"]("+u.String()+")", "")
	}
}

func (w *writer) pre(n *node, depth int) {
	code := strings.TrimRight(strings.TrimPrefix(w.plain(n, depth), "\n"), " \n")
	if w.inline {
		for line := range strings.SplitSeq(code, "\n") {
			w.line(1)
			if strings.TrimSpace(line) != "" {
				w.code(strings.TrimRight(line, " \r"))
			}
		}
		w.line(1)
		return
	}
	language := ""
	for _, class := range strings.Fields(n.attr("class") + " " + firstClass(n)) {
		if l, ok := strings.CutPrefix(class, "language-"); ok {
			language = l
		}
	}
	w.line(2)
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

// quote writes with a longer prefix.
func (w *writer) quote(prefix string, f func()) {
	w.line(2)
	w.raw("")
	before := w.indent(prefix)
	w.out.WriteString(prefix)
	w.start = true
	f()
	w.prefix, w.start = before, false
	w.line(2)
}

func (w *writer) list(n *node, depth int) {
	w.line(1)
	number := 0
	w.items(n, depth, n.name == "ol", &number)
	if w.prefix != "" { // in another list
		w.line(1)
		return
	}
	w.line(2)
}

// items writes the items of a list, and whatever else was put between them.
func (w *writer) items(n *node, depth int, numbered bool, number *int) {
	for _, c := range n.shallow(depth) {
		switch {
		case w.skip(c) || c.name == "" && strings.TrimSpace(c.text) == "":
		case c.name == "li" && numbered:
			*number++
			w.marked(c, depth, fmt.Sprintf("%d. ", *number))
		case c.name == "li":
			w.marked(c, depth, "- ")
		case c.name == "ul" || c.name == "ol": // one that belongs to the item before
			before := w.indent("  ")
			w.list(c, depth+1)
			w.prefix = before
		case find(c, "li", depth) != nil:
			w.items(c, depth+1, numbered, number)
		default:
			w.node(c, depth+1)
		}
	}
}

// marked writes an item after its mark.
func (w *writer) marked(n *node, depth int, mark string) {
	w.line(1)
	w.raw(mark)
	before := w.indent(strings.Repeat(" ", len(mark)))
	w.item(n, depth)
	w.prefix = before
	w.line(1)
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
