package config

import (
	"bytes"
	"strings"
)

// A rawPair is a member of an object whose value has not been parsed.
type rawPair struct {
	key   string
	value []byte
}

// rawMembers splits an object of schema.json. The text is valid JSON, which the tests see to; anything but an object has
// no members.
func rawMembers(text []byte) []rawPair {
	var out []rawPair
	key, start, depth := "", 0, 0 // start of the value at depth 1, 0 before it
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
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

// stringEnd returns the position of the quote that ends the string at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// rawMember returns the value of a member, or nil.
func rawMember(text []byte, key string) []byte {
	for _, m := range rawMembers(text) {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// rawReference returns the schema that a "$ref" names.
func rawReference(ref string) []byte {
	return rawMember(rawMember(schemaJSON, "$defs"), strings.TrimPrefix(ref, "#/$defs/"))
}

// rawDefaults returns an object of all default values of a schema and the properties below it, or nil. It reads the text
// of schema.json because the defaults are needed at each start, and the rest of the schema seldom.
func rawDefaults(text []byte) *node {
	var out *node
	for _, m := range rawMembers(text) {
		switch m.key {
		case "default":
			return parseSchema(append(append([]byte(`{"v":`), m.value...), '}')).get("v")
		case "$ref":
			if out == nil {
				out = rawDefaults(rawReference(strings.Trim(string(m.value), `"`)))
			}
		case "properties":
			for _, p := range rawMembers(m.value) {
				d := rawDefaults(p.value)
				if d == nil {
					continue
				}
				if out == nil {
					out = object(d.src)
				}
				out.set(p.key, d)
			}
		}
	}
	return out
}
