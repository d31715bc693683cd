package sdkcheck

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	ourgoogle "github.com/lathe-dev/lathe/internal/llm/google"
)

// geminiBody is the body of a request, in the SDK's types.
type geminiBody struct {
	Contents          []*genai.Content        `json:"contents"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
}

func TestGeminiBodyDecodesIntoTheSDK(t *testing.T) {
	srv := serve(t, reply(), reply())
	p := ourgoogle.New(ourgoogle.Config{BaseURL: srv.URL(), APIKey: key, HTTP: client(t)})
	for _, model := range []string{"gemini-2.5-flash", "gemini-3.1-pro-preview"} {
		// The mark of a call without a signature is in base64's alphabet for URLs, which the API takes and the SDK does not
		// read.
		body := bytes.ReplaceAll(sent(t, p, model), []byte("skip_thought_signature_validator"),
			[]byte("skip/thought/signature/validator"))
		var params geminiBody
		if err := json.Unmarshal(body, &params); err != nil {
			t.Fatal(err)
		}
		if len(params.Contents) != 3 || len(params.Tools) != 1 || len(params.Tools[0].FunctionDeclarations) != 1 {
			t.Errorf("%+v", params)
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, body, again)
	}
}

func TestGeminiSDKUnderstandsTheServer(t *testing.T) {
	srv := serve(t, reply())
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: client(t),
		HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL() + "/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	var calls []*genai.FunctionCall
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "Read", Description: "Reads a file.",
		Parameters: &genai.Schema{
			Type:       genai.TypeObject,
			Properties: map[string]*genai.Schema{"file_path": {Type: genai.TypeString}},
		},
	}}}}}
	for r, err := range c.Models.GenerateContentStream(t.Context(), "gemini-2.5-flash", genai.Text("Look."), config) {
		if err != nil {
			t.Fatal(err)
		}
		text += r.Text()
		calls = append(calls, r.FunctionCalls()...)
	}
	if text != "Let me look → there." || len(calls) != 1 || calls[0].Name != "Read" ||
		calls[0].Args["file_path"] != `/b "c"` {
		t.Errorf("%q, %+v", text, calls)
	}
}
