package program

import "strings"

// awkKind is the kind of a token of awk.
type awkKind byte

const (
	awkEnd    awkKind = iota
	awkName           // a variable, a function or a word of the language
	awkNumber         // 1, .5, 1e3
	awkString         // "text", with its quotes
	awkRegex          // /text/, with its slashes
	awkSign           // an operator or a bracket
	awkLine           // a line break
)

// awkToken is one token. A call has its parenthesis right after the name.
type awkToken struct {
	kind  awkKind
	text  string
	calls bool // a name with a parenthesis right after it
	at    int  // where it begins
}

// awkLexer cuts the text of a program into tokens. Implementations disagree about some texts: where a pattern
// with brackets ends, where a string goes on in the next line. Such a text is refused.
type awkLexer struct {
	text string
	at   int
	why  string
}

func (l *awkLexer) refuse(why string) awkToken {
	if l.why == "" {
		l.why = why
	}
	l.at = len(l.text)
	return awkToken{kind: awkEnd, at: l.at}
}

// next gives the next token. A slash is the sign; the parser asks for a pattern where it expects a value.
func (l *awkLexer) next() awkToken {
	if !l.blanks() {
		return l.refuse("has a backslash that not all versions of awk read the same way")
	}
	if l.at >= len(l.text) {
		return awkToken{kind: awkEnd, at: l.at}
	}
	from := l.at
	switch c := l.text[l.at]; {
	case c == '\n':
		l.at++
		return awkToken{kind: awkLine, text: "\n", at: from}
	case c == '"':
		return l.string()
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		for l.at < len(l.text) && isLetter(l.text[l.at]) {
			l.at++
		}
		return awkToken{kind: awkName, text: l.text[from:l.at], calls: l.peek() == '(', at: from}
	case c >= '0' && c <= '9', c == '.':
		return l.number()
	}
	return l.sign()
}

func (l *awkLexer) peek() byte {
	if l.at < len(l.text) {
		return l.text[l.at]
	}
	return 0
}

// blanks skips blanks, comments and joined lines; false for any other backslash.
func (l *awkLexer) blanks() bool {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\t':
			l.at++
		case c == '#':
			end := strings.IndexByte(l.text[l.at:], '\n')
			if end < 0 {
				end = len(l.text) - l.at
			}
			if strings.HasSuffix(l.text[l.at:l.at+end], `\`) {
				return false // some versions go on with the comment in the next line
			}
			l.at += end
		case c == '\\' && strings.HasPrefix(l.text[l.at:], "\\\n"):
			l.at += 2
		default:
			return c != '\\'
		}
	}
	return true
}

// string takes a string that ends in the line where it begins.
func (l *awkLexer) string() awkToken {
	from := l.at
	end := closingQuote(l.text, from)
	if end < 0 || strings.ContainsAny(l.text[from:end], "\n\r\x00") {
		return l.refuse("has a string that does not end in its line")
	}
	l.at = end + 1
	return awkToken{kind: awkString, text: l.text[from:l.at], at: from}
}

func (l *awkLexer) digits() (n int) {
	for l.at < len(l.text) && l.text[l.at] >= '0' && l.text[l.at] <= '9' {
		l.at++
		n++
	}
	return n
}

// number takes a decimal number. A letter right after it begins a name for some versions and not for others.
func (l *awkLexer) number() awkToken {
	from := l.at
	n := l.digits()
	if l.peek() == '.' {
		l.at++
		n += l.digits()
	}
	if c := l.peek(); n > 0 && (c == 'e' || c == 'E') {
		l.at++
		if s := l.peek(); s == '+' || s == '-' {
			l.at++
		}
		n = l.digits()
	}
	if n == 0 || isLetter(l.peek()) || l.peek() == '.' {
		return l.refuse("has a number that not all versions of awk read the same way")
	}
	return awkToken{kind: awkNumber, text: l.text[from:l.at], at: from}
}

// awkSigns are the operators and brackets, the longer ones first. >> and | are listed so that they are refused
// for their effect, not as unknown.
var awkSigns = []string{
	"|&", "||", "&&", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=", ">=", "!=", "!~", ">>",
	"{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=",
}

func (l *awkLexer) sign() awkToken {
	for _, s := range awkSigns {
		if strings.HasPrefix(l.text[l.at:], s) {
			l.at += len(s)
			return awkToken{kind: awkSign, text: s, at: l.at - len(s)}
		}
	}
	if l.text[l.at] == '@' {
		return l.refuse("uses @, which loads code or calls a function by a name that only running tells")
	}
	return l.refuse("has a character that is not a part of awk")
}

// regex takes the pattern that begins at from. It holds no slash but escaped ones, and its brackets are simple:
// versions disagree on whether a slash in brackets ends the pattern.
func (l *awkLexer) regex(from int) awkToken {
	const odd = "has a pattern that not all versions of awk read the same way"
	l.at = from + 1
	if l.peek() == '=' {
		return l.refuse(odd)
	}
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case '/':
			l.at++
			return awkToken{kind: awkRegex, text: l.text[from:l.at], at: from}
		case '\\':
			l.at++
			if c := l.peek(); c < ' ' || c >= 0x7f {
				return l.refuse(odd)
			}
		case '[':
			if !l.brackets() {
				return l.refuse(odd)
			}
			continue
		case ']', '\n', '\r', 0:
			return l.refuse(odd)
		}
		l.at++
	}
	return l.refuse(odd)
}

// brackets takes [...] as long as every version ends it at the same place.
func (l *awkLexer) brackets() bool {
	l.at++
	if l.peek() == '^' {
		l.at++
	}
	for n := 0; l.at < len(l.text); n++ {
		switch c := l.text[l.at]; c {
		case ']':
			l.at++
			return n > 0
		case '[':
			end := strings.Index(l.text[l.at:], ":]")
			if !strings.HasPrefix(l.text[l.at:], "[:") || end < 3 || strings.Trim(l.text[l.at+2:l.at+end],
				"abcdefghijklmnopqrstuvwxyz") != "" {
				return false
			}
			l.at += end + 2
			continue
		case '\\':
			l.at++
			if c := l.peek(); c <= ' ' || c >= 0x7f || c == ']' || c == '[' || c == '/' {
				return false
			}
		case '/', '\n', '\r', 0:
			return false
		}
		l.at++
	}
	return false
}
