package google

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProviderPassesTheSuite(t *testing.T) {
	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
		return newModel(t, "gemini-2.5-pro", Config{
			BaseURL: baseURL, APIKey: o.Key, HTTP: o.HTTP, Retry: o.Retry, Clock: o.Clock,
			StallTimeout: o.StallTimeout, HeaderTimeout: o.StallTimeout, Prepare: o.Prepare,
		})
	}, suite.Traits{
		Wire: "google", Effort: "medium", Whole: true, ReadyAtEnd: true, Unnumbered: true, Choice: "toolConfig",
		Stops:  []llm.StopReason{llm.StopMaxTokens, llm.StopRefusal},
		Shapes: []string{"ids_missing", "ids_empty", "ids_same", "calls_signed", "text_signed", "text_signed_late", "array"},
		Signed: []string{"calls_signed", "text_signed", "text_signed_late"},
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
