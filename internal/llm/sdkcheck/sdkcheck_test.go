// Package sdkcheck checks our wire clients and our wire server against the official SDKs: our requests must
// decode into their request types without loss, and their clients must understand the scripted server. It is
// a separate module to keep the SDKs out of lathe's dependencies. Run it here with go test.
package sdkcheck

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lathe-dev/lathe/internal/llm"
	ouranthropic "github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	ouropenai "github.com/lathe-dev/lathe/internal/llm/openai"
)

const key = "sk-check-0123456789"

func serve(t *testing.T, replies ...llmtest.Reply) *llmtest.Server {
	t.Helper()
	s := llmtest.New(llmtest.Replies(replies...), llmtest.Options{Key: key})
	if err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func client(t *testing.T) *http.Client {
	t.Helper()
	c, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// request has every kind of content that both wires can carry, reasoning that the host made among it.
func request(host string) *llm.Request {
	call := llm.ToolCall{ID: "toolu_1", Name: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}
	return &llm.Request{
		System: []llm.Part{llm.Text{Text: "You are careful."}},
		Tools: []llm.ToolSpec{{
			Name: "Read", Description: "Reads a file.",
			Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}`),
		}},
		Stop: []string{"END"}, Effort: "medium",
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "Look."}, llm.Media{MIME: "image/png", Data: []byte("png")}}},
			{Role: llm.Assistant, Parts: []llm.Part{
				llm.Reasoning{Text: "Hm.", Signature: "c2ln", Provider: host},
				llm.Text{Text: "I read."},
				call,
			}},
			{Role: llm.User, Parts: []llm.Part{llm.TextResult(call, "package a", false)}},
		},
	}
}

// sent returns the body that a model sends for request.
func sent(t *testing.T, p llm.Provider, id string) []byte {
	t.Helper()
	m, err := p.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var body []byte
	for d, err := range m.Stream(t.Context(), request(m.Info().Host)) {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := d.(llm.Sent); ok {
			body = s.Body()
		}
	}
	return body
}

// sameJSON compares values, without the members that the SDKs set themselves.
func sameJSON(t *testing.T, ours, theirs []byte, apart ...string) {
	t.Helper()
	var a, b map[string]any
	if err := json.Unmarshal(ours, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(theirs, &b); err != nil {
		t.Fatal(err)
	}
	for _, k := range apart {
		delete(a, k)
		delete(b, k)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the SDK's types lose or change (-ours +theirs):\n%s", d)
	}
}

func reply() llmtest.Reply {
	r := llmtest.Say(llmtest.Text("Let me look → there."), llmtest.Tool("Read", map[string]any{"file_path": "/b \"c\""}))
	r.Chunk = 7
	return r
}

func TestAnthropicBodyDecodesIntoTheSDK(t *testing.T) {
	srv := serve(t, reply(), reply())
	p, err := ouranthropic.New(ouranthropic.Config{BaseURL: srv.URL(), APIKey: key, HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"claude-sonnet-4-5", "claude-opus-4-7"} {
		body := sent(t, p, model)
		var params anthropic.MessageNewParams
		if err := json.Unmarshal(body, &params); err != nil {
			t.Fatal(err)
		}
		if len(params.Messages) != 3 || len(params.Tools) != 1 || params.MaxTokens == 0 {
			t.Errorf("%+v", params)
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, body, again, "stream") // the SDK adds it when it sends
	}
}

func TestAnthropicSDKUnderstandsTheServer(t *testing.T) {
	srv := serve(t, reply())
	c := anthropic.NewClient(
		anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithHTTPClient(client(t)),
		anthropicoption.WithBaseURL(srv.URL()), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0),
	)
	stream := c.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 1000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Look."))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name:        "Read",
			InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"file_path": map[string]any{"type": "string"}}},
		}}},
	})
	var msg anthropic.Message
	for stream.Next() {
		if err := msg.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(msg.Content) != 2 || msg.Content[0].Text != "Let me look → there." || msg.Content[1].Name != "Read" ||
		string(msg.StopReason) != "tool_use" {
		t.Errorf("%+v", msg)
	}
	sameJSON(t, []byte(`{"file_path":"/b \"c\""}`), msg.Content[1].Input)
	if msg.Usage.OutputTokens == 0 || msg.ID == "" {
		t.Errorf("%+v", msg.Usage)
	}
}

func TestOpenAIBodyDecodesIntoTheSDK(t *testing.T) {
	srv := serve(t, reply(), reply())
	p := ouropenai.New(ouropenai.Config{BaseURL: srv.URL(), APIKey: key, HTTP: client(t)})
	for _, model := range []string{"gpt-4o", "gpt-5"} {
		body := sent(t, p, model)
		var params openai.ChatCompletionNewParams
		if err := json.Unmarshal(body, &params); err != nil {
			t.Fatal(err)
		}
		if len(params.Messages) != 4 || len(params.Tools) != 1 {
			t.Errorf("%+v", params)
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, body, again, "stream")
	}
}

func TestOpenAISDKUnderstandsTheServer(t *testing.T) {
	srv := serve(t, reply())
	c := openai.NewClient(
		openaioption.WithHTTPClient(client(t)), openaioption.WithBaseURL(srv.URL()+"/v1"),
		openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0),
	)
	stream := c.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model:    "gpt-4o",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Look.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "Read", Parameters: openai.FunctionParameters{
				"type":       "object",
				"properties": map[string]any{"file_path": map[string]any{"type": "string"}},
			},
		})},
	})
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(acc.Choices) != 1 || acc.Choices[0].Message.Content != "Let me look → there." ||
		acc.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("%+v", acc.Choices)
	}
	calls := acc.Choices[0].Message.ToolCalls
	if len(calls) != 1 || calls[0].Function.Name != "Read" {
		t.Fatalf("%+v", calls)
	}
	sameJSON(t, []byte(`{"file_path":"/b \"c\""}`), []byte(calls[0].Function.Arguments))
}

func TestResponsesBodyDecodesIntoTheSDK(t *testing.T) {
	srv := serve(t, reply(), reply())
	p := ouropenai.New(ouropenai.Config{BaseURL: srv.URL(), APIKey: key, HTTP: client(t), Responses: true})
	for _, model := range []string{"gpt-5", "gpt-5.5"} {
		body := sent(t, p, model)
		var params responses.ResponseNewParams
		if err := json.Unmarshal(body, &params); err != nil {
			t.Fatal(err)
		}
		if len(params.Input.OfInputItemList) < 4 || len(params.Tools) != 1 {
			t.Errorf("%+v", params)
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, body, again, "stream")
	}
}

func TestResponsesSDKUnderstandsTheServer(t *testing.T) {
	srv := serve(t, reply())
	c := openai.NewClient(
		openaioption.WithHTTPClient(client(t)), openaioption.WithBaseURL(srv.URL()+"/v1"),
		openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0),
	)
	stream := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "gpt-5", Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Look.", responses.EasyInputMessageRoleUser),
		}},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("Read",
			map[string]any{"type": "object", "properties": map[string]any{"file_path": map[string]any{"type": "string"}}},
			false)},
	})
	var text string
	var last responses.Response
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			last = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text != "Let me look → there." || last.OutputText() != text || last.Usage.OutputTokens == 0 {
		t.Errorf("%q, %+v", text, last)
	}
	calls := 0
	for _, item := range last.Output {
		if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok && call.Name == "Read" {
			calls++
			sameJSON(t, []byte(`{"file_path":"/b \"c\""}`), []byte(call.Arguments))
		}
	}
	if calls != 1 {
		t.Errorf("%d calls in %+v", calls, last.Output)
	}
}
