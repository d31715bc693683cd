package document

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// textReader reads the text of a page in the order in which it is drawn (ISO 32000-1, section 9.4). A line begins
// where the height changes, and a space stands where there is a gap of a fifth of the size of the font.
type textReader struct {
	page  pdf.Page
	fonts map[string]*textFont
	state textState
	saved []textState

	matrix, line matrix // of the text object
	out          strings.Builder
	x, y         float64 // where the last glyph ended, on the page
	some         bool    // a glyph came
}

// textState is what the operators q and Q save.
type textState struct {
	page                      matrix
	font                      *textFont
	size, char, word, leading float64
	scale                     float64 // horizontal
}

type textFont struct {
	pdf.Font
	decoder pdf.TextEncoding
	wide    bool // a code has two bytes
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

// textMax is how many bytes of text of one page are kept; nobody reads more.
const textMax = 4 << 20

func newTextReader(page pdf.Page) *textReader {
	return &textReader{page: page, fonts: map[string]*textFont{}, state: textState{page: unit, scale: 1}, matrix: unit, line: unit}
}

func (r *textReader) read() string {
	contents := r.page.V.Key("Contents")
	if contents.Kind() == pdf.Null {
		return ""
	}
	pdf.Interpret(contents, r.operator)
	return r.out.String()
}

func (r *textReader) operator(stack *pdf.Stack, op string) {
	args := make([]pdf.Value, stack.Len())
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = stack.Pop()
	}
	number := func(i int) float64 {
		if i >= len(args) {
			return 0
		}
		return args[i].Float64()
	}
	if r.placing(op, number) || len(args) == 0 {
		return
	}
	switch op {
	case "Tf":
		r.state.font, r.state.size = r.font(args[0].Name()), number(1)
	case "Tj":
		r.show(args[0].RawString())
	case "'":
		r.move(0, -r.state.leading)
		r.show(args[0].RawString())
	case "\"":
		if r.state.word, r.state.char = number(0), number(1); len(args) > 2 {
			r.move(0, -r.state.leading)
			r.show(args[2].RawString())
		}
	case "TJ":
		for i := range args[0].Len() {
			if v := args[0].Index(i); v.Kind() == pdf.String {
				r.show(v.RawString())
			} else {
				r.shift(-v.Float64() / 1000 * r.state.size * r.state.scale)
			}
		}
	}
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

func (r *textReader) font(name string) *textFont {
	if f, ok := r.fonts[name]; ok {
		return f
	}
	f := &textFont{Font: r.page.Font(name)}
	f.decoder, f.wide = f.Encoder(), f.V.Key("Subtype").Name() == "Type0"
	r.fonts[name] = f
	return f
}

// width is the width of a code in thousandths of the size of the font; half of the size where the font does not say.
func (f *textFont) width(code int) float64 {
	if !f.wide {
		if w := f.Width(code); w > 0 {
			return w
		}
	}
	return 500
}

// show writes a string and goes to its end.
func (r *textReader) show(raw string) {
	f := r.state.font
	if f == nil || r.out.Len() > textMax {
		return
	}
	text := f.decoder.Decode(raw)
	r.gap(text)
	r.out.WriteString(strings.Map(printable, text))
	step := 1
	if f.wide {
		step = 2
	}
	total := 0.0
	for i := 0; i+step <= len(raw); i += step {
		total += f.width(int(raw[i]))/1000*r.state.size + r.state.char
		if step == 1 && raw[i] == ' ' {
			total += r.state.word
		}
	}
	r.shift(total * r.state.scale)
	end := r.matrix.mul(r.state.page)
	r.x, r.y, r.some = end.e, end.f, true
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
