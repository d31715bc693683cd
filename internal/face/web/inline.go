package web

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/lathe-dev/lathe/internal/base/gfm"
)

// inline writes the text of a block.
func (d *document) inline(w *writer, s string) {
	if !strings.ContainsAny(s, gfm.Special) || gfm.Tangled(s) {
		words(w, s)
		return
	}
	in := inliner{w: w, source: []byte(s)}
	doc, missed := d.links.Inline(in.source)
	d.missing = d.missing || len(missed) > 0
	for p := doc.FirstChild(); p != nil; p = p.NextSibling() {
		if p.PreviousSibling() != nil {
			w.tag("<br>")
		}
		in.children(p)
	}
}

// inliner writes the nodes of a block's text.
type inliner struct {
	w      *writer
	source []byte
	linked bool // inside of a link, which holds no other
}

func (in *inliner) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		in.node(c)
	}
}

func (in *inliner) within(open markup, n ast.Node, end markup) {
	in.w.tag(open)
	in.children(n)
	in.w.tag(end)
}

func (in *inliner) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		in.text(n)
	case *ast.CodeSpan:
		in.code(n)
	case *ast.Emphasis:
		if n.Level > 1 {
			in.within("<strong>", n, "</strong>")
		} else {
			in.within("<em>", n, "</em>")
		}
	case *gfm.Struck:
		in.within("<del>", n, "</del>")
	case *ast.Link:
		in.link(n, gfm.Unescape(string(n.Destination)))
	case *ast.Image:
		in.image(n)
	case *ast.AutoLink:
		target := string(n.URL(in.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
			target = "mailto:" + target
		}
		if label := string(n.Label(in.source)); in.linked || !anchor(in.w, target, label) {
			in.w.text(label)
		}
	case *ast.RawHTML:
		in.w.text(string(n.Segments.Value(in.source)))
	default:
		in.children(n)
	}
}

func (in *inliner) text(n *ast.Text) {
	v := gfm.Unescape(string(n.Value(in.source)))
	if in.linked {
		in.w.text(v)
	} else {
		words(in.w, v)
	}
	switch {
	case n.HardLineBreak():
		in.w.tag("<br>")
	case n.SoftLineBreak():
		in.w.tag(" ")
	}
}

func (in *inliner) code(n ast.Node) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(in.source))
		}
	}
	in.w.tag("<code>")
	if v := strings.ReplaceAll(b.String(), "\n", " "); in.linked {
		in.w.text(v)
	} else {
		places(in.w, v)
	}
	in.w.tag("</code>")
}

// link writes a link, and its host where the text does not say it. A URL that is no link is shown behind the text.
func (in *inliner) link(n ast.Node, target string) {
	shown := gfm.PlainText(n, in.source)
	host, ok := checked(target)
	if !ok || in.linked {
		in.children(n)
		if target != "" && target != shown {
			in.w.tag(` <span class="url">(`)
			in.w.line(target)
			in.w.tag(")</span>")
		}
		return
	}
	openLink(in.w, target)
	in.linked = true
	in.children(n)
	in.linked = false
	in.w.tag("</a>")
	if host != "" && !strings.Contains(strings.ToLower(shown), host) {
		in.w.tag(` <span class="url">(`)
		in.w.line(host)
		in.w.tag(")</span>")
	}
}

// image writes a picture's description and address. It is not loaded: that would tell its server who reads.
func (in *inliner) image(n *ast.Image) {
	alt := gfm.PlainText(n, in.source)
	if alt == "" {
		alt = "image"
	}
	in.w.element(`<em class="picture">`, alt, "</em> ")
	target := gfm.Unescape(string(n.Destination))
	if in.linked || !anchor(in.w, target, target) {
		in.w.element(`<span class="url">`, target, "</span>")
	}
}

// words writes plain text, in which URLs become links.
func words(w *writer, v string) {
	for {
		at, end := gfm.BareURL(v)
		if at < 0 {
			places(w, v)
			return
		}
		places(w, v[:at])
		target := v[at:end]
		if strings.HasPrefix(target, "www.") {
			target = "https://" + target
		}
		if !anchor(w, target, v[at:end]) {
			w.text(v[at:end])
		}
		v = v[end:]
	}
}

// places writes text in which places in files open them.
func places(w *writer, v string) {
	for text, at := range gfm.Places(v) {
		if at.Name == "" {
			w.text(text)
			continue
		}
		openFile(w, at.Name, at.Line)
		w.text(text)
		w.tag("</button>")
	}
}

// anchor writes a link with a text, if the URL may be one.
func anchor(w *writer, target, shown string) bool {
	if _, ok := checked(target); !ok {
		return false
	}
	openLink(w, target)
	w.text(shown)
	w.tag("</a>")
	return true
}

// openLink writes the start of a link that was checked. The other page learns nothing of this one.
func openLink(w *writer, target string) {
	u, _ := url.Parse(target)
	w.tag("<a")
	w.attr(" href=", u.String())
	w.tag(` target="_blank" rel="noopener noreferrer">`)
}

// checked reports whether a URL may be a link, and its host in small letters.
func checked(target string) (host string, ok bool) {
	u, err := url.Parse(target)
	if err != nil || len(target) > 2000 {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return strings.ToLower(u.Host), u.Host != ""
	case "mailto":
		return "", true
	}
	return "", false
}
