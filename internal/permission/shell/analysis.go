package shell

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// analysis is the state of one walk.
type analysis struct {
	world permission.World
	start string // the folder that the line begins in
	line  string

	parts    []permission.Part
	calls    []*call
	redirs   []*redirect
	about    []string // the commands that the check now running found, as written
	accesses []permission.Access
	written  map[string]string // texts that the line writes into files, by path
	touched  map[touch]bool    // accesses that were noted
	odd      map[oddity][]string
	kinds    map[string]variableKind // of the variables that the line sets

	trees    []string  // of permission.Command
	gitDirs  []string  // of permission.Command
	landings []landing // places where the line puts files that may be links
	through  []string  // folders that a path leaves again by ..

	copies map[string]string // programs that the line copies or links, by the path of the copy
	loose  bool              // variables may have other values than the line shows: something assigns them by name

	class permission.Class
	exact bool

	mute   int // above 0: words are expanded only to learn the output of a substitution
	depth  int // substitutions within substitutions
	parsed int // bytes of text that were parsed
	inline int // calls of functions and aliases that were followed
	steps  int // statements that were looked at again, inside functions
}

// oddity is a construct that a check may want to hear of.
type oddity string

const (
	oddBraces       oddity = "braces"
	oddTooMuch      oddity = "too much"
	oddAnsi         oddity = "ansi quotes"
	oddArithmetic   oddity = "arithmetic"
	oddExtGlob      oddity = "extended pattern"
	oddEquals       oddity = "=cmd"
	oddIndirect     oddity = "indirect"
	oddIFS          oddity = "ifs"
	oddSubscript    oddity = "subscript"
	oddTransform    oddity = "transform"
	oddAssignExpand oddity = "assigning expansion"
	oddSubst        oddity = "substitution"
	oddHidden       oddity = "hidden text"
	oddFunction     oddity = "function"
	oddShadow       oddity = "shadow"
	oddCoproc       oddity = "coproc"
	oddZsh          oddity = "zsh"
	oddSyntax       oddity = "syntax"
	oddLong         oddity = "long"
	oddCharacter    oddity = "character"
	oddOpen         oddity = "left open"
	oddBlank        oddity = "blank"
	oddLetters      oddity = "letters"
	oddUnknownDir   oddity = "unknown folder"
	oddEvaluated    oddity = "evaluated name"
	oddControl      oddity = "control flow"
	oddBackground   oddity = "background"
	oddForkBomb     oddity = "fork bomb"
	oddDecoded      oddity = "decoded text"
	oddComment      oddity = "comment"
	oddPipedShell   oddity = "piped shell"
)

// saw notes a construct, with the text that shows it.
func (a *analysis) saw(o oddity, text string) {
	if a.mute == 0 && len(a.odd[o]) < mostFound && !has(a.odd[o], text) {
		a.odd[o] = append(a.odd[o], text)
	}
}

// raise makes the class of the line at least c.
func (a *analysis) raise(c permission.Class) {
	if a.mute == 0 {
		a.class = stronger(a.class, c)
	}
}

// opaque says that the line is not understood word by word, so it cannot count as harmless.
func (a *analysis) opaque() {
	if a.mute == 0 {
		a.exact = false
		a.raise(permission.ClassWrite)
	}
}

// source is the text of a node.
func (a *analysis) source(n syntax.Node, sc *scope) string {
	from, to := n.Pos(), n.End()
	if !from.IsValid() || !to.IsValid() {
		return ""
	}
	return cut(sc.src, from.Offset(), to.Offset())
}

func cut(text string, from, to uint) string {
	to = min(to, uint(len(text)))
	if from >= to {
		return ""
	}
	return text[from:to]
}

// analyze walks the whole line.
func analyze(line, dir string, w permission.World) *analysis {
	a := &analysis{world: w, start: dir, line: line, class: permission.ClassNeutral, exact: true}
	a.odd, a.touched = map[oddity][]string{}, map[touch]bool{}
	a.written, a.copies, a.kinds = map[string]string{}, map[string]string{}, map[string]variableKind{}
	a.characters(line)
	a.read(line, a.outer())
	a.lookalikes(line)
	return a
}

// outer is a new scope for the whole line.
func (a *analysis) outer() *scope {
	return &scope{src: a.line, dirs: []string{a.start}}
}

// read walks the line, or scans it where it cannot be walked.
func (a *analysis) read(line string, sc *scope) {
	switch {
	case len(line) > maxParse:
		a.saw(oddLong, "")
		a.opaque()
		a.scan(line, sc)
		return
	case len(line) > maxLine:
		a.saw(oddLong, "")
		a.opaque()
	}
	if deep(line) {
		a.saw(oddTooMuch, "brackets within brackets")
		a.opaque()
		a.scan(line, sc)
		return
	}
	if plain := uncommented(line); plain != line {
		// The parser goes on behind a comment that ends in a backslash; bash does not.
		a.saw(oddSyntax, "a backslash at the end of a comment")
		a.opaque()
		line, sc.src = plain, plain
	}
	a.continued(line, sc)
	a.parsed += len(line)
	file, err := parse(line)
	if err != nil {
		a.saw(oddSyntax, reason(err))
		a.opaque()
		a.scan(line, sc)
		return
	}
	ok := a.list(file.Stmts, sc)
	a.comments(file)
	if len(a.parts) == 0 {
		a.exact = false
	}
	if !ok {
		if len(a.odd[oddBackground]) == 0 && (a.looked(0) || a.exact && a.edits()) {
			a.saw(oddOpen, "")
		}
		a.raise(permission.ClassWrite)
	}
}

// edits reports whether every part is read-only or edits files.
func (a *analysis) edits() bool {
	return !slices.ContainsFunc(a.parts, func(p permission.Part) bool { return !p.Class.ReadOnly() && !p.Edits() })
}

// deep reports whether brackets are nested deeper than anybody writes, which takes a parser long. Quotes are
// not looked at: a line of that kind is refused either way.
func deep(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{':
			if depth++; depth > maxLevel {
				return true
			}
		case ')', '}':
			depth = max(0, depth-1)
		}
	}
	return false
}

// continued looks at lines that go on in the middle of a word: "$\<newline>(x)" is a substitution to bash, which
// joins the lines first, and no such thing to the parser.
func (a *analysis) continued(text string, sc *scope) {
	rest, broken := text, false
	for !broken {
		i := strings.Index(rest, "\\\n")
		if i < 0 {
			break
		}
		broken = i > 0 && rest[i-1] != ' ' && rest[i-1] != '\t'
		rest = rest[i+2:]
	}
	if !broken {
		return
	}
	a.saw(oddSyntax, "a word that goes on in the next line")
	a.opaque()
	guess := sc.inside("the lines joined")
	guess.guess = true
	a.script1(strings.ReplaceAll(text, "\\\n", ""), guess, sc.args)
}

// uncommented puts a blank in the place of each backslash that ends a line with a # before it: to bash it is
// part of a comment, which ends with the line.
func uncommented(text string) string {
	if !strings.Contains(text, "\\\n") || !strings.Contains(text, "#") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines[:len(lines)-1] {
		if strings.HasSuffix(line, `\`) && strings.Contains(line, "#") {
			lines[i] = line[:len(line)-1] + " "
		}
	}
	return strings.Join(lines, "\n")
}

// parsers are reused: one has buffers of some kilobytes. Trees do not refer to them.
var parsers = sync.Pool{New: func() any {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
}}

// parse reads text as bash.
func parse(text string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	file, err := p.Parse(strings.NewReader(text), "")
	parsers.Put(p)
	return file, err
}

// reason is a parse error without the position, for people.
func reason(err error) string {
	text := err.Error()
	var parseErr syntax.ParseError
	if errors.As(err, &parseErr) {
		text = parseErr.Text
	}
	return text
}

// nestedScript analyses text that something in the line runs as a script.
func (a *analysis) nestedScript(text string, sc *scope, within string, args []string) {
	a.script1(text, sc.inside(within), args)
}

// script1 analyses a script in a scope of its own.
func (a *analysis) script1(text string, inner *scope, args []string) {
	if a.mute > 0 || text == "" {
		return
	}
	inner.src, inner.nested, inner.args = text, inner.nested+1, args
	a.parsed += len(text)
	if inner.nested > maxNested || a.parsed > 3*maxParse {
		a.saw(oddTooMuch, "scripts within scripts")
		a.opaque()
		return
	}
	if deep(text) {
		a.saw(oddTooMuch, "brackets within brackets")
		a.opaque()
		a.scan(text, inner)
		return
	}
	text = uncommented(text)
	inner.src = text
	a.continued(text, inner)
	file, err := parse(text)
	if err != nil {
		a.saw(oddSyntax, reason(err))
		a.opaque()
		a.scan(text, inner)
		return
	}
	a.list(file.Stmts, inner)
}

// prompt analyses text in which bash runs substitutions: PS4, ${x@P}, subscripts, arithmetic on names.
func (a *analysis) prompt(text string, sc *scope, within string) {
	if a.mute > 0 || !strings.ContainsAny(text, "$`") {
		return
	}
	inner := sc.inside(within)
	inner.src, inner.nested = text, sc.nested+1
	a.parsed += len(text)
	if inner.nested > maxNested || a.parsed > 3*maxParse {
		a.saw(oddTooMuch, "texts within texts")
		a.opaque()
		return
	}
	doc, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(text))
	if err != nil {
		a.scan(text, inner)
		return
	}
	for _, part := range doc.Parts {
		a.pieces(nil, part, inner, false, false)
	}
}
