package event_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

func TestSecretsAreMaskedInAnyText(t *testing.T) {
	const m = event.Masked
	masker := event.NewMasker("hunter2-hunter2", `quo"ted<secret>`, "tiny", "a b&c/d=e")
	mask := func(s string) string {
		if json.Valid([]byte(s)) {
			return string(masker.MaskJSON([]byte(s)))
		}
		return masker.Mask(s)
	}
	for _, tt := range []struct{ name, in, want string }{
		{"Anthropic key", "key sk-ant-api03-abcDEF123456789_-xyz end", "key " + m + " end"},
		{"OpenAI key", "sk-proj-0123456789abcdefghij", m},
		{"Stripe key", "sk_live_0123456789abcdefghij", m},
		{"GitHub tokens", "ghp_0123456789abcdefghijABCDEFGHIJ github_pat_11ABCDEFG0123456789_abcdef", m + " " + m},
		{"Slack token", "xoxb-1234567890-abcdefghij", m},
		{"AWS key id", "AKIAIOSFODNN7EXAMPLE", m},
		{"AWS secret", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=" + m},
		{"quoted export", `export DB_PASSWORD="s3cr3t-pass"`, `export DB_PASSWORD="` + m + `"`},
		{
			"after an escaped newline", `{"a":"x\nOPENAI_API_KEY=abcd1234efgh5678\n\tGITHUB_TOKEN=plainvalue112233"}`,
			`{"a":"x\nOPENAI_API_KEY=` + m + `\n\tGITHUB_TOKEN=` + m + `"}`,
		},
		{"YAML", "AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY: " + m},
		{"YAML, quoted", "  DB_PASSWORD: 'correct-horse'\n  n: 1", "  DB_PASSWORD: '" + m + "'\n  n: 1"},
		{"YAML within JSON", `{"a":"x:\n  API_KEY: abcdefgh\n  b: 2"}`, `{"a":"x:\n  API_KEY: ` + m + `\n  b: 2"}`},
		{
			"INI", "[default]\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG\nregion = eu-west-1",
			"[default]\naws_secret_access_key = " + m + "\nregion = eu-west-1",
		},
		{"TOML", `GITHUB_TOKEN = "plainvalue"`, `GITHUB_TOKEN = "` + m + `"`},
		{"lower case", "password: hunter22\ndb.password=abcd1efg", "password: " + m + "\ndb.password=" + m},
		{"a dictionary", `{'SECRET_KEY': 'abcdefgh', 'n': 1}`, `{'SECRET_KEY': '` + m + `', 'n': 1}`},
		{"a Ruby hash", `{"API_TOKEN" => "abcdefgh"}`, `{"API_TOKEN" => "` + m + `"}`},
		{"JSON in capitals", `{"AWS_SECRET_ACCESS_KEY":"abcdefgh","MAX_KEY":12345678}`, `{"AWS_SECRET_ACCESS_KEY":"` + m +
			`","MAX_KEY":12345678}`},
		{"docker -e", "docker run -e API_KEY=abcdefgh -e N=1", "docker run -e API_KEY=" + m + " -e N=1"},
		{"fish", "set -gx API_KEY abcdefgh", "set -gx API_KEY " + m},
		{"Dockerfile", "ENV API_KEY abcdefgh", "ENV API_KEY " + m},
		{"flags", "mysql --password hunter22 --token=abc123def", "mysql --password " + m + " --token=" + m},
		{"Google key", "AIzaSyA0123456789abcdefghijklmnopqrstuv", m},
		{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4", m},
		{"bearer", "Authorization: Bearer abcdef0123456789", "Authorization: Bearer " + m},
		{"header", "x-api-key: 0123456789abcdef", "x-api-key: " + m},
		{"header in JSON", `{"X-Api-Key":"0123456789abcdef"}`, `{"X-Api-Key":"` + m + `"}`},
		{"field", `{"client_secret":"two words here","n":1}`, `{"client_secret":"` + m + `","n":1}`},
		{"field in quoted JSON", `"{\"api_key\": \"0123456789\"}"`, `"{\"api_key\": \"` + m + `\"}"`},
		{"password of a URL", "git clone https://me:s3cret@example.com/x", "git clone https://me:" + m + "@example.com/x"},
		{"parameter of a URL", "https://x/y?alt=sse&key=0123456789", "https://x/y?alt=sse&key=" + m},
		{"private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", m + "\nrest"},
		{"private key in JSON", `"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nrest"`, `"` + m + `\nrest"`},
		{"cut private key in JSON", `{"a":"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n","b":1}`, `{"a":"` + m + `","b":1}`},
		{"literal", "my hunter2-hunter2!", "my " + m + "!"},
		{"literal quoted by JSON", `["quo\"ted\u003csecret\u003e","quo\"ted<secret>"]`, `["` + m + `","` + m + `"]`},
		{"literal in text", `quo"ted<secret>`, m},
		{"literal beyond one JSON string", `{"hunter2-hunter2":"hunter2-hunter2"}`, `{"` + m + `":"` + m + `"}`},
		{"literal quoted by a URL", "?q=a+b%26c%2Fd%3De", "?q=" + m},

		{"token counts", `{"max_tokens":16384,"input_tokens":123456789}`, `{"max_tokens":16384,"input_tokens":123456789}`},
		{"code", `key := os.Getenv("ANTHROPIC_API_KEY")`, `key := os.Getenv("ANTHROPIC_API_KEY")`},
		{"a reference", `{"apiKey":"{env}"} API_KEY=$OTHER_KEY`, `{"apiKey":"{env}"} API_KEY=$OTHER_KEY`},
		{
			"code with words", "token = getToken(ctx); secret: string; password := form.Value",
			"token = getToken(ctx); secret: string; password := form.Value",
		},
		{"counts in a text", "max_token: 16384, tokens: 123456789", "max_token: 16384, tokens: 123456789"},
		{"an empty entry", "API_KEY:\nNAME: something-long", "API_KEY:\nNAME: something-long"},
		{"a plain URL", "https://example.com:8080/a?b=c", "https://example.com:8080/a?b=c"},
		{
			"prose", "a bearer authentication, basic understanding of tokens: everything",
			"a bearer authentication, basic understanding of tokens: everything",
		},
		{"a task", "task-force-for-the-long-names", "task-force-for-the-long-names"},
		{"a short literal", "tiny", "tiny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mask(tt.in); got != tt.want {
				t.Errorf("Mask(%s)\n got %s\nwant %s", tt.in, got, tt.want)
			}
		})
	}
}

// FuzzMask: a text inside JSON may lose its secrets, never the JSON around it.
func FuzzMask(f *testing.F) {
	f.Add(`-----BEGIN PRIVATE KEY-----\`, "password")
	f.Add(`x-api-key: "abc\"defghi`, "token")
	f.Add(`https://a:b"c@d API_KEY='\\`, `se"cret\`)
	f.Fuzz(func(t *testing.T, text, literal string) {
		line, err := json.Marshal(map[string]any{"api_key": text, "a": []string{text, literal}, "token": 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := event.NewMasker(literal).MaskJSON(line); !json.Valid(got) {
			t.Fatalf("%s\nbecame %s", line, got)
		} else if len(literal) > 20 && bytes.Contains(got, []byte(literal)) {
			t.Fatalf("%s\nstill has %s", got, literal)
		}
		// Shapes alone never match string delimiters.
		if got := event.NewMasker().MaskJSON(line); got[0] != '{' {
			t.Fatalf("%s\nwas broken: %s", line, got)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	text := strings.Repeat(
		`{"type":"text","text":"func main() {\n\tfmt.Println(\"hello, token world\")\n}\n","max_tokens":12},`, 1000)
	m := event.NewMasker("0123456789")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.MaskJSON([]byte(text))
	}
}
