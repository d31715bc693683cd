package web

import (
	"cmp"
	"strings"
	"unicode"
)

// reader chooses what of a page is read.
type reader struct {
	all   bool // also what stands around the text and what people operate
	outer bool // outside of main, articles and sections, where headers and footers are those of the site
}

// page is the text of a page: of the parts that are marked as its main text, else of all that is not boilerplate, else
// of all that is shown, so that it is empty only if nothing is.
func (w *writer) page(root *node) string {
	body := cmp.Or(find(root, "body", 0), root)
	w.outer = true
	parts := w.mainParts(body)
	w.outer = parts == nil
	for _, n := range parts {
		w.line(2)
		w.children(n, 0)
	}
	if text := w.done(); text != "" {
		return text
	}
	for _, all := range []bool{false, true} {
		again := &writer{reader: reader{outer: true, all: all}, base: w.base}
		again.children(body, 0)
		if text := again.done(); text != "" {
			return text
		}
	}
	return ""
}

// mainEnough is how many characters a part marked as the main one has that is believed whatever stands around it.
const mainEnough = 200

// mainParts are the parts that are marked as the main text, nil if there are none or they are only a small part of the
// page.
func (w *writer) mainParts(body *node) []*node {
	total := w.weight(body, 0)
	sum := func(parts []*node) (sum int) {
		for _, n := range parts {
			sum += (&writer{}).weight(n, 0)
		}
		return sum
	}
	mains := w.outermost(body, 0, func(n *node) bool { return n.name == "main" || n.attr("role") == "main" }, nil)
	if got := sum(mains); got > mainEnough || got > 0 && 2*got >= total {
		return mains
	}
	articles := w.outermost(body, 0, func(n *node) bool { return n.name == "article" || n.attr("role") == "article" }, nil)
	if got := sum(articles); got > 0 && 2*got >= total {
		return articles
	}
	return nil
}

// outermost are the nodes of a kind that are read and in no other of the kind.
func (w *writer) outermost(n *node, depth int, kind func(*node) bool, found []*node) []*node {
	for _, c := range n.shallow(depth) {
		switch {
		case w.skip(c):
		case kind(c):
			found = append(found, c)
		default:
			found = w.outermost(c, depth+1, kind, found)
		}
	}
	return found
}

// weight is how many characters other than blanks are read below a node.
func (w *writer) weight(n *node, depth int) (sum int) {
	for _, r := range n.text {
		if !unicode.IsSpace(r) {
			sum++
		}
	}
	outer := w.outer
	w.outer = outer && n.name != "main" && n.name != "article" && n.name != "section"
	for _, c := range n.shallow(depth) {
		if !w.skip(c) {
			sum += w.weight(c, depth+1)
		}
	}
	w.outer = outer
	return sum
}

// skip reports nodes that are not read.
func (r reader) skip(n *node) bool {
	return unseen(n) || !r.all && (furniture(n) || r.outer && boilerplate(n))
}

// unseen reports nodes that people do not see: text that only a model would read is how pages give models orders.
func unseen(n *node) bool {
	switch n.name {
	case "script", "style", "template", "svg", "iframe", "object", "head", "link", "meta", "canvas", "title":
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

// furniture reports nodes that people operate and do not read.
func furniture(n *node) bool {
	switch n.name {
	case "nav", "search", "button", "select", "input", "textarea", "dialog", "noscript":
		return true
	}
	switch n.attr("role") {
	case "navigation", "search", "dialog", "alertdialog":
		return true
	}
	return false
}

// boilerplate reports what stands on each page of a site, if it is not in a part of the text.
func boilerplate(n *node) bool {
	switch n.name {
	case "header", "footer", "aside":
		return true
	}
	switch n.attr("role") {
	case "banner", "contentinfo", "complementary":
		return true
	}
	return false
}

// headline writes the headlines in a header of the site that is not read else.
func (w *writer) headline(n *node, depth int) {
	if unseen(n) || n.name != "header" || !w.outer {
		return
	}
	for _, h := range w.outermost(n, depth, func(n *node) bool { return n.name == "h1" }, nil) {
		w.node(h, depth+1)
	}
}

// invisible reports styles, in lower case and without blanks, with which an element is not seen.
func invisible(style string) bool {
	for declaration := range strings.SplitSeq(style, ";") {
		switch strings.TrimSuffix(declaration, "!important") {
		case "display:none", "visibility:hidden", "visibility:collapse", "opacity:0", "opacity:0.0", "font-size:0",
			"font-size:0px", "color:transparent":
			return true
		}
	}
	return false
}
