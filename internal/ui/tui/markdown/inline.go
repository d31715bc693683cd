package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// inline reads the text of a block.
func (r *renderer) inline(l *leaf, s string, base theme.Style) []line.Span {
	in := inliner{r: r}
	if !strings.ContainsAny(s, gfm.Special) {
		in.words(s, base)
		return in.out
	}
	if gfm.Tangled(s) {
		in.put(s, base, "")
		return in.out
	}
	doc := in.parse(l, s)
	for p := doc.FirstChild(); p != nil; p = p.NextSibling() {
		if p.PreviousSibling() != nil {
			in.put("\n", base, "")
		}
		in.children(p, base, "")
	}
	return in.out
}

func (in *inliner) parse(l *leaf, s string) ast.Node {
	in.source = []byte(s)
	doc, missed := in.r.links.Inline(in.source)
	l.Own.missing = append(l.Own.missing, missed...)
	return doc
}

// begun is the final start of the paragraph that is being written.
type begun struct {
	text  string // up to and with a space
	base  theme.Style
	spans []line.Span
}

// open bytes of a paragraph that are read again for each frame.
const openText = 512

// growing is inline for the paragraph that is being written. As soon as a start of it has nothing open
// that later text could close, that start is kept and not read again.
func (r *renderer) growing(l *leaf, s string, base theme.Style) []line.Span {
	b := &r.begun
	if b.text == "" || b.base != base || !strings.HasPrefix(s, b.text) {
		*b = begun{base: base}
	}
	if rest := s[len(b.text):]; len(rest) > openText {
		if cut := strings.LastIndexByte(rest[:len(rest)-openText/4], ' ') + 1; cut > 1 && rest[cut-2] != ' ' &&
			rest[cut-2] != '\n' && rest[cut] > ' ' && r.closed(rest[:cut-1]) {
			b.spans = append(slices.Clip(b.spans), r.inline(l, rest[:cut-1], base)...)
			b.spans = append(b.spans, line.Span{Text: " ", Style: base})
			b.text = s[:len(b.text)+cut]
		}
	}
	return append(slices.Clip(b.spans), r.inline(l, strings.Join(gfm.CloseInline(strings.Split(s[len(b.text):], "\n")), "\n"),
		base)...)
}

// closed reports that every mark in a text has found its partner.
func (r *renderer) closed(s string) bool {
	if !strings.ContainsAny(s, gfm.Special) {
		return true
	}
	if gfm.Tangled(s) {
		return false
	}
	in := inliner{r: r}
	open := false
	_ = ast.Walk(in.parse(&leaf{}, s), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering && n.Parent().Kind() != ast.KindCodeSpan {
			open = open || strings.ContainsAny(string(t.Value(in.source)), "*_`~[]<")
		}
		return ast.WalkContinue, nil
	})
	return !open
}

// inliner turns the nodes of a block's text into spans.
type inliner struct {
	r      *renderer
	source []byte
	out    []line.Span
}

func (in *inliner) children(n ast.Node, s theme.Style, link string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		in.node(c, s, link)
	}
}

func (in *inliner) node(n ast.Node, s theme.Style, link string) {
	t := in.r.theme
	switch n := n.(type) {
	case *ast.Text:
		in.text(n, s, link)
	case *ast.CodeSpan:
		in.code(n, s, link)
	case *ast.Emphasis:
		over := t.Italic
		if n.Level > 1 {
			over = t.Bold
		}
		in.children(n, s.With(over), link)
	case *gfm.Struck:
		in.children(n, s.With(t.Strike), link)
	case *ast.Link:
		in.link(n, string(n.Destination), s)
	case *ast.Image:
		in.image(n, s, link)
	case *ast.AutoLink:
		in.auto(n, s)
	case *ast.RawHTML:
		in.put(string(n.Segments.Value(in.source)), s, link)
	default:
		in.children(n, s, link)
	}
}

func (in *inliner) text(n *ast.Text, s theme.Style, link string) {
	v := gfm.Unescape(string(n.Value(in.source)))
	if link == "" {
		in.words(v, s)
	} else {
		in.put(v, s, link)
	}
	switch {
	case n.HardLineBreak():
		in.put("\n", s, "")
	case n.SoftLineBreak():
		in.put(" ", s, link)
	}
}

func (in *inliner) code(n ast.Node, s theme.Style, link string) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(in.source))
		}
	}
	v := strings.ReplaceAll(b.String(), "\n", " ")
	if in.r.theme.Bare {
		v = "`" + v + "`"
	}
	s = s.With(in.r.theme.Code)
	if link == "" {
		in.places(v, s)
		return
	}
	in.put(v, s, link)
}

// link shows a link's text, and its host where the text does not say it.
func (in *inliner) link(n ast.Node, url string, s theme.Style) {
	url = gfm.Unescape(url)
	target := line.Link(url)
	if target == "" || !in.r.options.Links {
		in.children(n, s.With(in.r.theme.Link), "")
		if shown := gfm.PlainText(n, in.source); url != "" && url != shown && "mailto:"+shown != url {
			in.put(" ("+url+")", s.With(in.r.theme.Dim), "")
		}
		return
	}
	in.children(n, s.With(in.r.theme.Link), target)
	if h := host(target); h != "" && !strings.Contains(strings.ToLower(gfm.PlainText(n, in.source)), h) {
		in.put(" ("+h+")", s.With(in.r.theme.Dim), "")
	}
}

// image shows a picture's description and address.
func (in *inliner) image(n *ast.Image, s theme.Style, link string) {
	url := gfm.Unescape(string(n.Destination))
	alt := gfm.PlainText(n, in.source)
	if alt == "" {
		alt = "image"
	}
	in.put("["+alt+"]", s.With(in.r.theme.Italic), link)
	if target := line.Link(url); target != "" && in.r.options.Links && link == "" {
		in.put(" ("+url+")", s.With(in.r.theme.Dim), target)
	} else {
		in.put(" ("+url+")", s.With(in.r.theme.Dim), link)
	}
}

func (in *inliner) auto(n *ast.AutoLink, s theme.Style) {
	label, url := string(n.Label(in.source)), string(n.URL(in.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
		url = "mailto:" + url
	}
	target := line.Link(url)
	if !in.r.options.Links {
		target = ""
	}
	in.put(label, s.With(in.r.theme.Link), target)
}

// put appends text, made safe.
func (in *inliner) put(v string, s theme.Style, link string) {
	if v == "" {
		return
	}
	v = safe(v)
	if n := len(in.out); n > 0 && in.out[n-1].Style == s && in.out[n-1].Link == link {
		in.out[n-1].Text += v
		return
	}
	in.out = append(in.out, line.Span{Text: v, Style: s, Link: link})
}

// safe escapes text. Most of it was escaped as it came; entities and references may have added to it.
func safe(s string) string {
	if s == "\n" {
		return s
	}
	s = term.Escape(s)
	if strings.Contains(s, "\t") {
		s = strings.ReplaceAll(s, "\t", " ")
	}
	return s
}

// host is the host of a URL in small letters; without one it is "".
func host(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok || strings.HasPrefix(strings.ToLower(url), "file:") {
		return ""
	}
	h := rest[:len(rest)-len(strings.TrimLeft(rest, "/"))]
	rest = rest[len(h):]
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:] // before it is a user name, however much it looks like a host
	}
	return strings.ToLower(rest)
}
