package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"
)

// An editor changes a settings text in place: comments, order, unknown keys and layout stay.
type editor struct {
	root    hujson.Value
	newline string
	unit    string // one level of indentation
}

func newEditor(doc *document) *editor {
	e := &editor{root: doc.root, newline: "\n", unit: "  "}
	if bytes.Contains(doc.src.data, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	if obj, ok := e.root.Value.(*hujson.Object); ok && len(obj.Members) > 0 {
		if indent, multi := indentOf(obj.Members[0].Name.BeforeExtra); multi && indent != "" {
			e.unit = indent
		}
	}
	return e
}

// indentOf returns the white space after the last line break, and whether there is a break.
func indentOf(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 {
		return "", false
	}
	line := string(extra[i+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))], true
}

// set puts a value at p, creating objects on the way. The last part may be "-" to append to a list.
func (e *editor) set(p keyPath, val *node) error {
	at, indent := &e.root, ""
	for i, seg := range p {
		next := child(at, seg)
		if next == nil {
			return e.insert(at, p[i:], indent, val)
		}
		if in := e.childIndent(at, indent); in != "" {
			indent = in
		}
		at = next
	}
	at.Value = e.render(val, indent)
	return nil
}

// childIndent returns the indentation for members of a composite value, given its own.
func (e *editor) childIndent(v *hujson.Value, indent string) string {
	for _, first := range firsts(v) {
		if in, multi := indentOf(first.BeforeExtra); multi {
			return in
		}
	}
	return indent + e.unit
}

// firsts returns the first value of each member of a composite: names, or elements.
func firsts(v *hujson.Value) []*hujson.Value {
	var out []*hujson.Value
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			out = append(out, &c.Members[i].Name)
		}
	case *hujson.Array:
		for i := range c.Elements {
			out = append(out, &c.Elements[i])
		}
	}
	return out
}

// insert adds the missing part of a path to the composite value at.
func (e *editor) insert(at *hujson.Value, rest keyPath, indent string, val *node) error {
	obj, isObj := at.Value.(*hujson.Object)
	arr, isArr := at.Value.(*hujson.Array)
	for i := len(rest) - 1; i > 0; i-- {
		wrap := object(val.src)
		wrap.set(rest[i], val)
		if rest[i] == "-" {
			wrap = &node{kind: '[', elems: []*node{val}, src: val.src}
		}
		val = wrap
	}
	inner := e.childIndent(at, indent)
	switch {
	case isObj && rest[0] != "-":
		m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(rest[0])}}
		m.Value = hujson.Value{BeforeExtra: hujson.Extra(" "), Value: e.render(val, inner)}
		trailing := len(obj.Members) > 0 && obj.Members[len(obj.Members)-1].Value.AfterExtra != nil
		m.Name.BeforeExtra, obj.AfterExtra = e.room(firsts(at), obj.AfterExtra, indent, true)
		obj.Members = append(obj.Members, m)
		if trailing {
			obj.Members[len(obj.Members)-1].Value.AfterExtra = hujson.Extra{}
		}
		return nil
	case isArr && rest[0] == "-":
		el := hujson.Value{Value: e.render(val, inner)}
		trailing := len(arr.Elements) > 0 && arr.Elements[len(arr.Elements)-1].AfterExtra != nil
		el.BeforeExtra, arr.AfterExtra = e.room(firsts(at), arr.AfterExtra, indent, false)
		arr.Elements = append(arr.Elements, el)
		if trailing {
			arr.Elements[len(arr.Elements)-1].AfterExtra = hujson.Extra{}
		}
		return nil
	}
	return &Error{Key: rest.String(), Text: "there is no such place: what is above it is neither an object nor a list " +
		"it fits"}
}

// room returns the white space before a new last member, and the text after it up to the closing bracket. A
// comment behind the former last member stays with that member.
func (e *editor) room(members []*hujson.Value, after hujson.Extra, indent string, breakEmpty bool) (before,
	tail hujson.Extra,
) {
	multi := len(members) == 0 && breakEmpty
	inner := indent + e.unit
	for _, m := range members {
		if in, m := indentOf(m.BeforeExtra); m {
			inner, multi = in, true
			break
		}
	}
	if !multi && !bytes.Contains(after, []byte("//")) {
		if len(members) > 0 {
			before = hujson.Extra(" ")
		}
		return before, after
	}
	head, tail := after, hujson.Extra(nil)
	if i := bytes.LastIndexByte(after, '\n'); i >= 0 {
		head, tail = after[:i], hujson.Extra(e.newline+string(after[i+1:]))
	} else if len(members) == 0 {
		head, tail = after, hujson.Extra(e.newline+indent)
	}
	head = bytes.TrimRight(head, " \t\r\n")
	return hujson.Extra(string(head) + e.newline + inner), tail
}

// render formats a value: short ones on one line, others indented below indent.
func (e *editor) render(val *node, indent string) hujson.ValueTrimmed {
	text := val.appendJSON(nil)
	if flat := spaced(text); len(flat) <= 72 && val.kind != '{' {
		text = flat
	} else if val.kind == '{' || val.kind == '[' {
		var b bytes.Buffer
		if err := json.Indent(&b, text, indent, e.unit); err == nil {
			text = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(e.newline))
		}
	}
	v, err := hujson.Parse(text)
	if err != nil { // appendJSON writes valid JSON
		return hujson.Literal("null")
	}
	return v.Value
}

// spaced puts a space behind the commas and colons of compact JSON.
func spaced(text []byte) []byte {
	var out []byte
	quoted := false
	for i, c := range text {
		out = append(out, c)
		switch {
		case c == '"' && !escaped(text[:i]):
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

// escaped reports whether b ends with an odd number of backslashes.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// unset removes the member or element at p with its comments: those right above it and the one behind it on
// its line. It reports whether the member existed.
func (e *editor) unset(p keyPath) bool {
	parent := find(&e.root, p[:len(p)-1])
	if parent == nil || child(parent, p[len(p)-1]) == nil {
		return false
	}
	target := child(parent, p[len(p)-1])
	all := firsts(parent)
	i := 0
	switch c := parent.Value.(type) {
	case *hujson.Object:
		for &c.Members[i].Value != target {
			i++
		}
		last := i == len(all)-1
		follow := followExtra(all, i, &c.AfterExtra)
		joinExtra(all[i].BeforeExtra, follow, last)
		c.Members = append(c.Members[:i:i], c.Members[i+1:]...)
	case *hujson.Array:
		for &c.Elements[i] != target {
			i++
		}
		last := i == len(all)-1
		follow := followExtra(all, i, &c.AfterExtra)
		joinExtra(all[i].BeforeExtra, follow, last)
		c.Elements = append(c.Elements[:i:i], c.Elements[i+1:]...)
	}
	return true
}

// followExtra returns the white space and comments after member i and its comma.
func followExtra(all []*hujson.Value, i int, after *hujson.Extra) *hujson.Extra {
	if i+1 < len(all) {
		return &all[i+1].BeforeExtra
	}
	return after
}

// joinExtra closes the gap of a removed member: comments on the line of the previous member are kept, the
// rest of before and the comment behind the removed member are dropped.
func joinExtra(before hujson.Extra, follow *hujson.Extra, last bool) {
	keep := before
	if i := bytes.IndexByte(before, '\n'); i >= 0 {
		keep = before[:i]
		if j := bytes.IndexByte(*follow, '\n'); j >= 0 {
			*follow = (*follow)[j:]
		}
	} else if !last {
		*follow = nil
	}
	*follow = append(bytes.Clone(keep), *follow...)
}
