package provider

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestACloudTakesAKeyOfTheSettingsAndNoneWhereAGatewaySigns(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	for _, row := range []struct{ name, settings, env, want string }{
		{"a key of the settings", `"providers":{"bedrock":{"apiKey":"of-settings"}},`, "", "Bearer of-settings"},
		{
			"before keys to sign with", `"providers":{"bedrock":{"apiKey":"of-settings"}},`,
			"AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=s", "Bearer of-settings",
		},
		{"keys to sign with", ``, "AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=s", "AWS4-HMAC-SHA256 Credential=AKID/"},
		{"a gateway that signs", ``, "CLAUDE_CODE_SKIP_BEDROCK_AUTH=1 AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=s", ""},
		{
			"a gateway that does not", ``, "CLAUDE_CODE_SKIP_BEDROCK_AUTH=0 AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=s",
			"AWS4-HMAC-SHA256 Credential=AKID/",
		},
	} {
		got = nil
		env := append(strings.Fields(row.env), "HOME="+t.TempDir(), "AWS_EC2_METADATA_DISABLED=true",
			"CLAUDE_CODE_USE_BEDROCK=1", "ANTHROPIC_BEDROCK_BASE_URL="+url)
		r := asked(t, clouded(t, `{`+row.settings+`"stream":{"maxRetries":0}}`, env...), "", &got)
		if a := r.Header.Get("Authorization"); !strings.HasPrefix(a, row.want) || row.want == "" && a != "" {
			t.Errorf("%s: %q", row.name, a)
		}
	}
}

func TestTheAddressOfVertexMayHaveItsVersion(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	for _, end := range []string{"", "/", "/v1", "/v1/"} {
		got = nil
		all := clouded(t, `{"stream":{"maxRetries":0}}`, "CLAUDE_CODE_USE_VERTEX=1", "CLAUDE_CODE_SKIP_VERTEX_AUTH=1",
			"ANTHROPIC_VERTEX_BASE_URL="+url+end, "ANTHROPIC_VERTEX_PROJECT_ID=p")
		if r := asked(t, all, "gemini-2.5-pro",
			&got); r.URL.Path != "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent" {
			t.Errorf("%q: %s", end, r.URL.Path)
		}
	}
}

func TestTheSourceOfAKeyIsTheOneThatIsUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	all := keyed(t, file, `{"apiKeyHelper":"echo h"}`)
	if _, err := all.Login("groq", "kept"); err != nil {
		t.Fatal(err)
	}
	for settings, want := range map[string]string{
		`{"provider":"anthropic","apiKeyHelper":"echo h"}`: "apiKeyHelper",
		`{"provider":"groq","apiKeyHelper":"echo h"}`:      "apiKeyHelper", // the server that the settings name
		`{"model":"groq/m","apiKeyHelper":"echo h"}`:       "keyring",      // the helper is not for this one
		`{"provider":"groq"}`:                              "keyring",
		`{"provider":"mistral"}`:                           "none",
	} {
		if got := keyed(t, file, settings).KeySource(); got != want {
			t.Errorf("%s: the key is said to come from %s, want %s", settings, got, want)
		}
	}
}
