package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestARequiredFieldIsMarked(t *testing.T) {
	all, err := fields(json.RawMessage(`{"properties": {"name": {"type": "string"}, "age": {"type": "number"}},
		"required": ["name"]}`))
	if err != nil || len(all) != 2 {
		t.Fatal(err)
	}
	if q := all[0].question(); !strings.HasSuffix(q.Title, " (required)") {
		t.Errorf("%+v", q)
	}
	if q := all[1].question(); strings.Contains(q.Title, "required") {
		t.Errorf("%+v", q)
	}
}
