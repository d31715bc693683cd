package openai

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestResponsesPassTheSuite(t *testing.T) {
	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
		p := New(Config{
			BaseURL: baseURL, APIKey: o.Key, HTTP: o.HTTP, Retry: o.Retry, Clock: o.Clock, Responses: true,
			StallTimeout: o.StallTimeout, HeadTimeout: o.StallTimeout, Prepare: o.Prepare,
		})
		m, err := p.Model(t.Context(), "gpt-5.1")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}, suite.Traits{
		Wire: "responses", Effort: "medium", Whole: true, Costs: true, ReadyAtEnd: true, Sealed: true,
		Stops:  []llm.StopReason{llm.StopMaxTokens, llm.StopRefusal},
		Shapes: []string{"ids_empty", "ids_same", "arguments_at_end"},
		Signed: []string{""},
	})
}

func TestResponsesOverWebSocketsPassTheSuite(t *testing.T) {
	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
		p := New(Config{
			BaseURL: baseURL, APIKey: o.Key, HTTP: o.HTTP, Retry: o.Retry, Clock: o.Clock, Responses: true, WebSocket: true,
			WebSocketBreaks: -1,
			StallTimeout:    o.StallTimeout, HeadTimeout: o.StallTimeout, Prepare: o.Prepare,
		})
		m, err := p.Model(t.Context(), "gpt-5.1")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}, suite.Traits{
		Wire: "responses", Socket: true, Effort: "medium", Costs: true, ReadyAtEnd: true, Sealed: true,
		Stops:  []llm.StopReason{llm.StopMaxTokens, llm.StopRefusal},
		Shapes: []string{"ids_empty", "ids_same", "arguments_at_end"},
		Signed: []string{""},
	})
}

func TestProviderPassesTheSuite(t *testing.T) {
	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
		p := New(Config{
			BaseURL: baseURL, APIKey: o.Key, HTTP: o.HTTP, Retry: o.Retry, Clock: o.Clock,
			StallTimeout: o.StallTimeout, HeadTimeout: o.StallTimeout, Traits: &Traits{Reasoning: KeepWithCalls},
			Prepare: o.Prepare,
		})
		m, err := p.Model(t.Context(), "local-model")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}, suite.Traits{
		Wire: "chat", Effort: "medium", Whole: true, Costs: true,
		Stops: []llm.StopReason{llm.StopMaxTokens, llm.StopRefusal},
		Shapes: []string{
			"ids_missing", "ids_empty", "ids_same", "ids_repeated", "arguments_object", "name_late", "calls_batched",
			"index_missing", "done_absent", "usage_with_finish", "reasoning", "reasoning_details", "reasoning_repeated",
			"details_signed", "calls_signed",
		},
		Signed: []string{"details_signed", "calls_signed"},
	})
}
