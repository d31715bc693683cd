package document

import (
	"math"
	"strings"

	"github.com/lathe-dev/lathe/internal/tool/document/pdf"
)

// textReader reads the text of a page in the order in which it is drawn (ISO 32000-1, section 9.4). A line begins
// where the height changes, and a space stands where there is a gap of a fifth of the size of the font.
type textReader struct {
	page      *pdf.Page
	resources pdf.Dict // of the page, or the form that is being drawn
	fonts     map[string]*pdf.Font
	forms     map[string]pdf.Form
	scope     string // names the resources in fonts and forms
	depth     int    // of forms in each other
	steps     int    // operators so far
	state     textState
	saved     []textState

	matrix, line matrix // of the text object
	out          strings.Builder
	x, y         float64 // where the last glyph ended, on the page
	some         bool    // a glyph came
}

// textState is what the operators q and Q save.
type textState struct {
	page                      matrix
	font                      *pdf.Font
	size, char, word, leading float64
	scale                     float64 // horizontal
}

// matrix is a transformation: x' = a*x + c*y + e, y' = b*x + d*y + f.
type matrix struct{ a, b, c, d, e, f float64 }

func (m matrix) mul(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d,
		m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

var unit = matrix{a: 1, d: 1}

const (
	textMax  = 4 << 20    // bytes of text of one page that are kept; nobody reads more
	stepsMax = 20_000_000 // operators of one page
	formsMax = 10         // how deep forms may lie in each other
)

func newTextReader(page *pdf.Page) *textReader {
	return &textReader{
		page: page, resources: page.Resources, fonts: map[string]*pdf.Font{}, forms: map[string]pdf.Form{},
		state: textState{page: unit, scale: 1}, matrix: unit, line: unit,
	}
}

func (r *textReader) read() string {
	pdf.Operators(r.page.Contents(), r.operator)
	return r.out.String()
}

// operator carries out an operator. It returns false when the page has had enough of them.
func (r *textReader) operator(op string, args []any) bool {
	number := func(i int) float64 {
		if i >= len(args) {
			return 0
		}
		n, _ := args[i].(float64)
		return n
	}
	if r.steps++; !r.placing(op, number) && len(args) > 0 {
		r.shows(op, args, number)
	}
	return r.steps < stepsMax && r.out.Len() <= textMax
}

func (r *textReader) shows(op string, args []any, number func(int) float64) {
	switch op {
	case "Tf":
		r.state.font, r.state.size = r.font(args[0]), number(1)
	case "Tj":
		r.show(args[0])
	case "'":
		r.move(0, -r.state.leading)
		r.show(args[0])
	case "\"":
		if r.state.word, r.state.char = number(0), number(1); len(args) > 2 {
			r.move(0, -r.state.leading)
			r.show(args[2])
		}
	case "TJ":
		list, _ := args[0].(pdf.Array)
		for _, v := range list {
			if n, ok := v.(float64); ok {
				r.shift(-n / 1000 * r.state.size * r.state.scale)
			} else {
				r.show(v)
			}
		}
	case "Do":
		r.form(args[0])
	}
}

// form draws a form with its own matrix and resources.
func (r *textReader) form(v any) {
	name, _ := v.(pdf.Name)
	key := r.scope + "/" + string(name)
	f, known := r.forms[key]
	if !known {
		f, _ = r.page.Form(r.resources, name)
		r.forms[key] = f
	}
	if len(f.Contents) == 0 || r.depth >= formsMax {
		return
	}
	resources, scope, state, saved := r.resources, r.scope, r.state, r.saved
	if m := f.Matrix; m != nil {
		r.state.page = matrix{m[0], m[1], m[2], m[3], m[4], m[5]}.mul(r.state.page)
	}
	if f.Resources != nil {
		r.resources, r.scope = f.Resources, key
	}
	r.depth++
	r.saved = nil
	pdf.Operators(f.Contents, r.operator)
	r.depth--
	r.resources, r.scope, r.state, r.saved = resources, scope, state, saved
}

// placing carries out the operators that set the state or the place.
func (r *textReader) placing(op string, n func(int) float64) bool {
	s := &r.state
	switch op {
	case "q":
		if len(r.saved) < 1000 {
			r.saved = append(r.saved, *s)
		}
	case "Q":
		if last := len(r.saved) - 1; last >= 0 {
			*s, r.saved = r.saved[last], r.saved[:last]
		}
	case "cm":
		s.page = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}.mul(s.page)
	case "BT":
		r.matrix, r.line = unit, unit
	case "Tm":
		r.line = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}
		r.matrix = r.line
	case "Td":
		r.move(n(0), n(1))
	case "TD":
		s.leading = -n(1)
		r.move(n(0), n(1))
	case "T*":
		r.move(0, -s.leading)
	case "TL":
		s.leading = n(0)
	case "Tc":
		s.char = n(0)
	case "Tw":
		s.word = n(0)
	case "Tz":
		s.scale = n(0) / 100
	default:
		return false
	}
	return true
}

func (r *textReader) move(x, y float64) {
	r.line = matrix{1, 0, 0, 1, x, y}.mul(r.line)
	r.matrix = r.line
}

func (r *textReader) shift(x float64) { r.matrix = matrix{1, 0, 0, 1, x, 0}.mul(r.matrix) }

func (r *textReader) font(v any) *pdf.Font {
	name, _ := v.(pdf.Name)
	key := r.scope + "/" + string(name)
	f, known := r.fonts[key]
	if !known {
		f = r.page.Font(r.resources, name)
		r.fonts[key] = f
	}
	return f
}

// show writes a string and goes to its end.
func (r *textReader) show(v any) {
	f := r.state.font
	raw, ok := v.(pdf.String)
	if f == nil || !ok || r.out.Len() > textMax {
		return
	}
	var text strings.Builder
	total := 0.0
	f.Each(raw, func(s string, code, bytes int) {
		text.WriteString(s)
		total += f.Width(code)/1000*r.state.size + r.state.char
		if bytes == 1 && code == ' ' {
			total += r.state.word
		}
	})
	r.gap(text.String())
	r.out.WriteString(strings.Map(printable, letters(text.String())))
	r.shift(total * r.state.scale)
	end := r.matrix.mul(r.state.page)
	r.x, r.y, r.some = end.e, end.f, true
}

// letters writes ligatures as letters, so that words can be searched for.
func letters(s string) string {
	if !strings.Contains(s, "\xef\xac") {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if i := c - '\uFB00'; i >= 0 && i < 7 {
			b.WriteString([7]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[i])
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func printable(c rune) rune {
	if c < ' ' && c != '\t' {
		return -1
	}
	return c
}

// gap writes the space or the end of the line between the last string and the next.
func (r *textReader) gap(text string) {
	at := r.matrix.mul(r.state.page)
	size := max(math.Abs(r.state.size*math.Hypot(at.c, at.d)), 1)
	down := math.Abs(at.f - r.y)
	switch {
	case !r.some:
	case down > size*0.5 || at.e < r.x-size:
		r.out.WriteByte('\n')
		if down > size*2 {
			r.out.WriteByte('\n')
		}
	case at.e-r.x > size*0.2 && !strings.HasPrefix(text, " ") && !strings.HasSuffix(r.out.String(), " "):
		r.out.WriteByte(' ')
	}
}
