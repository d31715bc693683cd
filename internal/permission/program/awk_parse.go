package program

import (
	"slices"
	"strings"
)

// awkParser reads a program as POSIX awk with the extensions of gawk that are harmless. It does not build a
// tree: it only follows the grammar, to know the meaning of each sign in its place. A program that breaks the
// grammar, or that versions of awk parse differently, is not read-only.
type awkParser struct {
	lex   awkLexer
	tok   awkToken
	why   string // why it is not known to be read-only
	depth int

	functions []string // functions that the program defines
	called    []string // functions that it calls and that awk does not have
	variables []string // names that it uses as variables
}

// awkFunctions are the functions of awk and gawk that only compute. system and close are left out on purpose.
var awkFunctions = set{
	"length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "sin", "cos", "atan2", "exp", "log", "sqrt",
	"int", "rand", "srand",
	"tolower", "toupper", "gensub", "strftime", "systime", "mktime", "asort", "asorti", "patsplit", "strtonum", "and",
	"or", "xor", "compl",
	"lshift", "rshift", "typeof", "isarray", "fflush",
}

// awkSecret are variables that give a program data which the command does not name.
var awkSecret = set{"ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV", "ARGC"}

// awkReserved are words that some version reserves, so that they are not variables.
var awkReserved = set{
	"BEGIN", "END", "BEGINFILE", "ENDFILE", "func", "function", "getline", "print", "printf", "if", "else", "while",
	"for", "do", "break", "continue",
	"next", "nextfile", "exit", "return", "delete", "in", "switch", "case", "default", "system", "close", "eval",
	"include", "load", "namespace",
	"dcgettext", "dcngettext", "bindtextdomain", "extension", "mkbool", "stopme", "adump", "printerr",
}

type set []string

func (s set) has(name string) bool { return slices.Contains(s, name) }

func (p *awkParser) refuse(why string) {
	if p.why == "" {
		p.why = why
	}
	p.lex.at = len(p.lex.text)
	p.tok = awkToken{kind: awkEnd}
}

func (p *awkParser) unknown() {
	if p.lex.why != "" {
		p.refuse(p.lex.why)
		return
	}
	rest := strings.TrimSpace(p.lex.text[min(p.tok.at, len(p.lex.text)):])
	p.refuse("is not understood at " + rest[:min(len(rest), 20)])
}

func (p *awkParser) next() {
	p.tok = p.lex.next()
	if p.lex.why != "" {
		p.refuse(p.lex.why)
	}
}

func (p *awkParser) is(sign string) bool { return p.tok.kind == awkSign && p.tok.text == sign }

func (p *awkParser) word(name string) bool { return p.tok.kind == awkName && p.tok.text == name }

// expect takes a sign that must be there.
func (p *awkParser) expect(sign string) {
	if !p.is(sign) {
		p.unknown()
		return
	}
	p.next()
}

// lines skips line breaks.
func (p *awkParser) lines() {
	for p.tok.kind == awkLine {
		p.next()
	}
}

// program reads the items of a program: rules and functions.
func (p *awkParser) program() {
	p.next()
	for p.why == "" {
		for p.tok.kind == awkLine || p.is(";") {
			p.next()
		}
		if p.tok.kind == awkEnd {
			break
		}
		p.item()
	}
	for _, name := range p.called {
		if !slices.Contains(p.functions, name) {
			p.refuse("calls " + name)
		}
	}
	for _, name := range p.functions {
		if slices.Contains(p.variables, name) {
			p.refuse("uses " + name + " for a function and a variable")
		}
	}
}

// item reads one rule or function.
func (p *awkParser) item() {
	switch {
	case p.word("function"):
		p.function()
		return
	case p.word("BEGIN"), p.word("END"), p.word("BEGINFILE"), p.word("ENDFILE"):
		p.next()
		p.block()
		return
	}
	if !p.is("{") {
		p.expression(false)
		if p.is(",") {
			p.next()
			p.lines()
			p.expression(false)
		}
	}
	switch {
	case p.is("{"):
		p.block()
	case p.tok.kind == awkLine, p.tok.kind == awkEnd, p.is(";"):
	default:
		p.unknown()
	}
}

func (p *awkParser) function() {
	p.next()
	if p.tok.kind != awkName || awkReserved.has(p.tok.text) || awkFunctions.has(p.tok.text) || awkSecret.has(p.tok.text) {
		p.unknown()
		return
	}
	p.functions = append(p.functions, p.tok.text)
	p.next()
	p.expect("(")
	for p.tok.kind == awkName && p.why == "" {
		p.variable(p.tok.text)
		p.next()
		if !p.is(",") {
			break
		}
		p.next()
		p.lines()
	}
	p.expect(")")
	p.lines()
	p.block()
}

// block reads { statements }.
func (p *awkParser) block() {
	p.expect("{")
	for p.why == "" {
		for p.tok.kind == awkLine || p.is(";") {
			p.next()
		}
		if p.is("}") {
			p.next()
			return
		}
		if p.tok.kind == awkEnd {
			p.unknown()
			return
		}
		p.statement()
	}
}

// deeper limits nesting.
func (p *awkParser) deeper() bool {
	if p.depth++; p.depth > 100 {
		p.refuse("is nested too deeply")
	}
	return p.why == ""
}

func (p *awkParser) statement() {
	if !p.deeper() {
		return
	}
	defer func() { p.depth-- }()
	if p.is("{") {
		p.block()
		return
	}
	if p.tok.kind == awkName {
		switch p.tok.text {
		case "if":
			p.branch()
			return
		case "while":
			p.condition()
			p.body()
			return
		case "do":
			p.repeat()
			return
		case "for":
			p.loop()
			return
		}
	}
	p.simple()
	p.end()
}

// end takes the end of a simple statement; a closing brace stays for the block.
func (p *awkParser) end() {
	switch {
	case p.tok.kind == awkLine || p.is(";"):
		p.next()
	case p.is("}"):
	default:
		p.unknown()
	}
}

// condition reads a keyword and ( expression ). Behind it a slash would begin a pattern or divide, which the
// versions do not agree on.
func (p *awkParser) condition() {
	p.next()
	p.expect("(")
	p.expression(false)
	p.close()
}

// close takes the parenthesis that ends the head of a statement.
func (p *awkParser) close() {
	p.expect(")")
	if p.is("/") || p.is("/=") {
		p.refuse("has a slash that may begin a pattern or divide")
	}
}

// body reads the statement that a head belongs to.
func (p *awkParser) body() {
	p.lines()
	if p.is(";") {
		p.next()
		return
	}
	p.statement()
}

func (p *awkParser) branch() {
	p.condition()
	p.body()
	for p.tok.kind == awkLine || p.is(";") {
		p.next() // else may be on the next line
	}
	if p.word("else") {
		p.next()
		p.body()
	}
}

func (p *awkParser) repeat() {
	p.next()
	p.body()
	for p.tok.kind == awkLine || p.is(";") {
		p.next()
	}
	if !p.word("while") {
		p.unknown()
		return
	}
	p.condition()
	p.end()
}

// loop reads both kinds of for. (k in a) is an expression, too.
func (p *awkParser) loop() {
	p.next()
	p.expect("(")
	if !p.is(";") {
		p.simple()
	}
	if p.is(")") {
		p.close()
		p.body()
		return
	}
	p.expect(";")
	p.lines()
	if !p.is(";") {
		p.expression(false)
	}
	p.expect(";")
	p.lines()
	if !p.is(")") {
		p.simple()
	}
	p.close()
	p.body()
}

// simple reads a statement without statements in it.
func (p *awkParser) simple() {
	if p.tok.kind == awkName {
		switch p.tok.text {
		case "print", "printf":
			p.print()
			return
		case "break", "continue", "next", "nextfile":
			p.next()
			return
		case "exit", "return":
			p.next()
			if !p.over() {
				p.expression(false)
			}
			return
		case "delete":
			p.next()
			if p.tok.kind != awkName || p.tok.calls {
				p.unknown()
				return
			}
			p.named(false)
			return
		}
	}
	p.expression(false)
}

// over reports whether a simple statement ends here.
func (p *awkParser) over() bool {
	return p.tok.kind == awkLine || p.tok.kind == awkEnd || p.is(";") || p.is("}")
}

// print reads print and printf. Outside of brackets > begins the name of a file.
func (p *awkParser) print() {
	p.next()
	for p.why == "" && !p.over() && !p.output() {
		p.expression(true)
		if !p.is(",") {
			break
		}
		p.next()
		p.lines()
	}
	if !p.output() {
		return
	}
	p.next()
	if text := p.tok.text; p.tok.kind != awkString || text != `"/dev/stderr"` && text != `"/dev/stdout"` {
		p.refuse("writes a file")
		return
	}
	p.next()
	if !p.over() {
		p.refuse("writes a file")
	}
}

// output reports whether the output of print goes elsewhere from here on.
func (p *awkParser) output() bool {
	if p.is("|") || p.is("|&") {
		p.refuse("pipes to a program")
	}
	return p.is(">") || p.is(">>")
}
