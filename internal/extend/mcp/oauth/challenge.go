package oauth

import "strings"

// challenge has the parameters of bearer tokens of a header WWW-Authenticate: foreign texts.
type challenge struct {
	metadata string // resource_metadata: the address of the server's metadata
	scope    string
	fault    string // error
}

// maxHeader bounds the text that is read, in bytes.
const maxHeader = 8 << 10

// parseChallenge reads the parameters of the scheme Bearer; unknown schemes and parameters are passed over.
func parseChallenge(header string) challenge {
	var c challenge
	rest := header[:min(len(header), maxHeader)]
	bearer := false
	for rest != "" {
		rest = strings.TrimLeft(rest, " \t,")
		name, after := token(rest)
		if name == "" {
			break
		}
		after = strings.TrimLeft(after, " \t")
		if !strings.HasPrefix(after, "=") {
			bearer = strings.EqualFold(name, "bearer") // a scheme
			rest = after
			continue
		}
		var value string
		value, rest = paramValue(strings.TrimLeft(after[1:], " \t"))
		if bearer {
			c.set(strings.ToLower(name), value)
		}
	}
	return c
}

func (c *challenge) set(name, value string) {
	for param, at := range map[string]*string{"resource_metadata": &c.metadata, "scope": &c.scope, "error": &c.fault} {
		if name == param && *at == "" {
			*at = value
		}
	}
}

// token cuts a name off.
func token(s string) (name, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`=,"()<>@;:\/[]?{}`, r)
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

// paramValue cuts a value off, quoted or not.
func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
