package llmtest

import (
	"strings"
	"testing"
)

func googleBody(extra, contents string) string {
	return `{"tools":[{"functionDeclarations":[{"name":"Read","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}]}]` + extra + `,"contents":[` + contents + `]}`
}

func TestGoogleWireRefusesWhatTheAPIRefuses(t *testing.T) {
	srv := start(t, Replies(Say(Text("ok"))), Options{})
	user := `{"role":"user","parts":[{"text":"x"}]}`
	calls := `{"role":"model","parts":[{"functionCall":{"name":"Read","args":{}}}]}`
	signed := strings.Replace(calls, `}}]}`, `},"thoughtSignature":"skip_thought_signature_validator"}]}`, 1)
	tool := func(schema string) string {
		return `{"tools":[{"functionDeclarations":[{"name":"R","parameters":` + schema + `}]}],"contents":[` + user + `]}`
	}
	for want, body := range map[string]string{
		"Invalid JSON payload received. unexpected end": `{"contents":`,
		`Unknown name "messages"`:                       `{"messages":[],"contents":[` + user + `]}`,
		"contents is not specified":                     googleBody(``, ``),
		"valid role":                                    googleBody(``, `{"role":"assistant","parts":[{"text":"x"}]}`),
		"parts must not be empty":                       googleBody(``, `{"role":"user","parts":[]}`),
		"required oneof field":                          googleBody(``, `{"role":"user","parts":[{"text":""}]}`),
		"Unable to process input image": googleBody(``,
			`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png"}}]}`),
		"number of function response parts": googleBody(``, user+","+signed),
		"immediately after a function call turn": googleBody(``, user+","+signed+
			`,{"role":"user","parts":[{"functionResponse":{"name":"Bash","response":{"output":""}}}]}`),
		"only set only one of thinking": googleBody(
			`,"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"low"}}`, user),
		"missing a thought_signature": googleBody(``, user+","+calls+
			`,{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":""}}}]}`),
		"signature is not valid": googleBody(``,
			`{"role":"model","parts":[{"text":"x","thoughtSignature":"forged"}]},`+user),
		`Unknown name "additionalProperties"`: tool(
			`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`),
		"should be non-empty":     tool(`{"type":"object","properties":{}}`),
		"not repeating":           tool(`{"type":["object","null"]}`),
		"items: missing":          tool(`{"type":"object","properties":{"a":{"type":"array"}}}`),
		"allowed for STRING":      tool(`{"type":"object","properties":{"a":{"type":"integer","enum":["1"]}}}`),
		"property is not defined": tool(`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`),
	} {
		resp := ask(t, srv, "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse", body)
		if got := text(t, resp); resp.StatusCode != 400 || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
			t.Errorf("%s\n\tgot %d %s, want %q", body, resp.StatusCode, got, want)
		}
	}
}
