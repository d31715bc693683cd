package markdown

import (
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// inlineParser reads the text of one block. Blocks are found line by line with our own code, since
// goldmark cannot go on where it stopped.
var inlineParser = sync.OnceValue(func() parser.Parser {
	inline := append(parser.DefaultInlineParsers(), util.Prioritized(strikethrough{}, 500))
	return parser.NewParser(parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)),
		parser.WithInlineParsers(inline...))
})

// definitionParser reads a paragraph that may begin with definitions of links.
var definitionParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)),
		parser.WithParagraphTransformers(util.Prioritized(parser.LinkReferenceParagraphTransformer, 1)))
})

// references is a parser's context that knows the links defined so far.
type references struct {
	parser.Context
	known  map[string]parser.Reference
	missed []string // unknown names of links
}

func (c *references) Reference(label string) (parser.Reference, bool) {
	r, ok := c.known[label]
	if !ok {
		c.missed = append(c.missed, label)
	}
	return r, ok
}

// define takes the definitions of links from the start of a paragraph, and returns the labels that are
// new. The paragraph keeps the rest.
func (r *renderer) define(l *leaf) (added []string) {
	if len(l.lines) == 0 || !strings.HasPrefix(l.lines[0], "[") || !strings.Contains(l.lines[0], "]:") ||
		footnotes(l.lines) {
		return nil
	}
	source := []byte(strings.Join(l.lines, "\n"))
	pc := parser.NewContext()
	doc := definitionParser().Parse(text.NewReader(source), parser.WithContext(pc))
	found := pc.References()
	if len(found) == 0 {
		return nil
	}
	l.lines = nil
	for p := doc.FirstChild(); p != nil; p = p.NextSibling() {
		if p.Kind() != ast.KindParagraph {
			continue
		}
		for i := range p.Lines().Len() {
			s := p.Lines().At(i)
			l.lines = append(l.lines, strings.TrimSuffix(string(s.Value(source)), "\n"))
		}
	}
	for _, ref := range found {
		label := util.ToLinkReference(ref.Label())
		if _, ok := r.links[label]; !ok && len(r.links) < maxLinks {
			r.links[label] = ref
			added = append(added, label)
		}
	}
	return added
}

// maxLinks bounds the definitions that are kept.
const maxLinks = 4096

// footnotes reports notes ("[^1]: text"), which are shown as the text they are.
func footnotes(lines []string) bool {
	for _, l := range lines {
		if strings.HasPrefix(l, "[^") {
			return true
		}
	}
	return false
}

// special are the characters that may begin something other than plain text.
const special = "\\`*_~[]<>&!\n"

// inline reads the text of a block.
func (r *renderer) inline(l *leaf, s string, base theme.Style) []line.Span {
	in := inliner{r: r}
	if !strings.ContainsAny(s, special) {
		in.words(s, base)
		return in.out
	}
	if tangled(s) {
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
	pc := &references{Context: parser.NewContext(), known: in.r.links}
	doc := inlineParser().Parse(text.NewReader(in.source), parser.WithContext(pc))
	l.missing = append(l.missing, pc.missed...)
	return doc
}

// Limits of the text that is read as inline Markdown. Its time can grow with the square of these.
const (
	mostBrackets = 100
	mostMarks    = 300 // runs of *, _ and ~
)

// tangled reports text with more brackets or marks than anybody writes; it is shown as it is.
func tangled(s string) bool {
	brackets, marks := 0, 0
	for i := range len(s) {
		switch c := s[i]; c {
		case '[':
			brackets++
		case '*', '_', '~':
			if i == 0 || s[i-1] != c {
				marks++
			}
		}
	}
	return brackets > mostBrackets || marks > mostMarks
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
	return append(slices.Clip(b.spans), r.inline(l, strings.Join(closeInline(strings.Split(s[len(b.text):], "\n")), "\n"),
		base)...)
}

// closed reports that every mark in a text has found its partner.
func (r *renderer) closed(s string) bool {
	if !strings.ContainsAny(s, special) {
		return true
	}
	if tangled(s) {
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
	case *struck:
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
	v := unescape(string(n.Value(in.source)))
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
	url = unescape(url)
	target := line.Link(url)
	if target == "" || !in.r.options.Links {
		in.children(n, s.With(in.r.theme.Link), "")
		if shown := plainText(n, in.source); url != "" && url != shown && "mailto:"+shown != url {
			in.put(" ("+url+")", s.With(in.r.theme.Dim), "")
		}
		return
	}
	in.children(n, s.With(in.r.theme.Link), target)
	if h := host(target); h != "" && !strings.Contains(strings.ToLower(plainText(n, in.source)), h) {
		in.put(" ("+h+")", s.With(in.r.theme.Dim), "")
	}
}

// image shows a picture's description and address.
func (in *inliner) image(n *ast.Image, s theme.Style, link string) {
	url := unescape(string(n.Destination))
	alt := plainText(n, in.source)
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

// plainText is the text of a node without markup.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			b.WriteString(unescape(string(t.Value(source))))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
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

// unescape resolves backslashes and entities.
func unescape(s string) string {
	if !strings.ContainsAny(s, "\\&") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case c == '&':
			end := strings.IndexByte(s[i:min(len(s), i+40)], ';')
			if end < 0 {
				b.WriteByte(c)
				continue
			}
			entity := []byte(s[i : i+end+1])
			resolved := util.ResolveEntityNames(util.ResolveNumericReferences(entity))
			if string(resolved) == string(entity) {
				b.WriteByte(c)
				continue
			}
			b.Write(resolved)
			i += end
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// struck is text that is struck through.
type struck struct{ ast.BaseInline }

var kindStruck = ast.NewNodeKind("Struck")

func (*struck) Kind() ast.NodeKind              { return kindStruck }
func (n *struck) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// strikethrough reads ~text~ and ~~text~~ (GFM, section "Strikethrough").
type strikethrough struct{}

func (strikethrough) Trigger() []byte         { return []byte{'~'} }
func (strikethrough) IsDelimiter(b byte) bool { return b == '~' }
func (strikethrough) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.OriginalLength == closer.OriginalLength
}
func (strikethrough) OnMatch(int) ast.Node { return &struck{} }

func (p strikethrough) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	rest, segment := block.PeekLine()
	d := parser.ScanDelimiter(rest, before, 1, p)
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}
