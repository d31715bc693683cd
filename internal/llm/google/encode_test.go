package google

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// everything is a request that uses every field and every kind of part.
func everything() *llm.Request {
	read := llm.ToolCall{
		ID: "own1" + idMark(host), Name: "Read",
		Input: json.RawMessage(`{"file_path": "/a <b> & é", "n": 1.50}`), Opaque: opaque(`{"thoughtSignature":"sig1"}`),
	}
	shot := llm.ToolCall{ID: "toolu_" + strings.Repeat("x", 40), Name: "Open", Input: json.RawMessage(`{}`)}
	broken := llm.ToolCall{ID: "call_broken", Name: "1-bad name", Input: json.RawMessage(`{}`), Raw: `{"command": "ec`}
	return &llm.Request{
		System: []llm.Part{llm.Text{Text: "Be careful."}, llm.Text{Text: "Be brief."}},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{
				llm.Text{Text: "Look at"},
				llm.Media{MIME: "image/png", Data: []byte("png")},
				llm.Media{MIME: "application/zip", Data: []byte("zip"), Name: "a.zip"},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				llm.Reasoning{Text: "Hm.", Provider: host, Opaque: opaque(`{"thoughtSignature":"sig0"}`)},
				llm.Reasoning{Text: "signed elsewhere", Signature: "s", Provider: "anthropic@x"},
				llm.Text{Text: "Both.", Opaque: opaque(`{"thoughtSignature":"sigT","apart":true}`)},
				read, shot, broken,
			}},
			{Role: llm.User, Parts: []llm.Part{
				llm.TextResult(read, "package a", false),
				llm.ToolResult{
					CallID: shot.ID, Name: "Open",
					Parts: []llm.Part{llm.Media{MIME: "image/png", Data: []byte("shot")}},
				},
				llm.TextResult(broken, "not JSON", true),
				llm.Text{Text: "Go on."},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{llm.Reasoning{Text: "only foreign thoughts", Provider: "x"}}},
			{Role: llm.Assistant, Parts: []llm.Part{llm.ToolCall{
				ID: "foreign", Name: "Read", Input: json.RawMessage(`{}`),
				Opaque: &llm.Opaque{Provider: "openai@x", JSON: json.RawMessage(`{"id":"no"}`)},
			}}},
			{Role: llm.User, Parts: []llm.Part{llm.ToolResult{CallID: "foreign", Name: "Read"}}},
			llm.UserText("Two\n\"lines\""),
		},
		Tools: []llm.ToolSpec{
			{
				Name: "Read", Description: "Reads <a> file.",
				Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`),
			},
			{Name: "Now"},
			{
				Name: "Odd",
				Schema: json.RawMessage(
					`{"type":"object","additionalProperties":false,"properties":{"n":{"type":["integer","null"]}}}`),
			},
		},
		MaxTokens: 5000, Effort: "high", ToolChoice: "Read", Stop: []string{"END"},
	}
}

func TestRequestBodies(t *testing.T) {
	for name, model := range map[string]string{
		"level": "gemini-3.1-pro-preview", "budget": "gemini-2.5-pro",
		"plain": "gemini-2.0-flash",
	} {
		m := newModel(t, model, Config{BaseURL: "http://wire"})
		got := m.body(everything()).Bytes()
		var out bytes.Buffer
		if err := json.Indent(&out, got, "", "  "); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, got)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, append(out.Bytes(), '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != out.String()+"\n" {
			t.Errorf("%s (%v): got\n%s", path, err, out.String())
		}
	}
}

func TestTheAddressHasAVersionAndTheModel(t *testing.T) {
	for base, want := range map[string]string{
		"":                       "https://generativelanguage.googleapis.com/v1beta/models/",
		"http://gateway.example": "http://gateway.example/v1beta/models/",
		"http://g/v1/":           "http://g/v1/models/",
		"https://a-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google": "https://a-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/",
	} {
		if got := New(Config{BaseURL: base}).models; got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
}

func TestEffortIsABudgetOrALevelByFamily(t *testing.T) {
	for _, row := range []struct {
		model  string
		effort llm.Effort
		want   string
	}{
		{"gemini-2.5-pro", "", `"thinkingConfig":{"includeThoughts":true}`},
		{"gemini-2.5-pro", "off", `"thinkingConfig":{"includeThoughts":false,"thinkingBudget":128}`},
		{"gemini-2.5-pro", "max", `"thinkingBudget":32768`},
		{"gemini-2.5-flash", "off", `"thinkingBudget":0`},
		{"gemini-2.5-flash-lite", "low", `"thinkingBudget":1024`},
		{"gemini-3-pro-preview", "medium", `"thinkingLevel":"low"`},
		{"gemini-3.1-pro-preview", "medium", `"thinkingLevel":"medium"`},
		{"gemini-3-flash-preview", "off", `"thinkingLevel":"minimal"`},
		{"gemini-3-flash-preview", "max", `"thinkingLevel":"high"`},
	} {
		m := newModel(t, row.model, Config{})
		body := string(m.body(&llm.Request{Effort: row.effort, Messages: []llm.Message{llm.UserText("x")}}).Bytes())
		if !strings.Contains(body, row.want) {
			t.Errorf("%s %q: %s", row.model, row.effort, body)
		}
	}
	for _, id := range []string{"gemini-2.0-flash", "gemma-3-27b-it", "gemini-2.5-flash-image"} {
		if body := string(newModel(t, id, Config{}).body(&llm.Request{
			Effort:   "high",
			Messages: []llm.Message{llm.UserText("x")},
		}).Bytes()); strings.Contains(body, "thinking") {
			t.Errorf("%s: %s", id, body)
		}
	}
}

func TestTheTemperatureIsSent(t *testing.T) {
	cold := 0.0
	body := string(newModel(t, "gemini-2.5-flash", Config{}).body(&llm.Request{
		Temperature: &cold,
		Messages:    []llm.Message{llm.UserText("x")},
	}).Bytes())
	if !strings.Contains(body, `"temperature":0,`) {
		t.Error(body)
	}
}

func TestSchemasAreRewrittenToTheSubset(t *testing.T) {
	for in, want := range map[string]string{
		``:                                  ``,
		`{"type":"object","properties":{}}`: ``,
		`{"type" : "object","properties":{"b":{"type":"string"},"a":{"type":"number","minimum":1.0}},"required":["b"]}`:                                                 `{"type" : "object","properties":{"b":{"type":"string"},"a":{"type":"number","minimum":1.0}},"required":["b"]}`,
		`{"$schema":"s","type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","exclusiveMinimum":0}}}`:                                       `{"properties":{"a":{"type":"integer"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`:                                                                                               `{"properties":{"a":{"nullable":true,"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`:                                                                                            `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"enum":["x","y"]}}}`:                                                                                                       `{"properties":{"a":{"enum":["x","y"],"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`:                                                                                          `{"properties":{"a":{"description":"One of [1,2].","type":"integer"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"const":"x"}}}`:                                                                                                            `{"properties":{"a":{"enum":["x"],"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`:                                                                            `{"properties":{"a":{"nullable":true,"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"c":{"$ref":"#/$defs/s"}}},"s":{"type":"string"}}}`:       `{"properties":{"a":{"properties":{"c":{"type":"string"}},"type":"object"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                                                                                         `{"properties":{"a":{"items":{"type":"string"},"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a","gone"]}`:                                                                                `{"properties":{"a":{"description":"A JSON object.","type":"string"}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"properties":{"y":{"type":"string","format":"uri"}}}]}}}`: `{"properties":{"a":{"properties":{"x":{"type":"string"},"y":{"type":"string"}},"type":"object"}},"type":"object"}`,
	} {
		if got := string(subset(json.RawMessage(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	deep := string(subset(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)))
	if len(deep) > 10_000 || strings.Contains(deep, "$ref") {
		t.Errorf("a schema that holds itself: %d bytes", len(deep))
	}
}

// A schema that was rewritten is rewritten to itself.
func FuzzSubset(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"$ref":"#/x"}]}},"x":{"allOf":[{}]}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		once := subset(json.RawMessage(schema))
		if once == nil {
			return
		}
		if twice := subset(once); !bytes.Equal(once, twice) {
			t.Errorf("%s\n%s\n%s", schema, once, twice)
		}
	})
}
