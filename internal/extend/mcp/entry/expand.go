package entry

import (
	"maps"
	"slices"
	"strings"
)

// fill puts variables into the fields that may name them.
func (e *Entry) fill(p *Places) {
	get := func(name string) (string, bool) {
		if p.Lookup == nil || e.Foreign() && p.Private != nil && p.Private(name) {
			return "", false
		}
		value, ok := p.Lookup(name)
		if ok {
			if e.Filled == nil {
				e.Filled = map[string]string{}
			}
			e.Filled[value] = name
		}
		return value, ok
	}
	x := func(s string) string {
		out, missing := expand(s, get)
		e.Missing = append(e.Missing, missing...)
		return out
	}
	e.Command, e.URL, e.Dir = x(e.Command), x(e.URL), x(e.Dir)
	for i := range e.Args {
		e.Args[i] = x(e.Args[i])
	}
	for _, m := range []map[string]string{e.Env, e.Headers} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			m[k] = x(m[k])
		}
	}
	slices.Sort(e.Missing)
	e.Missing = slices.Compact(e.Missing)
}

// expand replaces ${NAME} and ${NAME:-default}. A variable that is not set and has no default stays as it is written.
// Values are not expanded again.
func expand(s string, get func(string) (string, bool)) (out string, missing []string) {
	var b strings.Builder
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			break
		}
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			break
		}
		name, otherwise, hasDefault := strings.Cut(s[at+2:at+end], ":-")
		b.WriteString(s[:at])
		value, ok := get(name)
		switch {
		case !validName(name):
			b.WriteString(s[at : at+end+1])
		case ok && (value != "" || !hasDefault):
			b.WriteString(value)
		case hasDefault:
			b.WriteString(otherwise)
		default:
			missing = append(missing, name)
			b.WriteString(s[at : at+end+1])
		}
		s = s[at+end+1:]
	}
	b.WriteString(s)
	return b.String(), missing
}

func validName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
