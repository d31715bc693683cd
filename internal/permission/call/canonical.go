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
// the wrong type that can mean only one thing ("10" for 10) are mended, and nulls left out. The returned input is
// nil when nothing had to be changed. Broken JSON is never touched.
func (c *Catalogue) Canonical(spelling string, input []byte) (string, []byte) {
	name := c.Name(spelling)
	d := c.find(name)
	if len(input) == 0 || d == nil || d.Schema == nil && d.Params == nil {
		return name, nil
	}
	if d.Mend == nil && d.fits(input) {
		return name, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields == nil {
		return name, nil
	}
	changed := d.rename(fields)
	for param, kind := range d.parameters() {
		if v, ok := fields[param]; ok {
			if mended := mend(v, kind); mended != nil {
				fields[param], changed = mended, true
			}
		}
	}
	if d.Mend != nil && d.Mend(spelling, fields) {
		changed = true
	}
	if !changed {
		return name, nil
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return name, nil
	}
	return name, out
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
		if json.Unmarshal(d.Schema, &schema) != nil {
			return
		}
		for param, p := range schema.Properties {
			d.types[param] = strings.Trim(string(p.Type), `"`)
		}
	})
	return d.types
}

// rename gives fields the names of the tool's parameters and drops nulls.
func (d *declared) rename(fields map[string]json.RawMessage) (changed bool) {
	own := d.parameters()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		v := fields[key]
		if string(v) == "null" {
			delete(fields, key)
			changed = true
			continue
		}
		if _, ok := own[key]; ok {
			continue
		}
		param := d.paramOf(key, own)
		if _, taken := fields[param]; param == "" || taken {
			continue
		}
		delete(fields, key)
		fields[param] = v
		changed = true
	}
	return changed
}

// Rename gives the fields of an object the names of the tool's parameters, as Canonical does for a whole input, and
// mends their values. It reports whether it changed any.
func (d *Declaration) Rename(fields map[string]json.RawMessage) bool {
	own := &declared{Declaration: *d}
	changed := own.rename(fields)
	for param, kind := range own.parameters() {
		if v, ok := fields[param]; ok {
			if mended := mend(v, kind); mended != nil {
				fields[param], changed = mended, true
			}
		}
	}
	return changed
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
