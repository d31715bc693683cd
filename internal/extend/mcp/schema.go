package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// anyObject represents a schema that cannot be used.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Schema makes of a server's schema one that every provider takes as that of a tool: an object at its root, without
// alternatives there, whose properties are joined and of which only those that all alternatives require are required. A
// schema that is fit stays as it is.
func Schema(raw json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if len(raw) > maxSchema || json.Unmarshal(raw, &root) != nil || root == nil {
		return anyObject
	}
	var kind string
	_ = json.Unmarshal(root["type"], &kind)
	changed := kind != "object"
	root["type"] = json.RawMessage(`"object"`)
	for _, key := range [...]string{"$schema", "$id", "id"} {
		if _, ok := root[key]; ok && (key != "id" || root["properties"] != nil) {
			delete(root, key)
			changed = true
		}
	}
	for _, key := range [...]string{"anyOf", "oneOf", "allOf"} {
		if alternatives, ok := root[key]; ok {
			flatten(root, alternatives, key == "allOf")
			delete(root, key)
			changed = true
		}
	}
	if _, ok := root["properties"]; !ok { // which some providers require
		root["properties"] = json.RawMessage("{}")
		changed = true
	}
	if !changed {
		return compact(raw)
	}
	out, err := json.Marshal(root)
	if err != nil {
		return anyObject
	}
	return out
}

// flatten joins the properties of alternatives into the root.
func flatten(root map[string]json.RawMessage, raw json.RawMessage, all bool) {
	type object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	var list []object
	var own object
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	_ = json.Unmarshal(root["properties"], &own.Properties)
	_ = json.Unmarshal(root["required"], &own.Required)
	if own.Properties == nil {
		own.Properties = map[string]json.RawMessage{}
	}
	counts := map[string]int{}
	for _, o := range list {
		for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
			if _, ok := own.Properties[name]; !ok {
				own.Properties[name] = o.Properties[name]
			}
		}
		for _, name := range o.Required {
			counts[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if (all || counts[name] == len(list)) && !slices.Contains(own.Required, name) {
			own.Required = append(own.Required, name)
		}
	}
	root["properties"], _ = json.Marshal(own.Properties) // raw values always encode
	if len(own.Required) > 0 {
		root["required"], _ = json.Marshal(own.Required)
	}
}

// cleanSchema makes the texts of a schema safe to send. Names keep their characters, since a call has to repeat them
// (speaks has refused those with a tag), and so do values, unless they hold a tag in which lathe speaks. A schema
// without such texts stays as it is.
func cleanSchema(raw json.RawMessage, clean func(string) string) json.RawMessage {
	if bytes.IndexFunc(raw, func(r rune) bool { return r == '<' || r == '\\' || r >= 0x7F }) < 0 {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil {
		return anyObject
	}
	changed := false
	out, err := json.Marshal(cleanValue("", root, func(s string) string {
		safe := clean(s)
		changed = changed || safe != s
		return safe
	}))
	switch {
	case err != nil:
		return anyObject
	case !changed:
		return raw
	}
	return out
}

// cleanValue is the value of a key of a schema with all that it holds.
func cleanValue(key string, v any, clean func(string) string) any {
	switch v := v.(type) {
	case string:
		if key == "description" || key == "title" || key == "$comment" {
			return clean(v)
		}
		return cleanTag(v, clean)
	case []any:
		for i := range v {
			v[i] = cleanValue("", v[i], clean)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			out[k] = cleanValue(k, inner, clean)
		}
		return out
	}
	return v
}

func cleanTag(s string, clean func(string) string) string {
	if holdsTag(s) {
		return clean(s)
	}
	return s
}

func holdsTag(s string) bool { return strings.Contains(strings.ToLower(s), "system-reminder") }

// speaks reports whether a name in a schema holds a tag in which lathe speaks. Under another name the server would not
// know it.
func speaks(schema json.RawMessage) bool {
	var root any
	return (holdsTag(string(schema)) || bytes.IndexByte(schema, '\\') >= 0) && json.Unmarshal(schema, &root) == nil &&
		namesHoldTag(root)
}

func namesHoldTag(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, namesHoldTag)
	case map[string]any:
		for k, inner := range v {
			if holdsTag(k) || namesHoldTag(inner) {
				return true
			}
		}
	}
	return false
}
