package server

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The document is checked in: clients are generated from it.
const document = "../../../client/openapi.json"

func TestTheDocumentIsTheOneThatClientsAreMadeFrom(t *testing.T) {
	got, err := OpenAPI("1")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(document, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(document)
	if err != nil || string(want) != string(got) {
		t.Errorf("client/openapi.json is another one; go test ./internal/face/server -update rewrites it: %v", err)
	}
}

func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	b, err := OpenAPI("1")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(b), `"$ref": "`)[1:] {
		ref, _, _ := strings.Cut(part, `"`)
		if name, ok := strings.CutPrefix(ref, "#/components/schemas/"); !ok || doc.Components.Schemas[name] == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
}
