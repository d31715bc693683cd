package git

import (
	"errors"
	"fmt"
	"strings"
)

// setting is one line of a git configuration: section.subsection.name with section and name in lower case,
// as git-config(1) lists them.
type setting struct{ key, value string }

var errSyntax = errors.New("it is not written as git-config(1) says")

// parseConfig reads the text of a git configuration file. Text that git itself would refuse, or that is not
// clear, is an error: a reader that guesses could miss a program that git sees.
func parseConfig(text string) ([]setting, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errSyntax
	}
	p := configParser{text: strings.ReplaceAll(text, "\r\n", "\n"), line: 1}
	for p.at < len(p.text) {
		if err := p.item(); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return p.out, nil
}

type configParser struct {
	text    string
	at      int
	line    int
	section string // with its subsection, "" before the first header
	out     []setting
}

func (p *configParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return '\n'
}

func (p *configParser) next() byte {
	c := p.peek()
	p.at++
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *configParser) blanks() {
	for c := p.peek(); c == ' ' || c == '\t' || c == '\r'; c = p.peek() {
		p.next()
	}
}

func (p *configParser) comment() {
	for p.at < len(p.text) && p.next() != '\n' {
	}
}

// item takes a header, a setting, a comment or an empty line.
func (p *configParser) item() error {
	p.blanks()
	switch c := p.peek(); {
	case c == '\n':
		p.next()
		return nil
	case c == '#' || c == ';':
		p.comment()
		return nil
	case c == '[':
		p.next()
		return p.header()
	case isLetter(c) && p.section != "":
		return p.setting()
	}
	return errSyntax
}

// header takes [section], [section "subsection"] or the old [section.subsection].
func (p *configParser) header() error {
	start := p.at
	for c := p.peek(); isLetter(c) || isDigit(c) || c == '-' || c == '.'; c = p.peek() {
		p.next()
	}
	p.section = strings.ToLower(p.text[start:min(p.at, len(p.text))])
	if p.section == "" {
		return errSyntax
	}
	if c := p.peek(); c == ' ' || c == '\t' {
		p.blanks()
		sub, err := p.subsection()
		if err != nil {
			return err
		}
		p.section += "." + sub
	}
	if p.at >= len(p.text) || p.next() != ']' {
		return errSyntax
	}
	return nil
}

func (p *configParser) subsection() (string, error) {
	if p.next() != '"' {
		return "", errSyntax
	}
	var b strings.Builder
	for p.at < len(p.text) {
		switch c := p.next(); c {
		case '"':
			return b.String(), nil
		case '\n':
			return "", errSyntax
		case '\\':
			if p.peek() == '\n' {
				return "", errSyntax
			}
			b.WriteByte(p.next())
		default:
			b.WriteByte(c)
		}
	}
	return "", errSyntax
}

// setting takes "name" or "name = value".
func (p *configParser) setting() error {
	start := p.at
	for c := p.peek(); isLetter(c) || isDigit(c) || c == '-'; c = p.peek() {
		p.next()
	}
	s := setting{key: p.section + "." + strings.ToLower(p.text[start:p.at])}
	p.blanks()
	switch c := p.peek(); c {
	case '\n':
		p.next()
		s.value = "true"
	case '#', ';':
		p.comment()
		s.value = "true"
	case '=':
		p.next()
		var err error
		if s.value, err = p.value(); err != nil {
			return err
		}
	default:
		return errSyntax
	}
	p.out = append(p.out, s)
	return nil
}

// value takes the rest of a line and those that it goes on in.
func (p *configParser) value() (string, error) {
	var b strings.Builder
	quoted := false
	p.blanks()
	for {
		if p.at >= len(p.text) {
			break
		}
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errSyntax
		case c == '\n':
			return strings.TrimRight(b.String(), " \t\r"), nil
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			p.comment()
			return strings.TrimRight(b.String(), " \t\r"), nil
		case c == '\\':
			e := p.next()
			i := strings.IndexByte("\n\\\"ntb", e)
			if i < 0 {
				return "", errSyntax
			}
			b.WriteString([]string{"", "\\", "\"", "\n", "\t", "\b"}[i])
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", errSyntax
	}
	return strings.TrimRight(b.String(), " \t\r"), nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
