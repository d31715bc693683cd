package google

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The schema of a function is a subset of OpenAPI's: an unknown member is refused with 400, and so are $ref, a list of
// types, an enumeration of anything but strings, a required property that is not declared, an array without items, and
// an object without properties (Gemini API, Schema).

// kept are the members of a schema that are sent as they are.
var kept = []string{
	"title", "description", "nullable", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength",
	"minProperties", "maxProperties", "pattern", "example", "default", "propertyOrdering",
}

// subset returns a schema in the form that the server takes: the same bytes if nothing must change, nil if it has no
// properties.
func subset(schema json.RawMessage) []byte {
	var s any
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	if len(schema) == 0 || dec.Decode(&s) != nil {
		return nil
	}
	root, ok := s.(map[string]any)
	if !ok {
		return nil
	}
	if props, _ := root["properties"].(map[string]any); len(props) == 0 && root["$ref"] == nil {
		return nil
	}
	r := rewriter{root: root}
	out := r.schema(root, 0)
	if !r.changed {
		return schema
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(out) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

// rewriter turns one schema into the subset.
type rewriter struct {
	root    map[string]any
	changed bool
}

// mostDepth bounds schemas that contain themselves.
const mostDepth = 12

func (r *rewriter) schema(s map[string]any, depth int) map[string]any {
	s = r.resolve(s)
	if depth > mostDepth {
		r.changed = true
		return map[string]any{"type": "string", "description": "JSON"}
	}
	out := map[string]any{}
	for key, v := range s {
		switch {
		case slices.Contains(kept, key):
			out[key] = v
		case key == "type", key == "enum", key == "const", key == "properties", key == "items", key == "required",
			key == "anyOf", key == "format":
		default:
			r.changed = true
		}
	}
	r.alternatives(s, out, depth)
	r.kind(s, out)
	r.enum(s, out)
	r.format(s, out)
	r.children(s, out, depth)
	return out
}

// resolve replaces a reference by its definition, and joins the members of allOf.
func (r *rewriter) resolve(s map[string]any) map[string]any {
	for range mostDepth {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		r.changed = true
		s = r.without(s, "$ref", r.at(ref))
	}
	all, ok := s["allOf"].([]any)
	if !ok {
		return s
	}
	r.changed = true
	for _, a := range all {
		if more, ok := a.(map[string]any); ok {
			s = r.without(s, "allOf", r.resolve(more))
		}
	}
	return s
}

// without returns s without a member and with the members of another schema that it lacks; properties are united.
func (r *rewriter) without(s map[string]any, key string, more map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range more {
		out[k] = v
	}
	for k, v := range s {
		if k == key {
			continue
		}
		mine, ok := v.(map[string]any)
		theirs, both := out[k].(map[string]any)
		if k == "properties" && ok && both {
			v = r.without(mine, "", theirs)
		}
		if list, ok := v.([]any); ok && k == "required" {
			also, _ := out[k].([]any)
			v = append(slices.Clone(also), list...)
		}
		out[k] = v
	}
	return out
}

// at returns the definition at a place of the schema, "#/$defs/x".
func (r *rewriter) at(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#/")
	var here any = r.root
	for name := range strings.SplitSeq(path, "/") {
		m, _ := here.(map[string]any)
		here = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	found, is := here.(map[string]any)
	if !ok || !is {
		return map[string]any{"type": "string", "description": "JSON"}
	}
	return found
}

// kind writes the type: one of a list, with null as nullable; the type of the members that need one.
func (r *rewriter) kind(s, out map[string]any) {
	switch t := s["type"].(type) {
	case string:
		out["type"] = t
	case []any:
		r.changed = true
		var types []any
		for _, one := range t {
			if one == "null" {
				out["nullable"] = true
			} else {
				types = append(types, one)
			}
		}
		r.types(types, s, out)
	default:
		switch {
		case out["anyOf"] != nil:
		case s["properties"] != nil:
			r.changed, out["type"] = true, "object"
		case s["items"] != nil:
			r.changed, out["type"] = true, "array"
		case s["enum"] != nil || s["const"] != nil, len(out) == 0:
			r.changed, out["type"] = true, "string"
		}
	}
}

// types writes several types as alternatives.
func (r *rewriter) types(types []any, s, out map[string]any) {
	switch len(types) {
	case 0:
		out["type"] = "string"
	case 1:
		out["type"] = types[0]
	default:
		var some []any
		for _, t := range types {
			one := map[string]any{"type": t}
			if t == "array" {
				one["items"] = map[string]any{"type": "string"}
			}
			some = append(some, one)
		}
		out["anyOf"] = some
	}
}

// enum keeps strings alone; numbers of an enumeration become text in the description.
func (r *rewriter) enum(s, out map[string]any) {
	values, _ := s["enum"].([]any)
	if c, ok := s["const"]; ok {
		r.changed, values = true, []any{c}
	}
	var texts []any
	for _, v := range values {
		if t, ok := v.(string); ok && t != "" {
			texts = append(texts, t)
		}
	}
	if len(texts) < len(values) {
		r.changed = true
	}
	switch {
	case len(values) == 0:
	case len(texts) > 0 && out["type"] == "string":
		out["enum"] = texts
	default:
		r.changed = true
		raw, _ := json.Marshal(values) // decoded from JSON
		text, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(text + " One of " + string(raw) + ".")
	}
}

// format keeps the formats that the server takes for a type.
func (r *rewriter) format(s, out map[string]any) {
	f, ok := s["format"].(string)
	if !ok {
		return
	}
	allowed := map[any][]string{
		"string": {"enum", "date-time"}, "integer": {"int32", "int64"},
		"number": {"float", "double"},
	}
	if slices.Contains(allowed[out["type"]], f) {
		out["format"] = f
		return
	}
	r.changed = true
}

// alternatives writes anyOf and oneOf; an alternative of null makes the value nullable.
func (r *rewriter) alternatives(s, out map[string]any, depth int) {
	list, _ := s["anyOf"].([]any)
	if one, ok := s["oneOf"].([]any); ok {
		r.changed, list = true, append(slices.Clone(list), one...)
	}
	var some []any
	for _, a := range list {
		m, ok := a.(map[string]any)
		switch {
		case !ok:
			r.changed = true
		case m["type"] == "null":
			r.changed, out["nullable"] = true, true
		default:
			some = append(some, r.schema(m, depth+1))
		}
	}
	switch {
	case len(some) == 1:
		r.changed = true
		for k, v := range some[0].(map[string]any) {
			if out[k] == nil {
				out[k] = v
			}
		}
	case len(some) > 1:
		out["anyOf"] = some
	}
}

// children writes properties, required and items.
func (r *rewriter) children(s, out map[string]any, depth int) {
	if props, ok := s["properties"].(map[string]any); ok {
		declared := map[string]any{}
		for name, p := range props {
			m, ok := p.(map[string]any)
			if !ok {
				r.changed, m = true, map[string]any{}
			}
			declared[name] = r.schema(m, depth+1)
		}
		if out["properties"] = declared; len(declared) == 0 {
			r.changed = true
			delete(out, "properties")
		}
		r.required(s, out, declared)
	} else if s["required"] != nil {
		r.changed = true
	}
	if out["type"] == "object" && out["properties"] == nil { // refused without properties; a text holds any object
		r.changed = true
		out["type"], out["description"] = "string", strings.TrimSpace(text(out["description"])+" A JSON object.")
	}
	switch items := s["items"].(type) {
	case map[string]any:
		out["items"] = r.schema(items, depth+1)
	default:
		if out["type"] == "array" && out["items"] == nil {
			r.changed, out["items"] = true, map[string]any{"type": "string"}
		}
	}
}

func text(v any) string { s, _ := v.(string); return s }

func (r *rewriter) required(s, out, props map[string]any) {
	names, ok := s["required"].([]any)
	if !ok {
		return
	}
	var declared []any
	for _, n := range names {
		name, _ := n.(string)
		if props[name] != nil && !slices.Contains(declared, n) {
			declared = append(declared, n)
		}
	}
	if len(declared) != len(names) {
		r.changed = true
	}
	if len(declared) > 0 {
		out["required"] = declared
	}
}
