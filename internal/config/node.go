package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A node is one value of a settings document. Kinds are hujson's: the first byte of the value's JSON, '0' for
// numbers. Nodes of a loaded document are immutable; merging makes new ones.
type node struct {
	kind    byte
	text    string // of a string, decoded; of a number, as written
	members []member
	index   map[string]int // positions in members, for large objects
	elems   []*node

	src      *source
	off      int
	loose    bool    // from text (a variable, an expansion): may be converted to a number, a boolean, a list
	secret   bool    // expanded from a secret: masked when shown
	fromEnv  bool    // contains the value of an environment variable
	shadowed []*node // values of the same key in lower layers, highest first
}

type member struct {
	key    string
	keyOff int
	val    *node
}

func object(src *source) *node { return &node{kind: '{', src: src, off: -1} }

func stringNode(s string, src *source, off int) *node {
	return &node{kind: '"', text: s, src: src, off: off}
}

func (n *node) origin() Origin { return n.src.origin(n.off) }

// find returns the position of a member, or -1.
func (n *node) find(key string) int {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(n.members, func(m member) bool { return m.key == key })
}

// get returns the member's value, or nil.
func (n *node) get(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i := n.find(key); i >= 0 {
		return n.members[i].val
	}
	return nil
}

// bigObject is the number of members above which an object has an index.
const bigObject = 32

func (n *node) set(key string, val *node) {
	n.add(member{key: key, keyOff: val.off, val: val})
}

// add sets a member, replacing an older one of the same name, and reports whether there was one.
func (n *node) add(m member) (again bool) {
	if i := n.find(m.key); i >= 0 {
		n.members[i] = m
		return true
	}
	n.members = append(n.members, m)
	if n.index != nil {
		n.index[m.key] = len(n.members) - 1
	} else {
		n.reindex()
	}
	return false
}

// reindex rebuilds the index after members changed.
func (n *node) reindex() {
	n.index = nil
	if len(n.members) <= bigObject {
		return
	}
	n.index = make(map[string]int, len(n.members))
	for i := range n.members {
		n.index[n.members[i].key] = i
	}
}

// filter keeps the members for which keep returns true.
func (n *node) filter(keep func(member) bool) {
	n.members = slices.DeleteFunc(n.members, func(m member) bool { return !keep(m) })
	n.reindex()
}

func (n *node) remove(key string) { n.filter(func(m member) bool { return m.key != key }) }

// at follows a path; array elements are named by their index. It returns nil if there is no value.
func (n *node) at(p keyPath) *node {
	for _, seg := range p {
		if n == nil {
			return nil
		}
		if n.kind == '[' {
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(n.elems) {
				return nil
			}
			n = n.elems[i]
			continue
		}
		n = n.get(seg)
	}
	return n
}

// put sets the value at p, creating objects on the way.
func (n *node) put(p keyPath, val *node) {
	for _, seg := range p[:len(p)-1] {
		next := n.get(seg)
		if next == nil || next.kind != '{' {
			next = object(val.src)
			n.set(seg, next)
		}
		n = next
	}
	n.set(p[len(p)-1], val)
}

func (n *node) clone() *node {
	c := *n
	c.members = slices.Clone(n.members)
	for i := range c.members {
		c.members[i].val = c.members[i].val.clone()
	}
	c.reindex()
	c.elems = slices.Clone(n.elems)
	for i := range c.elems {
		c.elems[i] = c.elems[i].clone()
	}
	return &c
}

// appendJSON writes the value without comments and with members in document order.
func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, m.key)
			b = append(b, ':')
			b = m.val.appendJSON(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, e := range n.elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.appendJSON(b)
		}
		return append(b, ']')
	case '"':
		return appendString(b, n.text)
	case '0':
		return append(b, n.text...)
	case 't':
		return append(b, "true"...)
	case 'f':
		return append(b, "false"...)
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			q, err := json.Marshal(s)
			if err != nil { // strings always encode
				return append(b, `""`...)
			}
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// keyPath names a value: object keys and array indexes from the root.
type keyPath []string

// parsePath parses "permissions.allow[2]", "permissions.allow.2", `providers["my.corp"].apiBase` or
// `providers.my\.corp.apiBase`.
// `providers.my\.corp.apiBase`.
func parsePath(s string) (keyPath, error) {
	bad := func(why string) (keyPath, error) {
		return nil,
			&Error{
				Key: s, Text: why,
				Hint: `write keys with dots, as in permissions.allow, and quote odd ones: providers["my.corp"].apiBase`,
			}
	}
	var p keyPath
	for rest := s; ; {
		if strings.HasPrefix(rest, "[") {
			seg, after, ok := bracket(rest)
			if !ok {
				return bad("the bracket is not closed")
			}
			p, rest = append(p, seg), after
		} else {
			seg, after := word(rest)
			if seg == "" {
				return bad("a part of the key is empty")
			}
			p, rest = append(p, seg), after
		}
		switch {
		case rest == "":
			return p, nil
		case rest[0] == '.':
			rest = rest[1:]
		case rest[0] != '[':
			return bad("a dot is missing after the bracket")
		}
	}
}

// word splits one plain part of a path off s, up to a dot or a bracket.
func word(s string) (seg, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '.' || s[i] == '[':
			return b.String(), s[i:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}

// bracket splits `["any text"]` or `[12]` off s.
func bracket(s string) (seg, rest string, ok bool) {
	if strings.HasPrefix(s, `["`) {
		q, err := strconv.QuotedPrefix(s[1:])
		if err != nil || !strings.HasPrefix(s[1+len(q):], "]") {
			return "", "", false
		}
		seg, err = strconv.Unquote(q)
		return seg, s[1+len(q)+1:], err == nil
	}
	end := strings.IndexByte(s, ']')
	if end < 2 {
		return "", "", false
	}
	return s[1:end], s[end+1:], true
}

// String formats the path for parsePath.
func (p keyPath) String() string {
	var b strings.Builder
	for i, seg := range p {
		switch {
		case isIndex(seg):
			b.WriteString("[" + seg + "]")
			continue
		case seg == "" || strings.ContainsAny(seg, ".[]\\\"") || printable(seg) != seg:
			b.WriteString("[" + strconv.Quote(seg) + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(seg)
	}
	return b.String()
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// matches compares p with a pattern of the same length in which "*" matches any part.
func (p keyPath) matches(pattern ...string) bool {
	return len(p) == len(pattern) && p.under(pattern...)
}

// under reports whether p matches the pattern or is below it.
func (p keyPath) under(pattern ...string) bool {
	if len(p) < len(pattern) {
		return false
	}
	for i, seg := range pattern {
		if seg != "*" && seg != p[i] {
			return false
		}
	}
	return true
}

// with returns a copy of p with one more part.
func (p keyPath) with(seg string) keyPath {
	return append(p[:len(p):len(p)], seg)
}
