package call

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Canonical gives a call the names that the tools themselves use: of the tool, and of its parameters. Values of
// the wrong type that can mean only one thing ("10" for 10) are mended, nulls and parameters that are ignored left out,
// and an object in a string taken out of it. The returned input is nil when nothing had to be changed. Broken JSON is
// never touched.
func (c *Catalogue) Canonical(spelling string, input []byte) (string, []byte) {
	name := c.Name(spelling)
	d := c.find(name)
	if d == nil || d.Schema == nil && d.Input == nil && d.Params == nil {
		return name, nil
	}
	given, inText := fieldsOf(input)
	if given == nil {
		return name, nil
	}
	fields := maps.Clone(given)
	for range mostTurns {
		d.mend(fields)
		if d.Mend == nil {
			break
		}
		to := d.Mend(spelling, fields)
		next := c.find(to)
		if next == nil || to == name {
			break
		}
		name, spelling, d = to, to, next
	}
	if !inText && maps.EqualFunc(given, fields, slices.Equal[json.RawMessage]) {
		return name, nil
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return name, nil
	}
	return name, out
}

// mostTurns bounds how often a call becomes one of another tool.
const mostTurns = 3

// fieldsOf reads the fields of an input, also of one that is an object in a string; nil if it is neither.
func fieldsOf(input []byte) (fields map[string]json.RawMessage, inText bool) {
	var text string
	if json.Unmarshal(input, &text) == nil {
		input, inText = []byte(text), true
	}
	if json.Unmarshal(input, &fields) != nil {
		return nil, false
	}
	return fields, inText
}

// parameters are the tool's own parameters with their JSON types, "" where the type is not known.
func (d *declared) parameters() map[string]string {
	d.once.Do(func() {
		var schema struct {
			Properties map[string]struct {
				Type json.RawMessage `json:"type"`
			} `json:"properties"`
		}
		d.types = map[string]string{}
		for param := range d.Params {
			d.types[param] = ""
		}
		if json.Unmarshal(d.InputSchema(), &schema) != nil {
			return
		}
		for param, p := range schema.Properties {
			d.types[param] = strings.Trim(string(p.Type), `"`)
		}
	})
	return d.types
}

// mend gives fields the names and types of the tool's parameters. It drops nulls and what is ignored.
func (d *declared) mend(fields map[string]json.RawMessage) {
	own := d.parameters()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		v := fields[key]
		if _, ok := own[key]; ok && string(v) != "null" {
			continue
		}
		param := d.paramOf(key, own)
		switch _, taken := fields[param]; {
		case string(v) == "null" || param == "" && d.ignores(key, v):
			delete(fields, key)
		case param != "" && !taken:
			delete(fields, key)
			fields[param] = v
		}
	}
	for param, kind := range own {
		if v, ok := fields[param]; ok {
			if mended := mend(v, kind); mended != nil {
				fields[param] = mended
			}
		}
	}
}

// ignores reports whether a parameter changes nothing.
func (d *declared) ignores(key string, v json.RawMessage) bool {
	key = snakeCase(key)
	for one := range strings.FieldsSeq(d.Ignored) {
		name, value, bound := strings.Cut(one, "=")
		if name == key && (!bound || value == strings.Trim(string(v), `"`)) {
			return true
		}
	}
	return false
}

// Rename gives the fields of an object the names of the tool's parameters, as Canonical does for a whole input, and
// mends their values.
func (d *Declaration) Rename(fields map[string]json.RawMessage) {
	(&declared{Declaration: *d}).mend(fields)
}

// paramOf is the parameter that a spelling stands for, or "".
func (d *declared) paramOf(key string, own map[string]string) string {
	snake := snakeCase(key)
	if _, ok := own[snake]; ok {
		return snake
	}
	for _, param := range slices.Sorted(maps.Keys(d.Params)) {
		for alias := range strings.FieldsSeq(d.Params[param]) {
			if alias == snake || alias == key {
				return param
			}
		}
	}
	return ""
}

// snakeCase turns oldString into old_string.
func snakeCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		if 'A' <= r && r <= 'Z' && len(s) > 1 {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mend turns a value of the wrong type into the only value it can mean, or returns nil.
func mend(v json.RawMessage, kind string) json.RawMessage {
	if kind != "integer" && kind != "boolean" && kind != "array" {
		return nil
	}
	var text string
	isText := len(v) > 0 && v[0] == '"' && kind != "string" && json.Unmarshal(v, &text) == nil
	switch {
	case kind == "integer" && isText:
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			return json.RawMessage(strconv.Itoa(n))
		}
	case kind == "integer" && bytes.ContainsAny(v, ".eE"):
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == float64(int64(f)) {
			return json.RawMessage(strconv.FormatInt(int64(f), 10))
		}
	case kind == "boolean" && isText:
		if t := strings.ToLower(strings.TrimSpace(text)); t == "true" || t == "false" {
			return json.RawMessage(t)
		}
	case kind == "array" && isText:
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) == nil && list != nil {
			return json.RawMessage(text)
		}
	}
	return nil
}
