package event

import (
	"slices"
	"strings"
	"sync"
)

// keyShapes are the forms of keys that name their issuer.
var keyShapes = sync.OnceValue(func() []shape {
	return slices.DeleteFunc(slices.Clone(secretShapes()), func(s shape) bool { return !s.issued })
})

const (
	shortKey   = 20  // the shortest key of an issuer
	maxKey     = 512 // the longest that is waited for while it is written
	keyBegin   = "-----BEGIN "
	keyEnd     = "-----END "
	privateKey = "PRIVATE KEY"
)

// maskKeys masks keys of known issuers and the content of private keys. Those that manuals and tests show instead of
// real ones stay.
func maskKeys(text string) string {
	if len(text) < shortKey {
		return text
	}
	for _, s := range keyShapes() {
		for _, hint := range s.hints {
			if masked, changed := s.mask(text, text, hint, telltaleKey); changed {
				text = masked
			}
		}
	}
	return maskPrivateKeys(text)
}

// telltaleKey reports whether what has the form of a key may be one: random text has digits and letters, and none of
// these words.
func telltaleKey(key string) bool {
	if len(key) < shortKey {
		return false
	}
	digits := 0
	for i := range len(key) {
		if '0' <= key[i] && key[i] <= '9' {
			digits++
		}
	}
	folded := lower(key)
	return digits >= 2 && !slices.ContainsFunc([]string{
		"example", "xxxx", "0123456789", "1234567890", "abcdefgh",
		"placeholder", "redacted", "your", "dummy", "fake",
	}, func(w string) bool {
		return strings.Contains(folded, w)
	})
}

// maskPrivateKeys masks the lines of private keys between their first and last lines. The lines stay, so that numbers
// of lines stay right.
func maskPrivateKeys(text string) string {
	var out strings.Builder
	done := 0
	for {
		start, end := privateKeyIn(text, done)
		if start < 0 {
			break
		}
		out.WriteString(text[done:start])
		out.WriteString(maskBase64(text[start:end]))
		done = end
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// privateKeyIn finds the content of the next private key, to its last line or to the end of the text; -1: there is
// none.
func privateKeyIn(text string, from int) (start, end int) {
	for {
		i := strings.Index(text[from:], keyBegin)
		if i < 0 {
			return -1, -1
		}
		from += i + len(keyBegin)
		title, rest, ok := strings.Cut(text[from:], "-----")
		if !ok || len(title) > 40 || !strings.Contains(title, privateKey) {
			continue
		}
		start = len(text) - len(rest)
		if n := strings.Index(rest, keyEnd); n >= 0 {
			return start, start + n
		}
		return start, len(text)
	}
}

// maskBase64 masks each long run of base64.
func maskBase64(text string) string {
	const least = 16 // shorter runs are words: Proc-Type, DEK-Info, and the last line of the key
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] == '\\' && i+1 < len(text) { // \n in a string of JSON
			out.WriteString(text[i : i+2])
			i += 2
			continue
		}
		n := 0
		for i+n < len(text) && (wordByte(text[i+n]) && text[i+n] != '_' || strings.IndexByte("+/=", text[i+n]) >= 0) {
			n++
		}
		switch {
		case n >= least:
			out.WriteString(Masked)
		case n == 0:
			out.WriteByte(text[i])
			n = 1
		default:
			out.WriteString(text[i : i+n])
		}
		i += n
	}
	return out.String()
}

// keyBegun is where a key begins at the end of text that may go on in what follows; the length of text if none does.
func keyBegun(text string) int {
	cut := len(text)
	if i := strings.LastIndex(text, keyBegin); i >= 0 && len(text)-i < longest && !strings.Contains(
		text[i+len(keyBegin):], keyEnd) {
		title, _, closed := strings.Cut(text[i+len(keyBegin):], "-----")
		if len(title) <= 40 && (!closed || strings.Contains(title, privateKey)) {
			cut = i
		}
	}
	for n := min(len(keyBegin)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, keyBegin[:n]) {
			cut = min(cut, len(text)-n)
			break
		}
	}
	low := len(text)
	for low > 0 && len(text)-low <= maxKey && (wordByte(text[low-1]) || text[low-1] == '-' || text[low-1] == '.') {
		low--
	}
	if len(text)-low > maxKey {
		return cut
	}
	for at := low; at < cut; at++ {
		if (at == low || !wordByte(text[at-1])) && (beginsKey(text[at:]) || at > 0 && text[at-1] == '\\' &&
			beginsKey(text[at+1:])) {
			return at
		}
	}
	return cut
}

// beginsKey reports whether a key may begin with text, or text with a key.
func beginsKey(text string) bool {
	return slices.ContainsFunc(keyShapes(), func(s shape) bool {
		return slices.ContainsFunc(s.hints, func(h string) bool {
			return strings.HasPrefix(text, h) || strings.HasPrefix(h, text)
		})
	})
}
