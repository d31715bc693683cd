package termtest

import (
	"strconv"
	"strings"
)

// Style is how a cell looks. The zero value is the terminal's default. Colours are the parameters that set
// them ("31", "38;5;17", "38;2;10;20;30"), with the number of the text's colour also for the background and
// the underline.
type Style struct {
	FG, BG, Line                                         string
	Bold, Faint, Italic, Blink, Reverse, Conceal, Strike bool
	Under                                                int // 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
	Link                                                 string
}

// Apply changes the style by the parameters of an SGR sequence.
func (s *Style) Apply(params string) {
	p := strings.Split(params, ";")
	for i := 0; i < len(p); i++ {
		head, sub, _ := strings.Cut(p[i], ":")
		n, _ := strconv.Atoi(head)
		switch {
		case n == 38 || n == 48 || n == 58:
			arg := strings.Split(sub, ":")
			if sub == "" {
				arg = colourArguments(p[i+1:])
				i += len(arg)
			} else if arg[0] == "2" && len(arg) > 4 {
				arg = append([]string{"2"}, arg[len(arg)-3:]...) // without the colour space
			}
			s.setColour(n, "38;"+strings.Join(arg, ";"))
		case n == 4 && sub != "":
			s.Under, _ = strconv.Atoi(sub)
		default:
			s.set(n)
		}
	}
}

func colourArguments(p []string) []string {
	if len(p) > 0 {
		if n := map[string]int{"5": 2, "2": 4}[p[0]]; n > 0 {
			return p[:min(n, len(p))]
		}
	}
	return nil
}

func (s *Style) setColour(n int, c string) {
	switch n {
	case 38:
		s.FG = c
	case 48:
		s.BG = c
	default:
		s.Line = c
	}
}

// switches are the parameters that set an attribute, and those that reset it.
func (s *Style) switches(n int) (attribute *bool, on bool) {
	switch n {
	case 1:
		return &s.Bold, true
	case 2:
		return &s.Faint, true
	case 3, 23:
		return &s.Italic, n == 3
	case 5, 6, 25:
		return &s.Blink, n != 25
	case 7, 27:
		return &s.Reverse, n == 7
	case 8, 28:
		return &s.Conceal, n == 8
	case 9, 29:
		return &s.Strike, n == 9
	}
	return nil, false
}

// set applies a parameter that stands alone.
func (s *Style) set(n int) {
	if attribute, on := s.switches(n); attribute != nil {
		*attribute = on
		return
	}
	switch {
	case n == 0:
		*s = Style{Link: s.Link}
	case n == 4:
		s.Under = 1
	case n == 21:
		s.Under = 2
	case n == 22:
		s.Bold, s.Faint = false, false
	case n == 24:
		s.Under = 0
	case n >= 30 && n <= 37 || n >= 90 && n <= 97:
		s.FG = strconv.Itoa(n)
	case n >= 40 && n <= 47 || n >= 100 && n <= 107:
		s.BG = strconv.Itoa(n - 10)
	case n == 39:
		s.FG = ""
	case n == 49:
		s.BG = ""
	case n == 59:
		s.Line = ""
	}
}
