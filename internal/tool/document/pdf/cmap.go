package pdf

import "slices"

// cmap maps codes to text (section 9.10.3).
type cmap struct {
	spaces [5][]span // by the length of the codes
	single map[string]string
	ranges [5][]textRange
}

type span struct{ low, high string }

// textRange maps the codes from low to high: to the text of to counted up, or to one text of each.
type textRange struct {
	span
	to   string
	each []string
}

// mappingsMax is how many mappings of a font are kept.
const mappingsMax = 200_000

func readCMap(data []byte) *cmap {
	c := &cmap{single: map[string]string{}}
	l := &lexer{buf: data}
	var args []any
	for {
		v, ok := l.value(0)
		if !ok {
			return c
		}
		op, isOp := v.(keyword)
		if !isOp {
			if args = append(args, v); len(args) > mappingsMax {
				return c
			}
			continue
		}
		switch op {
		case "endcodespacerange":
			c.addSpaces(args)
		case "endbfchar":
			c.addSingle(args)
		case "endbfrange":
			c.addRanges(args)
		}
		args = args[:0]
	}
}

func (c *cmap) addSpaces(args []any) {
	for i := 0; i+1 < len(args); i += 2 {
		low, _ := args[i].(String)
		high, _ := args[i+1].(String)
		if n := len(low); n == len(high) && n >= 1 && n <= 4 && len(c.spaces[n]) < 100 {
			c.spaces[n] = append(c.spaces[n], span{string(low), string(high)})
		}
	}
}

func (c *cmap) addSingle(args []any) {
	for i := 0; i+1 < len(args) && len(c.single) < mappingsMax; i += 2 {
		code, _ := args[i].(String)
		switch to := args[i+1].(type) {
		case String:
			c.single[string(code)] = fromUTF16(string(to))
		case Name:
			c.single[string(code)] = glyph(string(to))
		}
	}
}

func (c *cmap) addRanges(args []any) {
	for i := 0; i+2 < len(args); i += 3 {
		low, _ := args[i].(String)
		high, _ := args[i+1].(String)
		n := len(low)
		if n != len(high) || n < 1 || n > 4 || len(c.ranges[n]) > mappingsMax {
			continue
		}
		r := textRange{span: span{string(low), string(high)}}
		switch to := args[i+2].(type) {
		case String:
			r.to = fromUTF16(string(to))
		case Array:
			for _, t := range to {
				s, _ := t.(String)
				r.each = append(r.each, fromUTF16(string(s)))
			}
		default:
			continue
		}
		c.ranges[n] = append(c.ranges[n], r)
	}
}

// holds reports whether each byte of a code is within those of the span.
func (s span) holds(code string) bool {
	for i := range len(code) {
		if code[i] < s.low[i] || code[i] > s.high[i] {
			return false
		}
	}
	return true
}

// length is how many bytes the first code has; 0 where the map does not say.
func (c *cmap) length(s string) int {
	for n := 1; n <= min(4, len(s)); n++ {
		if slices.ContainsFunc(c.spaces[n], func(sp span) bool { return sp.holds(s[:n]) }) {
			return n
		}
	}
	return 0
}

func (c *cmap) text(code string) (string, bool) {
	if t, ok := c.single[code]; ok {
		return t, true
	}
	if len(code) > 4 {
		return "", false
	}
	for _, r := range c.ranges[len(code)] {
		if code < r.low || code > r.high {
			continue
		}
		i := value(code) - value(r.low)
		if r.each != nil {
			if i < len(r.each) {
				return r.each[i], true
			}
			return "", false
		}
		text := []rune(r.to)
		if len(text) == 0 {
			return "", true
		}
		text[len(text)-1] += rune(i) //nolint:gosec // of at most four bytes; what is no character becomes U+FFFD
		return string(text), true
	}
	return "", false
}

func value(code string) (n int) {
	for i := range len(code) {
		n = n<<8 | int(code[i])
	}
	return n
}
