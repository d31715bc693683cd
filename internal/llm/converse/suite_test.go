package converse

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProviderPassesTheSuite(t *testing.T) {
	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
		return newModel(t, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Config{
			BaseURL: baseURL, HTTP: o.HTTP, Retry: o.Retry, Clock: o.Clock, StallTimeout: o.StallTimeout,
			HeaderTimeout: o.StallTimeout,
			Prepare: func(ctx context.Context, out *llm.Outgoing) error {
				if o.Prepare != nil {
					return o.Prepare(ctx, out)
				}
				if out.Refused != nil {
					return out.Refused.Err
				}
				out.Header.Set("Authorization", "Bearer "+o.Key)
				return nil
			},
		})
	}, suite.Traits{
		Wire: "converse", Effort: "medium", Signatures: true, CacheWrites: true, Whole: true, ReadyAtEnd: true,
		Choice: "toolChoice", NoForbid: true,
		Stops:  []llm.StopReason{llm.StopMaxTokens, llm.StopSequence, llm.StopRefusal, llm.StopContextWindow},
		Signed: []string{""},
	})
}

func newModel(t testing.TB, id string, c Config) *model {
	t.Helper()
	m, err := New(c).Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*model)
}
