package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// cases walks case: the branches may run or not, and the word is only compared.
func (a *analysis) cases(c *syntax.CaseClause, sc *scope) (script string, ok bool) {
	w := a.expandOne(c.Word, sc)
	word := quote(w.text)
	if !w.literal() {
		word = w.code
	}
	var b strings.Builder
	b.WriteString("case " + word + " in ")
	ok = word != "" && !w.glob && !w.tilde
	for _, item := range c.Items {
		for i, p := range item.Patterns {
			a.look(p, sc)
			text := p.Lit()
			ok = ok && text != "" && strings.Trim(text,
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/*?") == ""
			b.WriteString([]string{"(", "|"}[min(i, 1)] + patternCode.Replace("'"+text+"'"))
		}
		before := sc.dirs
		text, good := a.branch(item.Stmts, sc)
		ok = ok && (good || len(item.Stmts) == 0) && item.Op == syntax.Break && sameDirs(before, sc.dirs)
		b.WriteString(") " + text + ";; ")
	}
	return b.String() + "esac", ok
}

// patternCode writes a pattern in quotes so that only its * and ? are out of them.
var patternCode = strings.NewReplacer("*", "'*'", "?", "'?'")
