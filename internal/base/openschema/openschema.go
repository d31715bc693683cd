// Package openschema lets the objects of a JSON Schema have more fields than it names: both sides of lathe's protocols
// ignore unknown fields.
package openschema

import "github.com/google/jsonschema-go/jsonschema"

// Open changes a schema and those of its properties and items.
func Open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "object" && len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		Open(p)
	}
	Open(s.Items)
}
