package anthropic

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProviderPassesTheSuite(t *testing.T) {
	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
		return newModel(t, llm.DefaultModel, Config{
			BaseURL: baseURL, APIKey: o.Key, HTTP: o.HTTP, Retry: o.Retry, Clock: o.Clock,
			StallTimeout: o.StallTimeout, HeaderTimeout: o.StallTimeout, Prepare: o.Prepare,
		})
	}, suite.Traits{
		Wire: "anthropic", Effort: "medium", Signatures: true, CacheWrites: true, Whole: true, ReadyAtEnd: true,
		Signed: []string{""},
		Stops: []llm.StopReason{
			llm.StopMaxTokens, llm.StopSequence, llm.StopPauseTurn, llm.StopRefusal, llm.StopContextWindow,
		},
	})
}

func newModel(t testing.TB, id string, c Config) llm.Model {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
