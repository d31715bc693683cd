package term

import (
	"strconv"
	"strings"
)

// Graphics is how text looks after a program's SGR sequences: the parameters in force, by kind (bold, dim, italic,
// underline, reverse, strike, fg, bg). A colour is "31", "97", "38;5;n" or "38;2;r;g;b". Text that hides or blinks is
// not kept.
type Graphics map[string]string

// Apply takes an SGR sequence ("\x1b[1;31m"), and ignores every other one: then it returns false.
func (g Graphics) Apply(seq string) bool {
	sgr, ok := SGR(seq)
	if !ok || len(seq) > 64 {
		return false
	}
	params := strings.Split(strings.ReplaceAll(sgr, ":", ";"), ";")
	for i := 0; i < len(params); i++ {
		n, err := strconv.Atoi(params[i])
		switch {
		case params[i] == "", err == nil && n == 0:
			clear(g)
		case err != nil || n < 0:
			return true
		case n == 38 || n == 48 || n == 58:
			i += g.extended(n, params[i+1:])
		default:
			g.one(n)
		}
	}
	return true
}

// one takes a parameter that is alone.
func (g Graphics) one(n int) {
	switch p := strconv.Itoa(n); {
	case n == 1:
		g["bold"] = p
	case n == 2:
		g["dim"] = p
	case n == 3:
		g["italic"] = p
	case n == 4:
		g["underline"] = p
	case n == 7:
		g["reverse"] = p
	case n == 9:
		g["strike"] = p
	case n == 22:
		delete(g, "bold")
		delete(g, "dim")
	case n == 23:
		delete(g, "italic")
	case n == 24:
		delete(g, "underline")
	case n == 27:
		delete(g, "reverse")
	case n == 29:
		delete(g, "strike")
	case n >= 30 && n <= 37, n >= 90 && n <= 97:
		g["fg"] = p
	case n >= 40 && n <= 47, n >= 100 && n <= 107:
		g["bg"] = p
	case n == 39:
		delete(g, "fg")
	case n == 49:
		delete(g, "bg")
	}
}

// extended takes a colour of 256 or of many ("5;n", "2;r;g;b") and returns how many parameters it is.
func (g Graphics) extended(n int, params []string) int {
	kind := map[int]string{38: "fg", 48: "bg"}[n]
	need := 0
	switch {
	case len(params) >= 2 && params[0] == "5":
		need = 2
	case len(params) >= 4 && params[0] == "2":
		need = 4
	default:
		return len(params)
	}
	for _, p := range params[1:need] {
		if v, err := strconv.Atoi(p); err != nil || v < 0 || v > 255 {
			return len(params)
		}
	}
	if kind != "" {
		g[kind] = strconv.Itoa(n) + ";" + strings.Join(params[:need], ";")
	}
	return need
}
