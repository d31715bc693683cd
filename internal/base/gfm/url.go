package gfm

import "strings"

// BareURL finds a URL in text (GFM, section "Autolinks (extension)"); at is -1 if the text has no URL.
func BareURL(v string) (at, end int) {
	for from := 0; ; {
		at = -1
		for _, start := range [...]string{"https://", "http://", "www."} {
			if i := strings.Index(v[from:], start); i >= 0 && (at < 0 || from+i < at) {
				at = from + i
			}
		}
		if at < 0 {
			return -1, 0
		}
		end = at
		for end < len(v) && v[end] > ' ' && v[end] != '<' && v[end] != '"' && v[end] != '`' {
			end++
		}
		end = at + len(trimURL(v[at:end]))
		alone := at == 0 || strings.IndexByte(" \n(*_~[{'\"", v[at-1]) >= 0 || v[at-1] >= 0x80
		if alone && end-at > 8 && strings.ContainsAny(v[at+4:end], ".:") {
			return at, end
		}
		from = at + 4
	}
}

// trimURL drops punctuation of the surrounding sentence from the end of a URL.
func trimURL(u string) string {
	for u != "" {
		last := u[len(u)-1]
		switch {
		case strings.IndexByte("?!.,:;*_~'\"", last) >= 0,
			last == ')' && strings.Count(u, ")") > strings.Count(u, "("),
			last == ']' && strings.Count(u, "]") > strings.Count(u, "["):
			u = u[:len(u)-1]
		default:
			return u
		}
	}
	return u
}
