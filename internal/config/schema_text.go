package config

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// A rawPair is a member of an object whose value has not been parsed.
type rawPair struct {
	key   string
	value []byte
}

// rawMembers splits an object of schema.json. The text is valid JSON, which the tests see to; anything but an object
// has no members.
func rawMembers(text []byte) []rawPair {
	var out []rawPair
	key, start, depth := "", 0, 0 // start of the value at depth 1, 0 before it
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			if end == len(text) {
				return out
			}
			if depth == 1 && start == 0 {
				key = string(text[i+1 : end])
			}
			i = end
		case c == ':' && depth == 1:
			start = i + 1
		case (c == ',' || c == '}') && depth == 1 && start > 0:
			out = append(out, rawPair{key, bytes.TrimSpace(text[start:i])})
			start = 0
		}
		depth += nesting(text[i])
	}
	return out
}

func nesting(c byte) int {
	switch c {
	case '{', '[':
		return 1
	case '}', ']':
		return -1
	}
	return 0
}

// stringEnd returns the position of the quote that ends the string at i. Most of the text is in strings: its speed is
// that of the splitting.
func stringEnd(text []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		slashes := 0
		for text[i-1-slashes] == '\\' { // the opening quote ends this
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// schemaParts are the members of schema.json and of its objects "properties" and "$defs", split once.
var schemaParts = sync.OnceValue(func() (p struct{ top, properties, defs []rawPair }) {
	p.top = rawMembers(schemaJSON)
	p.properties, p.defs = rawMembers(rawMember(p.top, "properties")), rawMembers(rawMember(p.top, "$defs"))
	return p
})

// rawMember returns the value of a member, or nil.
func rawMember(members []rawPair, key string) []byte {
	for _, m := range members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// rawReference returns the schema that a "$ref" names.
func rawReference(ref string) []byte {
	return rawMember(schemaParts().defs, strings.TrimPrefix(ref, "#/$defs/"))
}

// rawDefaults returns an object of all default values of the properties and of those below them, or nil. It reads the
// text of schema.json because the defaults are needed at each start, and the rest of the schema seldom.
func rawDefaults(properties []rawPair) *node {
	var out *node
	for _, p := range properties {
		d := rawDefault(p.value)
		if d == nil {
			continue
		}
		if out == nil {
			out = object(d.src)
		}
		out.set(p.key, d)
	}
	return out
}

// rawDefault returns the default value of one schema: its own, else those of its properties.
func rawDefault(text []byte) *node {
	if !bytes.Contains(text, []byte(`"default"`)) && !bytes.Contains(text, []byte(`"$ref"`)) {
		return nil
	}
	members := rawMembers(text)
	if v := rawMember(members, "default"); v != nil {
		return parseSchema(slices.Concat([]byte(`{"v":`), v, []byte("}"))).get("v")
	}
	if ref := rawMember(members, "$ref"); ref != nil {
		return rawDefault(rawReference(strings.Trim(string(ref), `"`)))
	}
	return rawDefaults(rawMembers(rawMember(members, "properties")))
}
