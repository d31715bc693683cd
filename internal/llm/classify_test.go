package llm

import (
	"strconv"
	"testing"
)

func TestEachWordAboutMoneyIsBilling(t *testing.T) {
	for _, message := range []string{
		"Your credit balance is too low to access the API", // Anthropic
		"This workspace has reached its spend limit.",
		"Your project has exceeded its monthly spending limit set in the console", // xAI
		"You have reached your specified API usage limits.",
		"You exceeded your current quota, please check your plan", // OpenAI, Gemini
		"Insufficient Balance",                                    // DeepSeek
		"Insufficient credits. Add more using the console",        // OpenRouter
		"Insufficient funds in your account",                      // Vercel
		"You have exceeded your monthly limit of requests",
		"This request requires more credits, or fewer max_tokens", // OpenRouter
	} {
		if got := kindOfStatus(429, "", message); got != KindBilling {
			t.Errorf("%q is %s", message, got)
		}
	}
	for _, code := range []string{"insufficient_quota", "billing_not_active"} {
		if got := kindOfStatus(429, code, "no"); got != KindBilling {
			t.Errorf("%s is %s", code, got)
		}
	}
	if got := kindOfStatus(429, "ThrottlingException", "monthly limit"); got != KindRateLimit {
		t.Errorf("a throttled request is %s", got)
	}
}

// A gateway's page or an empty body says nothing: the status alone tells, also inside a reply that began well.
func TestAStatusAloneHasItsKind(t *testing.T) {
	for status, want := range map[int]ErrorKind{
		400: KindInvalid, 401: KindAuth, 402: KindBilling, 403: KindPermission, 404: KindNotFound, 408: KindNetwork,
		409: KindInvalid,
		413: KindTooLarge, 422: KindInvalid, 429: KindRateLimit, 500: KindServer, 502: KindServer, 503: KindOverloaded,
		529: KindOverloaded,
	} {
		if got := kindOfStatus(status, "", ""); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
		if got := (&where{}).reported(strconv.Itoa(status), "no").Kind; got != want {
			t.Errorf("%d in a reply is %s, want %s", status, got, want)
		}
	}
}

func TestANameOfAnErrorInAReplyHasItsKind(t *testing.T) {
	for code, want := range map[string]ErrorKind{
		"overloaded_error": KindOverloaded, "error_529_busy": KindOverloaded, "rate_limit_error": KindRateLimit,
		"authentication_error": KindAuth,
		"invalid_api_key":      KindAuth, "permission_error": KindPermission, "not_found_error": KindNotFound,
		"payload_too_large":   KindTooLarge,
		"throttlingException": KindRateLimit, "serviceQuotaExceededException": KindRateLimit,
		"serviceUnavailableException": KindOverloaded,
		"modelNotReadyException":      KindOverloaded, "accessDeniedException": KindPermission,
		"resourceNotFoundException": KindNotFound,
		"validationException":       KindInvalid, "invalid_request_error": KindInvalid, "internalServerException": KindServer,
		"context_length_exceeded": KindTooLarge, "model_context_window_exceeded": KindTooLarge,
		"exceed_context_size_error": KindTooLarge,
		"request_too_large":         KindTooLarge,
	} {
		if got := kindOfStatus(0, code, "no"); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
	for _, code := range []string{
		"context_length_exceeded", "model_context_window_exceeded", "exceed_context_size_error",
		"request_too_large",
	} {
		if got := kindOfStatus(400, code, "no"); got != KindTooLarge {
			t.Errorf("400 with %s is %s", code, got)
		}
	}
}
