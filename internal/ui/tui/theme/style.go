package theme

import "strings"

// Style is how text looks: the SGR sequences before and after it, or nothing. The zero
// value is text as the terminal shows it. Styles can be compared.
type Style struct {
	Prefix, Suffix string
}

const (
	sgrStart = "\x1b["
	sgrReset = "\x1b[m"
)

// sgr makes a style of SGR parameters ("1;31"); without any it is plain text.
func sgr(params string) Style {
	if params == "" {
		return Style{}
	}
	return Style{sgrStart + params + "m", sgrReset}
}

// Render is one line of escaped text in the style.
func (s Style) Render(text string) string {
	if s.Prefix == "" || text == "" {
		return text
	}
	return s.Prefix + text + s.Suffix
}

// With is the style with another one over it: both apply, and where they differ the other one wins.
func (s Style) With(over Style) Style {
	switch {
	case s.Prefix == "" || s == over:
		return over
	case over.Prefix == "":
		return s
	}
	return sgr(s.params() + ";" + over.params())
}

// Plain reports that the style changes nothing.
func (s Style) Plain() bool { return s.Prefix == "" }

func (s Style) params() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.Prefix, sgrStart), "m")
}
