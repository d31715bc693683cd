package program

import (
	"strings"
)

// awkBinary are the operators between two values.
var awkBinary = set{
	"+", "-", "*", "/", "%", "^", "<", "<=", "==", "!=", ">", ">=", "~", "!~", "&&", "||", "?", ":", "=", "+=", "-=",
	"*=", "/=", "%=", "^=",
}

// expression reads values and operators in turn. In print, > ends it.
func (p *awkParser) expression(printing bool) {
	if !p.deeper() {
		return
	}
	defer func() { p.depth-- }()
	p.value(printing)
	for p.why == "" {
		switch {
		case p.is("|"), p.is("|&"):
			p.refuse("pipes to or from a program")
		case p.is(">>"), p.is(">=") && printing:
			p.refuse("writes a file")
		case p.is(">") && printing:
			return
		case p.is("++"), p.is("--"):
			p.next()
			if p.is("/") || p.is("/=") {
				p.unknown()
			}
		case p.tok.kind == awkSign && awkBinary.has(p.tok.text):
			joins := p.is("&&") || p.is("||")
			p.next()
			if joins {
				p.lines()
			}
			p.value(printing)
		case p.word("in"):
			p.next()
			p.value(printing)
		case p.tok.kind == awkName && awkReserved.has(p.tok.text):
			p.unknown()
		case p.tok.kind == awkNumber, p.tok.kind == awkString, p.tok.kind == awkName, p.is("$"), p.is("("):
			p.value(printing) // two values beside one another are joined
		default:
			return
		}
	}
}

// value reads one value with the signs before it.
func (p *awkParser) value(printing bool) {
	for p.is("!") || p.is("-") || p.is("+") || p.is("$") || p.is("++") || p.is("--") {
		dollar := p.is("$")
		p.next()
		if dollar && (p.is("/") || p.is("/=")) {
			p.unknown()
		}
	}
	switch {
	case p.is("/"), p.is("/="):
		p.tok = p.lex.regex(p.tok.at)
		if p.lex.why != "" {
			p.unknown()
			return
		}
		p.next()
	case p.tok.kind == awkNumber, p.tok.kind == awkString:
		p.next()
	case p.tok.kind == awkName:
		p.named(printing)
	case p.is("("):
		p.next()
		p.list(")")
	default:
		p.unknown()
	}
}

// list reads expressions up to the closing bracket.
func (p *awkParser) list(end string) (n int) {
	for p.why == "" && !p.is(end) {
		p.expression(false)
		n++
		if !p.is(",") {
			break
		}
		p.next()
		p.lines()
	}
	p.expect(end)
	return n
}

// named reads a variable, an element of an array, a call, or getline.
func (p *awkParser) named(printing bool) {
	name, calls := p.tok.text, p.tok.calls
	switch {
	case name == "getline":
		p.getline(printing)
	case name == "system":
		p.refuse("runs a program by system")
	case name == "PROCINFO" && strings.HasPrefix(p.lex.text[p.lex.at:], `["sorted_in"]`):
		p.next()
		p.next()
		p.next()
		p.next()
	case awkSecret.has(name):
		p.refuse("uses " + name)
	case awkReserved.has(name):
		p.unknown()
	case calls:
		p.next()
		p.next()
		n := p.list(")")
		if !awkFunctions.has(name) {
			p.called = append(p.called, name)
		} else if strings.HasPrefix(name, "asort") && n > 2 {
			p.refuse("sorts by a function that only running tells")
		}
	case name == "length":
		p.next()
		if p.is("/") || p.is("/=") || p.is("(") {
			p.unknown()
		}
	case awkFunctions.has(name):
		p.unknown()
	default:
		p.variable(name)
		p.next()
		if p.is("[") {
			p.next()
			p.list("]")
		}
	}
}

// variable notes a name.
func (p *awkParser) variable(name string) {
	if awkReserved.has(name) || awkSecret.has(name) || awkFunctions.has(name) {
		p.refuse("uses " + name)
	}
	p.variables = append(p.variables, name)
}

// getline reads the next line of the input, into a variable or not. Behind it < would name a file.
func (p *awkParser) getline(printing bool) {
	p.next()
	if p.tok.kind == awkName && !p.tok.calls && !awkReserved.has(p.tok.text) && !awkSecret.has(p.tok.text) &&
		!awkFunctions.has(p.tok.text) {
		p.variable(p.tok.text)
		p.next()
	}
	if !p.over() && !(p.is(">") && !printing) && !p.is(")") && !p.is("&&") && !p.is("||") {
		p.refuse("reads what only running tells by getline")
	}
}
