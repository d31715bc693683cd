package cli

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/tool"
)

// splitRules splits lists of rules at commas and blanks outside parentheses:
// "Read, Bash(git log *) Edit" is three rules. A parenthesis that is never closed keeps the rest together,
// so that the rule's own parser can complain about it.
func splitRules(lists []string) []string {
	var out []string
	for _, l := range lists {
		start, depth := 0, 0
		add := func(end int) {
			if s := strings.TrimSpace(l[start:end]); s != "" {
				out = append(out, s)
			}
			start = end + 1
		}
		for i := 0; i < len(l); i++ {
			switch c := l[i]; {
			case c == '(':
				depth++
			case c == ')' && depth > 0:
				depth--
			case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n'):
				add(i)
			}
		}
		if start < len(l) {
			add(len(l))
		}
	}
	return out
}

// looksLikeRule distinguishes a rule ("Edit", "Bash(git *)", "mcp__x__y") from a prompt.
func looksLikeRule(s string) bool {
	if strings.HasPrefix(s, "mcp__") && !strings.ContainsAny(s, " \t\n") {
		return true
	}
	name, rest, scoped := strings.Cut(s, "(")
	if scoped && !strings.HasSuffix(rest, ")") {
		return false
	}
	return tool.Catalogue().Named(name)
}
