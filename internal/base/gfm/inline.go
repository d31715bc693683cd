package gfm

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
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

// Links are the links that a text has defined so far, by their labels.
type Links map[string]parser.Reference

// Inline reads the text of a block. missed are the labels of links that it refers to and that are not defined.
func (k Links) Inline(source []byte) (doc ast.Node, missed []string) {
	pc := &references{Context: parser.NewContext(), known: k}
	doc = inlineParser().Parse(text.NewReader(source), parser.WithContext(pc))
	return doc, pc.missed
}

// Define takes the definitions of links from the start of a paragraph. It returns the rest of its lines, and the labels
// that are new.
func (k Links) Define(lines []string) (rest, added []string) {
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "[") || !strings.Contains(lines[0], "]:") || footnotes(lines) {
		return lines, nil
	}
	source := []byte(strings.Join(lines, "\n"))
	pc := parser.NewContext()
	doc := definitionParser().Parse(text.NewReader(source), parser.WithContext(pc))
	found := pc.References()
	if len(found) == 0 {
		return lines, nil
	}
	for p := doc.FirstChild(); p != nil; p = p.NextSibling() {
		if p.Kind() != ast.KindParagraph {
			continue
		}
		for i := range p.Lines().Len() {
			s := p.Lines().At(i)
			rest = append(rest, strings.TrimSuffix(string(s.Value(source)), "\n"))
		}
	}
	for _, ref := range found {
		label := util.ToLinkReference(ref.Label())
		if _, ok := k[label]; !ok && len(k) < maxLinks {
			k[label] = ref
			added = append(added, label)
		}
	}
	return rest, added
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

// Special are the characters that may begin something other than plain text.
const Special = "\\`*_~[]<>&!\n"

// Limits of the text that is read as inline Markdown. Its time can grow with the square of these.
const (
	mostBrackets = 100
	mostMarks    = 300 // runs of *, _ and ~
)

// Tangled reports text with more brackets or marks than anybody writes; it is shown as it is.
func Tangled(s string) bool {
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

// PlainText is the text of a node without markup.
func PlainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			b.WriteString(Unescape(string(t.Value(source))))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// Unescape resolves backslashes and entities.
func Unescape(s string) string {
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

// Struck is text that is struck through.
type Struck struct{ ast.BaseInline }

var kindStruck = ast.NewNodeKind("Struck")

// Kind is the kind of the node.
func (*Struck) Kind() ast.NodeKind { return kindStruck }

// Dump prints the node for a person.
func (n *Struck) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// strikethrough reads ~text~ and ~~text~~ (GFM, section "Strikethrough").
type strikethrough struct{}

func (strikethrough) Trigger() []byte         { return []byte{'~'} }
func (strikethrough) IsDelimiter(b byte) bool { return b == '~' }
func (strikethrough) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.OriginalLength == closer.OriginalLength
}
func (strikethrough) OnMatch(int) ast.Node { return &Struck{} }

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
