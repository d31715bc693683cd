package files

import "strings"

// The verdicts of wild. Abort means that no longer part of the text can match either; abortStars that only
// a ** further out can still match. They keep hostile patterns from taking exponential time.
type verdict int

const (
	noMatch verdict = iota
	matches
	abort
	abortStars
)

// wildmatch matches a pattern of an ignore file as git does when paths matter: * and ? stop at slashes,
// ** between slashes does not. (git's wildmatch.c with WM_PATHNAME is the yardstick; the test holds
// this against git check-ignore.)
func wildmatch(pattern, text string) bool { return wild(pattern, text, 0) == matches }

// wild matches pattern[from:]; the byte before from shows whether ** stands after a slash.
func wild(pattern, text string, from int) verdict {
	p := from
	for ; p < len(pattern); p++ {
		c := pattern[p]
		if text == "" && c != '*' {
			return abort
		}
		switch c {
		case '\\':
			p++
			if p == len(pattern) || text[0] != pattern[p] {
				return noMatch
			}
		case '?':
			if text[0] == '/' {
				return noMatch
			}
		case '*':
			next, deep, done := stars(pattern, text, p)
			if done != noMatch {
				return done
			}
			if !deep && pattern[next] == '/' {
				slash := strings.IndexByte(text, '/')
				if slash < 0 {
					return abort
				}
				text, p = text[slash:], next
				break
			}
			return afterStar(pattern, text, next, deep)
		case '[':
			end, ok := class(pattern, p, text[0])
			if end < 0 {
				return abort
			}
			if !ok || text[0] == '/' {
				return noMatch
			}
			p = end
		default:
			if text[0] != c {
				return noMatch
			}
		}
		text = text[1:]
	}
	if text != "" {
		return noMatch
	}
	return matches
}

// stars reads the stars at pattern[p]: the next place, whether they cross slashes, and a verdict other
// than noMatch when nothing more is to be tried.
func stars(pattern, text string, p int) (next int, deep bool, done verdict) {
	next = p
	for next < len(pattern) && pattern[next] == '*' {
		next++
	}
	rest := pattern[next:]
	if next-p > 1 && (p == 0 || pattern[p-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)) {
		if rest != "" && rest[0] == '/' && wild(pattern, text, next+1) == matches {
			return next, true, matches
		}
		deep = true
	}
	if rest == "" {
		if !deep && strings.Contains(text, "/") {
			return next, deep, abortStars
		}
		return next, deep, matches
	}
	return next, deep, noMatch
}

// afterStar tries the rest of the pattern at every place of the text that a star may reach.
func afterStar(pattern, text string, next int, deep bool) verdict {
	for ; text != ""; text = text[1:] {
		switch v := wild(pattern, text, next); {
		case v == noMatch:
			if !deep && text[0] == '/' {
				return abortStars
			}
		case !deep || v != abortStars:
			return v
		}
	}
	return abort
}

// class matches c against the bracket expression at pattern[p]. end is the index of its ], or -1 when
// it is malformed.
func class(pattern string, p int, c byte) (end int, ok bool) {
	at := func(i int) byte {
		if i < len(pattern) {
			return pattern[i]
		}
		return 0
	}
	p++
	negated := at(p) == '!' || at(p) == '^'
	if negated {
		p++
	}
	matched := false
	var prev byte
	for first := true; first || at(p) != ']'; p, first = p+1, false {
		ch := at(p)
		switch {
		case ch == 0:
			return -1, false
		case ch == '\\':
			p++
			if ch = at(p); ch == 0 {
				return -1, false
			}
			matched = matched || c == ch
		case ch == '-' && prev != 0 && at(p+1) != 0 && at(p+1) != ']':
			p++
			if ch = at(p); ch == '\\' {
				p++
				if ch = at(p); ch == 0 {
					return -1, false
				}
			}
			matched = matched || (prev <= c && c <= ch)
			ch = 0
		case ch == '[' && at(p+1) == ':':
			close := strings.IndexByte(pattern[p+2:], ']')
			if close < 0 {
				return -1, false
			}
			name := pattern[p+2 : p+2+close]
			if !strings.HasSuffix(name, ":") { // no :] after all: an ordinary [
				matched = matched || c == '['
				break
			}
			in, known := posix(strings.TrimSuffix(name, ":"), c)
			if !known {
				return -1, false
			}
			matched = matched || in
			p += 2 + close
			ch = 0
		default:
			matched = matched || c == ch
		}
		prev = ch
	}
	return p, matched != negated
}

// posix reports whether c is in a named class of ASCII.
func posix(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || ('\t' <= c && c <= '\r'), true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F'), true
	}
	return false, false
}
