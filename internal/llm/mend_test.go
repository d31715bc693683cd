package llm

import (
	"encoding/json"
	"testing"
)

// Input that is nearly JSON is mended where its meaning is certain, and nowhere else.
func TestInputThatIsNearlyJSONIsMendedOnlyWhereItsMeaningIsCertain(t *testing.T) {
	for raw, want := range map[string]string{
		"{\"a\":\"one\ntwo\"}":                       `{"a":"one\ntwo"}`,
		"{\"a\":\"one\r\n\ttwo\"}":                   `{"a":"one\r\n\ttwo"}`,
		"{\"a\":\"\x01\"}":                           `{"a":"\u0001"}`,
		"{\"a\":\"say \\\"hi\\\"\nbye\"}":            `{"a":"say \"hi\"\nbye"}`,
		"{\"a\":\"back\\\\\nslash\"}":                `{"a":"back\\\nslash"}`,
		`{"a":1,}`:                                   `{"a":1}`,
		"{\"a\":[1,2,],\n \"b\":{\"c\":true, } ,\n}": `{"a":[1,2],"b":{"c":true}}`,
		"{\"a\":\"x,\n}\",}":                         `{"a":"x,\n}"}`,
		// refused
		"":                              "",
		"{":                             "",
		`{"a":"one`:                     "",
		"{\"a\":\"one\n":                "",
		"{\"a\":\"one,\n\"b\":\"two\"}": "",
		`{"a":1,,}`:                     "",
		`{,}`:                           "",
		`{"a":[,]}`:                     "",
		`{"a":,}`:                       "",
		`{"a":1}}`:                      "",
		`{"a":1} {"b":2,}`:              "",
		`{"a":"\d+",}`:                  "",
		`{a:1,}`:                        "",
		`{'a':1,}`:                      "",
		`{"a":True,}`:                   "",
		`[1,]`:                          "",
		`"text",`:                       "",
		"{\"a\":\"x\\\ny\"}":            "",
		"{\"a\":\"1\n\",\"a\":\"2\"}":   "",
		`{"a":{"b":1,"b":2,}}`:          "",
		`{"a":1 "b":2,}`:                "",
		`// note {"a":1,}`:              "",
	} {
		call := ToolCall{ID: "1", Name: "Bash", Input: json.RawMessage("{}"), Raw: raw}.Mended()
		switch {
		case want == "" && (call.Raw != raw || string(call.Input) != "{}"):
			t.Errorf("%q was taken as %s", raw, call.Input)
		case want != "" && (call.Raw != "" || string(call.Input) != want):
			t.Errorf("%q: %s %q, want %s", raw, call.Input, call.Raw, want)
		}
	}
	if c := (ToolCall{Name: unnamed, Raw: `{"a":1,}`}).Mended(); c.Raw == "" {
		t.Error("a call without a name was mended")
	}
}

func FuzzMendedInputIsAnObject(f *testing.F) {
	f.Add("{\"a\":\"x\ny\",}")
	f.Fuzz(func(t *testing.T, raw string) {
		if c := (ToolCall{Name: "x", Raw: raw}).Mended(); c.Raw == "" && raw != "" && !IsObject(c.Input) {
			t.Errorf("%q became %s", raw, c.Input)
		}
	})
}
