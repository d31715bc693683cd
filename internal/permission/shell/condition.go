package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// condition writes [[ ]] as tests that evaluate nothing: each look at a file and each comparison as test, patterns as
// case. ok is false for everything that reads a variable by its name or is not plain; then nothing was noted.
func (a *analysis) condition(x syntax.TestExpr, raw string, sc *scope) (script string, ok bool) {
	was := a.snapshot()
	script, ok = a.tested(x, raw, sc)
	a.tests = was.tests
	if !ok || !a.looked(len(was.parts)) {
		*a = was
		return "", false
	}
	return script, true
}

func (a *analysis) tested(x syntax.TestExpr, raw string, sc *scope) (script string, ok bool) {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return a.tested(x.X, raw, sc)
	case *syntax.Word:
		a.tests = testsEmpty
		return a.testWords(raw, sc, plainTest("-n"), a.expandOne(x, sc))
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			script, ok = a.tested(x.X, raw, sc)
			return "{ ! " + script + "; }", ok
		}
		w, word := x.X.(*syntax.Word)
		if !word || !strings.Contains(" -e -f -d -r -w -x -s -L -p -S -b -c -n -z ", " "+x.Op.String()+" ") {
			return "", false
		}
		if a.tests = testsNothing; x.Op == syntax.TsEmpStr || x.Op == syntax.TsNempStr {
			a.tests = testsEmpty
		}
		return a.testWords(raw, sc, plainTest(x.Op.String()), a.expandOne(w, sc))
	case *syntax.BinaryTest:
		return a.testedBoth(x, raw, sc)
	}
	return "", false
}

func plainTest(text string) word { return word{text: text, show: text} }

// testedBoth is && and ||, and comparisons.
func (a *analysis) testedBoth(x *syntax.BinaryTest, raw string, sc *scope) (script string, ok bool) {
	if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
		left, okLeft := a.tested(x.X, raw, sc)
		right, okRight := a.tested(x.Y, raw, sc)
		return "{ " + left + " " + x.Op.String() + " " + right + "; }", okLeft && okRight
	}
	l, okLeft := x.X.(*syntax.Word)
	r, okRight := x.Y.(*syntax.Word)
	if !okLeft || !okRight {
		return "", false
	}
	a.tests = testsNothing // [[ ]] evaluates what it compares as numbers
	if among(x.Op.String(), "==", "=", "!=", "=~") {
		a.tests = testsNames
	}
	left := a.expandOne(l, sc)
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		if pattern, special := patternOf(r); special {
			return a.matchedBy(left, pattern, x.Op == syntax.TsNoMatch, raw, sc)
		}
		op := map[bool]string{true: "!=", false: "="}[x.Op == syntax.TsNoMatch]
		return a.testWords(raw, sc, left, plainTest(op), a.expandOne(r, sc))
	case syntax.TsReMatch:
		return a.matchedByExpression(left, r, raw, sc)
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr, syntax.TsNewer,
		syntax.TsOlder, syntax.TsDevIno:
		return a.testWords(raw, sc, left, plainTest(x.Op.String()), a.expandOne(r, sc))
	}
	return "", false
}

// testWords walks test with these words.
func (a *analysis) testWords(raw string, sc *scope, words ...word) (script string, ok bool) {
	for i := range words {
		words[i].glob = false // [[ ]] spreads no pattern
	}
	return a.run(&call{words: append([]word{plainTest("test")}, words...), raw: raw}, sc)
}

// patternOf is the right side of a comparison where an unquoted * or ? makes it a pattern; special is true also for a
// pattern of another kind, which is then "".
func patternOf(w *syntax.Word) (pattern string, special bool) {
	special = false
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[\\") {
				special = true
			}
			if strings.Trim(p.Value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:@%+=/-*? ") != "" {
				return "", special
			}
			b.WriteString(patternCode.Replace("'" + p.Value + "'"))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", true
			}
			b.WriteString(quote(p.Value))
		case *syntax.ExtGlob:
			return "", true
		case *syntax.DblQuoted:
			if len(p.Parts) != 1 {
				return "", special
			}
			lit, ok := p.Parts[0].(*syntax.Lit)
			if !ok || strings.Contains(lit.Value, `\`) {
				return "", special
			}
			b.WriteString(quote(lit.Value))
		default:
			return "", true // what a variable holds counts as a pattern
		}
	}
	return b.String(), special
}

// textCode is a word as one text in a script, "" when it cannot be written.
func textCode(w word) string {
	switch {
	case w.literal() && !w.glob:
		return quote(w.text)
	case w.code != "" && w.produced == nil && !w.bare:
		return w.code
	}
	return ""
}

func (a *analysis) matchedBy(left word, pattern string, not bool, raw string, sc *scope) (script string, ok bool) {
	code := textCode(left)
	if code == "" || pattern == "" {
		return "", false
	}
	a.noteTest(raw, sc)
	yes, no := "builtin true", "builtin false"
	if not {
		yes, no = no, yes
	}
	return "case " + code + " in (" + pattern + ") " + yes + ";; (*) " + no + ";; esac", true
}

// plainExpression is a regular expression that bash reads without its own quoting and expansions.
var plainExpression = regexp.MustCompile(`^[A-Za-z0-9_.,:/@^+*?\[\]-]+\$?$`)

func (a *analysis) matchedByExpression(left word, r *syntax.Word, raw string, sc *scope) (script string, ok bool) {
	code, expression := textCode(left), r.Lit()
	if code == "" || !plainExpression.MatchString(expression) {
		return "", false
	}
	a.noteTest(raw, sc)
	return "[[ " + code + " =~ " + expression + " ]]", true
}

// noteTest notes a comparison that no program makes.
func (a *analysis) noteTest(raw string, sc *scope) {
	a.part(permission.Part{Text: raw, Raw: raw, Class: permission.ClassNeutral, Within: sc.within, Exact: true}, sc)
}
