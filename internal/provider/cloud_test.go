package provider

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// clouded is set with variables for the credentials of clouds.
func clouded(t *testing.T, settings string, env ...string) *Set {
	t.Helper()
	all := set(t, settings, env...)
	all.o.Environ = func() []string { return env }
	return all
}

// asked sends a request of a model and returns it as the server got it.
func asked(t *testing.T, all *Set, id string, got **http.Request) *http.Request {
	t.Helper()
	m, err := all.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
		if err != nil {
			break // the server answers in no wire's form
		}
	}
	if *got == nil {
		t.Fatal("no request was sent")
	}
	return *got
}

func TestAVariableChoosesACloud(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	home := t.TempDir()
	adc := filepath.Join(home, "adc.json")
	if err := os.WriteFile(adc,
		[]byte(`{"type":"authorized_user","refresh_token":"r","token_uri":"http://127.0.0.1:1/"}`), 0o600); err != nil {
		t.Fatal(err)
	}

	r := asked(t, clouded(t, `{"stream": {"maxRetries": 0}}`, "HOME="+home, "CLAUDE_CODE_USE_BEDROCK=1",
		"ANTHROPIC_BEDROCK_BASE_URL="+url, "AWS_REGION=eu-west-1",
		"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=tok", "ANTHROPIC_API_KEY=a"), "haiku", &got)
	if a := r.Header.Get("Authorization"); !strings.HasPrefix(a, "AWS4-HMAC-SHA256 Credential=AKID/") ||
		!strings.Contains(a, "/eu-west-1/bedrock/aws4_request") ||
		r.Header.Get("X-Amz-Security-Token") != "tok" || r.Header.Get("X-Api-Key") != "" || !strings.Contains(r.URL.Path,
		"/model/eu.anthropic.claude-haiku-4-5") {
		t.Errorf("%s %v", r.URL, r.Header)
	}

	got = nil
	r = asked(t, clouded(t, `{"stream": {"maxRetries": 0}}`, "CLAUDE_CODE_USE_BEDROCK=true",
		"ANTHROPIC_BEDROCK_BASE_URL="+url, "AWS_BEARER_TOKEN_BEDROCK=bk"), "", &got)
	if r.Header.Get("Authorization") != "Bearer bk" {
		t.Errorf("%v", r.Header)
	}

	got = nil
	all := clouded(t, `{"stream": {"maxRetries": 0}}`, "CLAUDE_CODE_USE_VERTEX=1", "CLAUDE_CODE_SKIP_VERTEX_AUTH=1",
		"ANTHROPIC_VERTEX_BASE_URL="+url, "ANTHROPIC_VERTEX_PROJECT_ID=p", "CLOUD_ML_REGION=us-east5")
	if r = asked(t, all, "", &got); !strings.HasSuffix(r.URL.Path,
		"/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict") {
		t.Errorf("%s", r.URL)
	}
	got = nil
	if r = asked(t, all, "gemini-2.5-pro", &got); !strings.HasSuffix(r.URL.Path,
		"/publishers/google/models/gemini-2.5-pro:streamGenerateContent") {
		t.Errorf("%s", r.URL)
	}

	if _, err := clouded(t, `{"stream": {"maxRetries": 0}}`, "CLAUDE_CODE_USE_VERTEX=1").Model(t.Context(),
		""); err == nil || !strings.Contains(err.Error(), "ANTHROPIC_VERTEX_PROJECT_ID") {
		t.Errorf("without a project: %v", err)
	}
	if name, _, _ := clouded(t, `{"stream": {"maxRetries": 0}}`, "CLAUDE_CODE_USE_BEDROCK=0",
		"ANTHROPIC_API_KEY=a").Choose(""); name != "anthropic" {
		t.Errorf("switched off: %s", name)
	}
}

func TestAzureTakesAKeyOrATokenOfEntra(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	r := asked(t, clouded(t, `{"provider":"azure","stream":{"maxRetries":0}}`, "AZURE_OPENAI_ENDPOINT="+url,
		"AZURE_OPENAI_API_KEY=k", "AZURE_OPENAI_API_VERSION=2024-10-21"), "gpt-4o", &got)
	if r.Header.Get("Api-Key") != "k" ||
		r.URL.String() != "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	got = nil
	r = asked(t, clouded(t, `{"provider":"azure","stream":{"maxRetries":0}}`, "AZURE_OPENAI_ENDPOINT="+url,
		"AZURE_OPENAI_AD_TOKEN=entra"), "gpt-4o", &got)
	if r.Header.Get("Authorization") != "Bearer entra" || r.Header.Get("Api-Key") != "" ||
		r.URL.Path != "/openai/v1/chat/completions" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
}

func TestBedrockCallsOtherModelsByConverse(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	for _, row := range []struct{ settings, model, path string }{
		{
			`{"provider":"bedrock","stream":{"maxRetries":0}}`, "us.amazon.nova-pro-v1:0",
			"/model/us.amazon.nova-pro-v1:0/converse-stream",
		},
		{
			`{"provider":"bedrock","stream":{"maxRetries":0}}`, "us.anthropic.claude-opus-4-6-v1",
			"/model/us.anthropic.claude-opus-4-6-v1/invoke-with-response-stream",
		},
		{
			`{"provider":"bedrock","providers":{"bedrock":{"type":"converse"}},"stream":{"maxRetries":0}}`, "claude-sonnet-4-5",
			"/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream",
		},
	} {
		got = nil
		r := asked(t, clouded(t, row.settings, "ANTHROPIC_BEDROCK_BASE_URL="+url, "AWS_BEARER_TOKEN_BEDROCK=bk",
			"AWS_REGION=us-west-2"), row.model, &got)
		if r.URL.Path != row.path || r.Header.Get("Authorization") != "Bearer bk" {
			t.Errorf("%s: %s %v", row.model, r.URL.Path, r.Header)
		}
	}
}

func TestVariablesOfCloudsMayBeInTheSettings(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	all := clouded(t, `{"stream":{"maxRetries":0},"env":{"CLAUDE_CODE_USE_BEDROCK":"1","ANTHROPIC_BEDROCK_BASE_URL":"`+
		url+`","AWS_ACCESS_KEY_ID":"AKSET","AWS_SECRET_ACCESS_KEY":"s","AWS_REGION":"eu-west-3"}}`)
	if a := asked(t, all, "haiku", &got).Header.Get("Authorization"); !strings.Contains(a, "Credential=AKSET/") ||
		!strings.Contains(a, "/eu-west-3/") {
		t.Errorf("%s", a)
	}
	got = nil
	all = clouded(t, `{"provider":"azure","stream":{"maxRetries":0},"env":{"AZURE_OPENAI_ENDPOINT":"`+url+
		`","AZURE_OPENAI_API_KEY":"k"}}`)
	if r := asked(t, all, "gpt-4o", &got); r.Header.Get("Api-Key") != "k" {
		t.Errorf("%v", r.Header)
	}
}
