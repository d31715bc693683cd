package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/event"
)

// apiDocument is what the generator reads of the OpenAPI document.
type apiDocument struct {
	Paths map[string]map[string]struct {
		ID         string `json:"operationId"`
		Summary    string `json:"summary"`
		Parameters []struct {
			Name, In, Description string
			Schema                *jsonschema.Schema
		} `json:"parameters"`
		RequestBody *struct {
			Content contents
		} `json:"requestBody"`
		Responses map[string]struct{ Content contents } `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
	} `json:"components"`
}

type contents map[string]struct{ Schema *jsonschema.Schema }

// The TypeScript client is made from the document: client/ts.
func TestTheTypeScriptClientIsMadeFromTheDocument(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var d apiDocument
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	code, types := d.operations(t)
	var bodies strings.Builder
	kinds := event.Kinds()
	slices.Sort(kinds)
	for _, k := range kinds {
		fmt.Fprintf(&bodies, "  %q: Event_%s;\n", k, strings.ReplaceAll(k, ".", "_"))
	}
	for name, parts := range map[string]map[string]string{
		"lathe.js":   {"/* operations */": code},
		"lathe.d.ts": {"/* operations */": types, "/* bodies */": bodies.String(), "/* types */\n": d.types()},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		for mark, text := range parts {
			got = strings.Replace(got, mark, text, 1)
		}
		path := filepath.Join("../../../client/ts", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != got {
			t.Errorf("%s is another one; go test ./internal/face/server -update rewrites it: %v", path, err)
		}
	}
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// operations are the methods of the class, as code and as types.
func (d apiDocument) operations(t *testing.T) (code, types string) {
	t.Helper()
	var js, ts strings.Builder
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o := d.Paths[path][method]
			if o.ID == "events" {
				continue
			}
			var names, typed []string
			var query []string
			for _, p := range o.Parameters {
				if p.In == "path" {
					names, typed = append(names, p.Name), append(typed, p.Name+": string")
				} else {
					query = append(query, comment(p.Description)+p.Name+"?: "+typeScript(p.Schema, "      "))
				}
			}
			options := ""
			if o.RequestBody != nil {
				names = append(names, "body")
				typed = append(typed, "body: "+typeScript(o.RequestBody.Content["application/json"].Schema, "  "))
				options += " body,"
			}
			if len(query) > 0 {
				names = append(names, "query")
				typed = append(typed, "query?: {\n      "+strings.Join(query, ";\n      ")+";\n    }")
				options += " query,"
			}
			result, call := "undefined", "request"
			for status, r := range o.Responses {
				for mime, c := range r.Content {
					switch {
					case status == "default":
					case mime == "application/json":
						result = typeScript(c.Schema, "  ")
					default:
						result, call = "Response", "fetch"
					}
				}
			}
			names, typed = append(names, "options"), append(typed, "options?: Options")
			fmt.Fprintf(&js, "\n  /** %s. */\n  %s(%s) {\n    return this.%s(%q, `%s`, {%s ...options });\n  }\n",
				o.Summary, o.ID, strings.Join(names, ", "), call, strings.ToUpper(method),
				pathParameter.ReplaceAllString(path, "${encodeURIComponent($1)}"), options)
			fmt.Fprintf(&ts, "  /** %s. */\n  %s(%s): Promise<%s>;\n", o.Summary, o.ID, strings.Join(typed, ", "), result)
		}
	}
	return js.String(), ts.String()
}

// types are the schemas as interfaces.
func (d apiDocument) types() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		if name == "Problem" {
			continue // it is a class
		}
		s := d.Components.Schemas[name]
		if s.Type == "object" && len(s.Properties) > 0 {
			fmt.Fprintf(&out, "export interface %s %s\n\n", name, typeScript(s, ""))
		} else {
			fmt.Fprintf(&out, "export type %s = %s;\n\n", name, typeScript(s, ""))
		}
	}
	out.WriteString("export interface EventsQuery {\n")
	for _, p := range d.Paths["/v1/events"]["get"].Parameters {
		fmt.Fprintf(&out, "  %s%s?: %s;\n", comment(p.Description), p.Name, typeScript(p.Schema, "  "))
	}
	return out.String() + "}\n"
}

func comment(text string) string {
	if text == "" {
		return ""
	}
	return "/** " + strings.ReplaceAll(text, "*/", "* /") + " */ "
}

// typeScript is a schema as a type. Objects keep fields that they do not name.
func typeScript(s *jsonschema.Schema, indent string) string {
	if ref, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return ref
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type
	case "integer", "number":
		return "number"
	case "array":
		return typeScript(s.Items, indent) + "[]"
	case "object":
		if len(s.Properties) == 0 {
			if s.AdditionalProperties != nil {
				return "Record<string, " + typeScript(s.AdditionalProperties, indent) + ">"
			}
			return "Record<string, unknown>"
		}
		var out strings.Builder
		out.WriteString("{\n")
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			p, optional := s.Properties[name], "?"
			if slices.Contains(s.Required, name) {
				optional = ""
			}
			key := name
			if !regexp.MustCompile(`^\w+$`).MatchString(name) {
				key = fmt.Sprintf("%q", name)
			}
			fmt.Fprintf(&out, "%s  %s%s%s: %s;\n", indent, comment(p.Description), key, optional, typeScript(p, indent+"  "))
		}
		for _, open := range []string{"type", "shape"} { // of which there are several, by this field
			if len(s.Properties) == 1 && s.Properties[open] != nil {
				fmt.Fprintf(&out, "%s  [field: string]: unknown;\n", indent)
			}
		}
		return out.String() + indent + "}"
	}
	return "unknown"
}
