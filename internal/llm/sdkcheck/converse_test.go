package sdkcheck

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	ourconverse "github.com/lathe-dev/lathe/internal/llm/converse"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// claude is a model on Bedrock with a cache and reasoning.
const claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

// amazon is a client of Amazon's SDK for an address.
func amazon(address string, c bedrockruntime.HTTPClient) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		BaseEndpoint: &address, Region: "us-east-1", HTTPClient: c, RetryMaxAttempts: 1,
		Credentials:          credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		AuthSchemePreference: []string{"sigv4"},
	})
}

// capture keeps the body of a request and does not send it.
type capture struct{ body []byte }

var errCaptured = errors.New("captured")

func (c *capture) Do(r *http.Request) (*http.Response, error) {
	var err error
	if c.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return nil, errCaptured
}

// The SDK has no JSON form of its types, so it writes the same request itself.
func TestConverseBodyIsTheSDKs(t *testing.T) {
	srv := llmtest.New(llmtest.Replies(reply()), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	p := ourconverse.New(ourconverse.Config{BaseURL: srv.URL(), Headers: map[string]string{"Authorization": "Bearer " +
		key}, HTTP: client(t)})
	body := sent(t, p, claude)
	var ours struct {
		InferenceConfig struct{ MaxTokens int32 }
		Additional      any `json:"additionalModelRequestFields"`
	}
	if err := json.Unmarshal(body, &ours); err != nil {
		t.Fatal(err)
	}
	mark := types.CachePointBlock{Type: types.CachePointTypeDefault}
	theirs := &capture{}
	_, err := amazon("http://wire", theirs).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
		ModelId: aws.String(claude),
		System: []types.SystemContentBlock{
			&types.SystemContentBlockMemberText{Value: "You are careful."},
			&types.SystemContentBlockMemberCachePoint{Value: mark},
		},
		ToolConfig: &types.ToolConfiguration{Tools: []types.Tool{
			&types.ToolMemberToolSpec{Value: types.ToolSpecification{
				Name: aws.String("Read"), Description: aws.String("Reads a file."),
				InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{
					"type": "object", "properties": map[string]any{"file_path": map[string]any{"type": "string"}},
					"required": []string{"file_path"},
				})},
			}},
			&types.ToolMemberCachePoint{Value: mark},
		}},
		InferenceConfig: &types.InferenceConfiguration{
			MaxTokens:     &ours.InferenceConfig.MaxTokens,
			StopSequences: []string{"END"},
		},
		AdditionalModelRequestFields: document.NewLazyDocument(ours.Additional),
		Messages: []types.Message{
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{
				&types.ContentBlockMemberText{Value: "Look."},
				&types.ContentBlockMemberImage{Value: types.ImageBlock{
					Format: types.ImageFormatPng,
					Source: &types.ImageSourceMemberBytes{Value: []byte("png")},
				}},
				&types.ContentBlockMemberCachePoint{Value: mark},
			}},
			{Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{
				&types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: types.ReasoningTextBlock{Text: aws.String("Hm."), Signature: aws.String("c2ln")}}},
				&types.ContentBlockMemberText{Value: "I read."},
				&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
					ToolUseId: aws.String("toolu_1"), Name: aws.String("Read"),
					Input: document.NewLazyDocument(map[string]any{"file_path": "/a"}),
				}},
			}},
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{
				&types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
					ToolUseId: aws.String("toolu_1"),
					Content:   []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: "package a"}},
				}},
				&types.ContentBlockMemberCachePoint{Value: mark},
			}},
		},
	})
	if !errors.Is(err, errCaptured) {
		t.Fatal(err)
	}
	sameJSON(t, body, theirs.body)
}

// The SDK checks the frames and their sums.
func TestAmazonsSDKUnderstandsTheServer(t *testing.T) {
	srv := llmtest.New(llmtest.Replies(reply()), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	out, err := amazon(srv.URL(), client(t)).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
		ModelId: aws.String(claude),
		Messages: []types.Message{{
			Role:    types.ConversationRoleUser,
			Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Look."}},
		}},
		ToolConfig: &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
			Name: aws.String("Read"), Description: aws.String("Reads a file."),
			InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, name, input, stop, usage := readConverse(out)
	if err := out.GetStream().Err(); err != nil {
		t.Fatal(err)
	}
	if text != "Let me look → there." || name != "Read" || !sameInput(input) || stop != types.StopReasonToolUse ||
		usage == 0 {
		t.Errorf("%q, %s %s, %s, %d tokens", text, name, input, stop, usage)
	}
}

// readConverse returns what a stream had.
func readConverse(out *bedrockruntime.ConverseStreamOutput) (text, name, input string, stop types.StopReason,
	usage int32,
) {
	for e := range out.GetStream().Events() {
		switch e := e.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if use, ok := e.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				name = aws.ToString(use.Value.Name)
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch d := e.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text += d.Value
			case *types.ContentBlockDeltaMemberToolUse:
				input += aws.ToString(d.Value.Input)
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			stop = e.Value.StopReason
		case *types.ConverseStreamOutputMemberMetadata:
			usage = aws.ToInt32(e.Value.Usage.OutputTokens)
		}
	}
	return text, name, input, stop, usage
}

func sameInput(input string) bool {
	var in map[string]string
	return json.Unmarshal([]byte(input), &in) == nil && in["file_path"] == `/b "c"`
}
