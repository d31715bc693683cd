package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// testKind says which variables of the environment a test may look at: it prints no value, but who compares a secret
// letter by letter learns it.
type testKind int

const (
	testsNothing testKind = iota
	testsNames            // variables with names as scripts give them
	testsEmpty            // any variable: it is only tested whether it is empty
)

// testOf is the kind of test that a command is.
func testOf(c *syntax.CallExpr) testKind {
	if name := c.Args[0].Lit(); name != "[" && name != "test" {
		return testsNothing
	}
	at := 1
	if len(c.Args) > 2 && c.Args[1].Lit() == "!" {
		at = 2
	}
	if len(c.Args) > at && among(c.Args[at].Lit(), "-n", "-z") {
		return testsEmpty
	}
	return testsNames
}

// code is the code of a variable of the environment in a test, "" where it is not to be looked at: $x, ${x:-word},
// ${x+word}.
func (t testKind) code(p *syntax.ParamExp) string {
	name := p.Param.Value
	if t == testsNothing || !syntax.ValidName(name) || t == testsNames && !ownName(name) && name != "CI" ||
		among(name, shellVariables...) || among(name, "kept_*", "turn_*") {
		return ""
	}
	if plainParam(p) {
		return "${" + name + "}"
	}
	if p.Exp == nil || p.Index != nil || p.Slice != nil || p.Repl != nil || len(p.Modifiers) > 0 {
		return ""
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		text := ""
		if p.Exp.Word != nil && len(p.Exp.Word.Parts) > 0 {
			if text = p.Exp.Word.Lit(); !oneWord.MatchString(text) {
				return ""
			}
		}
		return "${" + name + p.Exp.Op.String() + text + "}"
	}
	return ""
}

// comparesTexts takes test and [ with the output of commands where they compare it and do nothing else with it:
// [ -n "$(git status -s)" ]. The safe form has it in quotes, so that it is one word.
func (a *analysis) comparesTexts(c *call, sc *scope) {
	words := c.words[1:]
	if c.name == "[" && len(words) > 0 && words[len(words)-1].text == "]" {
		words = words[:len(words)-1]
	} else if c.name != "test" {
		return
	}
	if len(words) > 0 && words[0].text == "!" && len(words) > 2 {
		words = words[1:]
	}
	switch {
	case len(words) == 2 && among(words[0].text, "-n", "-z"):
	case len(words) == 3 && among(words[1].text, "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "<", ">"):
	default:
		return
	}
	plain, some := make([]program.Word, len(c.words)), false
	for i, w := range c.words {
		plain[i] = w.program()
		if w.literal() && !w.glob {
			continue
		}
		if w.code == "" || w.produced != nil || w.bare && !oneCode(w.code) {
			return
		}
		plain[i], some = program.Word{Text: "x", Quoted: true}, true
	}
	if some {
		c.use, c.compares = program.Analyze(plain, program.Env{Dir: sc.dir(), World: a.world}), true
	}
}

// oneCode reports whether code is one $( ) or one variable and nothing else, so that quotes can be put around it.
func oneCode(code string) bool {
	return bareCode(code) != "" && !strings.Contains(code, " )$(") || strings.HasPrefix(code, "${") && strings.IndexByte(
		code, '}') == len(code)-1
}

// blanksOfWords end words of an expansion.
const blanksOfWords = " \t\n"

// rewriteTest writes a test anew in which words are not in quotes. As in bash, one without text is no word, and one
// with a blank in it is too many.
func (a *analysis) rewriteTest(c *call) string {
	words, codes := make([]string, len(c.words)), map[int]string{}
	var b strings.Builder
	for i, w := range c.words {
		switch {
		case w.code == "":
			words[i] = quote(w.text)
		case !w.bare:
			words[i] = w.code
		default:
			a.kept++
			name := "kept_" + strconv.Itoa(a.kept)
			set := "'" + blanksOfWords + "'"
			// set -e looks at the test only
			b.WriteString(name + "=" + strings.TrimSuffix(strings.TrimPrefix(w.code, "''"), "''") + " || builtin ':'; ")
			b.WriteString(name + "=${" + name + "#\"${" + name + "%%[!" + set + "]*}\"}; ")
			b.WriteString(name + "=${" + name + "%\"${" + name + "##*[!" + set + "]}\"}; ")
			words[i], codes[i] = `"${`+name+`}"`, name
		}
	}
	if len(codes) == 0 {
		return "builtin " + strings.Join(words, " ")
	}
	return "{ " + b.String() + branches(words, codes, 1) + "; }"
}

// branches is the test for each of the forms that the words from one on may have.
func branches(words []string, codes map[int]string, from int) string {
	for i := from; i < len(words); i++ {
		name, bare := codes[i]
		if !bare {
			continue
		}
		without, later := append(words[:i:i], words[i+1:]...), map[int]string{}
		for at, name := range codes {
			if at > i {
				later[at-1] = name
			}
		}
		return "case ${" + name + "} in ('') " + branches(without, later, i) + ";; (*['" + blanksOfWords + "']*) builtin " +
			words[0] + " x x x x x " + closing(words) +
			";; (*) " + branches(words, codes, i+1) + ";; esac"
	}
	return "builtin " + strings.Join(words, " ")
}

// closing is the bracket at the end of [ ].
func closing(words []string) string {
	if words[0] == "'['" {
		return "']'"
	}
	return ""
}
