package pdf

// operandsMax is how many operands of an operator are kept.
const operandsMax = 10_000

// Operators calls do for each operator of a content stream with its operands. It ends where do returns false.
func Operators(data []byte, do func(op string, args []any) bool) {
	l := &lexer{buf: data}
	var args []any
	for {
		v, ok := l.value(0)
		if !ok {
			return
		}
		op, isOp := v.(keyword)
		if !isOp {
			if len(args) < operandsMax {
				args = append(args, v)
			}
			continue
		}
		if op == "ID" {
			l.skipImage()
			args = args[:0]
			continue
		}
		if !do(string(op), args) {
			return
		}
		args = args[:0]
	}
}

// skipImage goes behind the bytes of an image in the stream: to EI between blanks.
func (l *lexer) skipImage() {
	for i := l.pos; i+2 < int64(len(l.buf)); i++ {
		if blank(l.buf[i]) && l.buf[i+1] == 'E' && l.buf[i+2] == 'I' && (i+3 >= int64(len(l.buf)) || blank(l.buf[i+3])) {
			l.pos = i + 3
			return
		}
	}
	l.pos = int64(len(l.buf))
}

// Form is a drawing that the operator Do shows.
type Form struct {
	Contents  []byte
	Matrix    []float64 // six numbers, or none
	Resources Dict      // nil: those of the page
}

// Form is the form of a name in the resources. ok is false for images and what is not there.
func (p *Page) Form(resources Dict, name Name) (f Form, ok bool) {
	r := p.reader
	s, ok := r.Value(r.Dict(resources["XObject"])[name]).(*Stream)
	if !ok || r.Name(s.Dict["Subtype"]) != "Form" {
		return Form{}, false
	}
	f = Form{Contents: s.Bytes(), Resources: r.Dict(s.Dict["Resources"])}
	if m := r.numbers(s.Dict["Matrix"]); len(m) == 6 {
		f.Matrix = m
	}
	return f, true
}

// Font is the font of a name in the resources.
func (p *Page) Font(resources Dict, name Name) *Font {
	r := p.reader
	return r.Font(r.Dict(resources["Font"])[name])
}
