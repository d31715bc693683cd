package llm

import "strings"

// ToolName returns a tool's name in the form that every wire takes: letters, digits, - and _, at most most bytes. Names
// in a history may come from another provider, or from a model that made one up.
func ToolName(s string, most int) string {
	if PlainName(s) && s != "" && len(s) <= most {
		return s
	}
	out := strings.Map(func(r rune) rune {
		if r < 128 && PlainName(string(r)) {
			return r
		}
		return '_'
	}, s)
	if out == "" {
		return "unknown"
	}
	return out[:min(len(out), most)]
}

// PlainName reports whether s holds only letters, digits, - and _.
func PlainName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && s[i] != '_' && s[i] != '-' {
			return false
		}
	}
	return s != ""
}
