package mcp

import (
	"encoding/json"
	"maps"
	"slices"
)

// anyObject stands for a schema that cannot be used.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Schema makes of a server's schema one that every provider takes as that of a tool: an object at its root, without alternatives there, whose
// properties are joined and of which only those that all alternatives require are required. A schema that is fit stays as it is.
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
