package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

func newModel(t testing.TB, c Config, id string) *model {
	t.Helper()
	m, err := New(c).Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*model)
}

// everything is a request that uses every field and every kind of part; its thoughts came from a host.
func everything(host string) *llm.Request {
	read := llm.ToolCall{ID: "call_read", Name: "Read", Input: json.RawMessage(`{"file_path": "/a <b> & é", "n": 1.50}`)}
	shot := llm.ToolCall{ID: "toolu_" + strings.Repeat("x", 40), Name: "Open", Input: json.RawMessage(`{}`)}
	broken := llm.ToolCall{ID: "call_broken", Name: "Bash", Input: json.RawMessage(`{}`), Raw: `{"command": "ec`}
	return &llm.Request{
		System: []llm.Part{llm.Text{Text: "Be careful."}, llm.Text{Text: "Be brief."}},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{
				llm.Text{Text: "Look at"},
				llm.Media{MIME: "image/png", Data: []byte("png")},
				llm.Media{MIME: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
				llm.Text{Text: "please."},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				llm.Reasoning{Text: "Hm.", Provider: host},
				llm.Reasoning{
					Text:      "signed",
					Signature: "s",
				},
				llm.Reasoning{Text: "Sealed.", Provider: host, Opaque: &llm.Opaque{
					Provider: host,
					JSON:     json.RawMessage(`{"type":"reasoning","summary":[],"encrypted_content":"e"}`),
				}},
				llm.Text{Text: "Both.", Opaque: &llm.Opaque{
					Provider: host + "x",
					JSON:     json.RawMessage(`{"phase":"commentary"}`),
				}},
				read, shot, broken,
			}},
			{Role: llm.User, Parts: []llm.Part{
				llm.TextResult(read, "package a", false),
				llm.ToolResult{
					CallID: shot.ID, Name: "Open",
					Parts: []llm.Part{llm.Media{MIME: "image/png", Data: []byte("shot")}},
				},
				llm.TextResult(broken, "not JSON", true),
				llm.Text{Text: "Go on."},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{llm.Reasoning{
				Text: "only thoughts", Provider: host,
				Opaque: &llm.Opaque{Provider: host, JSON: json.RawMessage(
					`{"type":"reasoning","summary":[],"encrypted_content":"alone"}`)},
			}}},
			{Role: llm.Assistant, Parts: []llm.Part{
				llm.Opaque{Provider: "anthropic", JSON: json.RawMessage(`{}`)},
				llm.Reasoning{Text: "Why not.", Provider: host},
				llm.Text{Text: "Fine."},
			}},
			{Role: llm.User, Parts: []llm.Part{llm.ToolResult{CallID: "none", Name: "x"}}},
			llm.UserText("Two\n\"lines\""),
		},
		Tools: []llm.ToolSpec{
			{
				Name: "Read", Description: "Reads <a> file.",
				Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`),
			},
			{Name: "Now"},
		},
		MaxTokens: 5000, Effort: "high", ToolChoice: "any", Stop: []string{"END"},
	}
}

func TestRequestBodies(t *testing.T) {
	for _, row := range []struct {
		name, model string
		conf        Config
	}{
		{"openai_reasoning", "gpt-5.1", Config{}},
		{"openai_plain", "gpt-4o", Config{CacheKey: "session-1"}},
		{"deepseek", "deepseek-v4-pro", Config{BaseURL: "https://api.deepseek.com"}},
		{"mistral", "codestral-latest", Config{BaseURL: "https://api.mistral.ai/v1"}},
		{"openrouter", "openai/gpt-5.1", Config{BaseURL: "https://openrouter.ai/api/v1"}},
		{"unknown", "local", Config{BaseURL: "http://localhost:8080"}},
		{"openrouter_claude", "anthropic/claude-sonnet-4.6", Config{BaseURL: "https://openrouter.ai/api/v1"}},
		{"kimi", "kimi-k2.6", Config{BaseURL: "https://api.moonshot.ai/v1"}},
		{"azure", "team-gpt-5-mini", Config{BaseURL: "https://res.openai.azure.com"}},
		{"responses", "gpt-5.1", Config{Responses: true}},
		{"responses_plain", "gpt-4o", Config{Responses: true, CacheKey: "session-1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := newModel(t, row.conf, row.model)
			build := m.body
			if m.responses {
				build = m.responsesBody
			}
			body := build(everything(m.info.Host)).Bytes()
			if again := build(everything(m.info.Host)).Bytes(); !bytes.Equal(body, again) {
				t.Errorf("the same request has two bodies:\n%s\n%s", body, again)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, body, "", "\t"); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			pretty.WriteByte('\n')
			file := filepath.Join("testdata", row.name+".json")
			if *update {
				if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmptyRequestsAreValid(t *testing.T) {
	m := newModel(t, Config{}, "gpt-4o")
	for _, req := range []*llm.Request{
		{},
		{Messages: []llm.Message{{Role: llm.Assistant}, {Role: llm.User}}},
		{Messages: []llm.Message{{Role: llm.Assistant}, llm.UserText("x")}},
		{System: []llm.Part{llm.Text{Text: "x"}}},
	} {
		for _, b := range [][]byte{m.body(req).Bytes(), m.responsesBody(req).Bytes()} {
			if !json.Valid(b) {
				t.Errorf("%s", b)
			}
		}
	}
}

func TestEndpointsTakeAnyUsualBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                                     "https://api.openai.com/v1/chat/completions",
		"http://localhost:8080":                "http://localhost:8080/v1/chat/completions",
		"http://localhost:8080/":               "http://localhost:8080/v1/chat/completions",
		" http://localhost:11434/v1/ ":         "http://localhost:11434/v1/chat/completions",
		"https://openrouter.ai/api/v1":         "https://openrouter.ai/api/v1/chat/completions",
		"https://openrouter.ai/api":            "https://openrouter.ai/api/v1/chat/completions",
		"https://api.z.ai/api/paas/v4":         "https://api.z.ai/api/paas/v4/chat/completions",
		"https://x.com/v1beta/openai/":         "https://x.com/v1beta/openai/chat/completions",
		"https://h/p/v1/chat/completions":      "https://h/p/v1/chat/completions",
		"https://h/openai/v1?api-version=2024": "https://h/openai/v1/chat/completions?api-version=2024",
		"https://vllm.example/vision":          "https://vllm.example/vision/v1/chat/completions",

		"https://res.openai.azure.com":                                                     "https://res.openai.azure.com/openai/v1/chat/completions",
		"https://res.openai.azure.com/openai/v1/":                                          "https://res.openai.azure.com/openai/v1/chat/completions",
		"https://res.openai.azure.com?api-version=2024-10-21":                              "https://res.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
		"https://res.openai.azure.com/openai/deployments?api-version=1":                    "https://res.openai.azure.com/openai/deployments/m/chat/completions?api-version=1",
		"https://res.openai.azure.com/openai/deployments/d?api-version=1":                  "https://res.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
		"https://res.openai.azure.com/openai/deployments/d/chat/completions?api-version=1": "https://res.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
	} {
		m := newModel(t, Config{BaseURL: base}, "m")
		if got := m.endpoint; got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
}

func TestModelsThatOnlyResponsesTakesGoThere(t *testing.T) {
	for _, row := range []struct{ base, version, model, want string }{
		{"", "", "gpt-5-codex", "https://api.openai.com/v1/responses"},
		{"", "", "gpt-5.5", "https://api.openai.com/v1/responses"},
		{"", "", "o3-pro", "https://api.openai.com/v1/responses"},
		{"", "", "o4-mini-deep-research", "https://api.openai.com/v1/responses"},
		{"", "", "gpt-5.1", "https://api.openai.com/v1/chat/completions"},
		{"https://openrouter.ai/api/v1", "", "openai/gpt-5-codex", "https://openrouter.ai/api/v1/chat/completions"},
		{"https://res.openai.azure.com", "", "my-gpt-5-codex", "https://res.openai.azure.com/openai/v1/responses"},
		{"https://res.openai.azure.com", "", "gpt-5-codex", "https://res.openai.azure.com/openai/v1/responses"},
		{
			"https://res.openai.azure.com", "2025-04-01-preview", "gpt-5-pro",
			"https://res.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
		},
		{"https://res.openai.azure.com", "", "team-gpt-5-mini", "https://res.openai.azure.com/openai/v1/chat/completions"},
		{"https://res.openai.azure.com", "", "ours", "https://res.openai.azure.com/openai/v1/chat/completions"},
		{
			"https://res.openai.azure.com", "2024-10-21", "gpt-4o",
			"https://res.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
		},
	} {
		if m := newModel(t, Config{BaseURL: row.base, APIVersion: row.version}, row.model); m.endpoint != row.want {
			t.Errorf("%s %s: %s, want %s", row.base, row.model, m.endpoint, row.want)
		}
	}
}

// loopBody is the request of a model with one call, its result, and a steered message.
func loopBody(t *testing.T, base, model string, effort llm.Effort) string {
	t.Helper()
	m := newModel(t, Config{BaseURL: base}, model)
	c := llm.ToolCall{ID: "call_1", Name: "Read a file!", Input: json.RawMessage(`{}`)}
	return string(m.body(&llm.Request{Effort: effort, System: []llm.Part{llm.Text{Text: "S"}}, Messages: []llm.Message{
		llm.UserText("x"),
		{Role: llm.Assistant, Parts: []llm.Part{c}},
		{Role: llm.User, Parts: []llm.Part{llm.TextResult(c, "ok", false), llm.Text{Text: "and b"}}},
	}}).Bytes())
}

func TestHostsAndFamiliesGetWhatTheyAskFor(t *testing.T) {
	for _, row := range []struct {
		base, model string
		effort      llm.Effort
		has         []string
		not         []string
	}{
		{
			"https://api.mistral.ai/v1", "mistral-medium-latest", "",
			[]string{`"role":"assistant","content":"Noted."},{"role":"user"`},
			[]string{"stream_options"},
		},
		{"https://api.moonshot.ai/v1", "kimi-k2.6", "off", []string{
			`"content":null,"reasoning_content":""`,
			`"thinking":{"type":"disabled"}`,
		}, nil},
		{"https://api.together.xyz/v1", "moonshotai/Kimi-K2.6", "", []string{`"content":null,"reasoning_content":""`}, nil},
		{
			"https://api.z.ai/api/paas/v4", "glm-4.7", "high",
			[]string{`"thinking":{"type":"enabled"}`},
			[]string{"reasoning_effort"},
		},
		{"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.6", "off", []string{
			`"reasoning":{"enabled":false}`,
			`"cache_control":{"type":"ephemeral"}`,
		}, []string{"reasoning_effort"}},
		{"https://ai-gateway.vercel.sh/v1", "anthropic/claude-sonnet-4.6", "", []string{`"cache_control":{"type":"ephemeral"}`}, nil},
		{"https://gateway.example/v1", "anthropic/claude-sonnet-4.6", "", []string{`"cache_control":{"type":"ephemeral"}`}, nil},
		{"https://gateway.example/v1", "openai/gpt-5.1", "", nil, []string{"cache_control"}},
		{
			"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.6", "high",
			[]string{`"reasoning":{"effort":"high"}`},
			nil,
		},
		{
			"https://openrouter.ai/api/v1", "openai/gpt-5.1", "off",
			[]string{`"reasoning":{"effort":"none"}`},
			[]string{"cache_control"},
		},
		{"https://res.openai.azure.com", "team-gpt-5-mini", "high", []string{
			`"max_completion_tokens"`,
			`"reasoning_effort":"high"`, `"model":"team-gpt-5-mini"`,
		}, []string{`"max_tokens"`}},
		{"https://res.openai.azure.com", "ours", "", nil, []string{`"max_tokens"`}},
		{"http://localhost:1", "any", "", []string{`"name":"Read_a_file_"`}, []string{"max_tokens"}},
	} {
		body := loopBody(t, row.base, row.model, row.effort)
		for _, want := range row.has {
			if !strings.Contains(body, want) {
				t.Errorf("%s %s %s: no %s in\n%s", row.base, row.model, row.effort, want, body)
			}
		}
		for _, bad := range row.not {
			if strings.Contains(body, bad) {
				t.Errorf("%s %s %s: %s in\n%s", row.base, row.model, row.effort, bad, body)
			}
		}
	}
}

// Families of models ask for their thoughts on any host, except on those that refuse them or have a form of their own.
func TestThoughtsGoBackByTheFamilyOfTheModel(t *testing.T) {
	for _, row := range []struct {
		host, model string
		want        ReasoningBack
	}{
		{"", "glm-4.7", KeepWithCalls},
		{"togetherai", "zai-org/GLM-4.7", KeepWithCalls},
		{"", "deepseek-v4-pro", KeepAlways},
		{"huggingface", "deepseek-ai/DeepSeek-V4-Pro", KeepAlways},
		{"vercel", "deepseek/deepseek-v3.2", KeepWithCalls},
		{"", "deepseek-reasoner", KeepAlways},
		{"fireworks-ai", "accounts/fireworks/models/kimi-k2p6", KeepWithCalls},
		{"", "MiniMaxAI/MiniMax-M2", KeepWithCalls},
		{"minimax", "abab", KeepWithCalls},
		{"alibaba", "qwen3-max", KeepWithCalls},
		{"deepseek", "deepseek-chat", KeepAlways},
		{"groq", "moonshotai/kimi-k2-instruct", KeepNone},
		{"openrouter", "deepseek/deepseek-v4-pro", KeepNone}, // reasoning_details
		{"mistral", "magistral-medium-latest", KeepNone},
		{"", "llama-4", KeepNone},
	} {
		if got := TraitsOf(row.host, row.model).Reasoning; got != row.want {
			t.Errorf("%s at %q: %d, want %d", row.model, row.host, got, row.want)
		}
	}
}

func TestNamesOfToolsInTheHistoryAreMadeValid(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{
		llm.UserText("x"), {Role: llm.Assistant, Parts: []llm.Part{llm.ToolCall{
			ID: "a", Name: "mcp tool.read!",
			Input: json.RawMessage(`{}`),
		}}},
	}}
	for _, m := range []*model{newModel(t, Config{}, "gpt-4o"), newModel(t, Config{Responses: true}, "gpt-5.1")} {
		build := m.body
		if m.responses {
			build = m.responsesBody
		}
		if body := string(build(req).Bytes()); !strings.Contains(body, `"name":"mcp_tool_read_"`) {
			t.Errorf("%s", body)
		}
	}
}

// A deployment follows the rules of the model in its name, and any gets the limit in the name that all of Azure's take.
func TestDeploymentsGetWhatTheirModelTakes(t *testing.T) {
	cold := 0.5
	for _, row := range []struct{ deployment, has, not string }{
		{"team-gpt-5-mini", `"max_completion_tokens":900,"reasoning_effort":"high"`, "temperature"},
		{"ours", `"max_completion_tokens":900,"temperature":0.5`, `"max_tokens"`},
		{"Prod-GPT-4o", `"max_completion_tokens":900,"temperature":0.5`, `"max_tokens"`},
	} {
		m := newModel(t, Config{BaseURL: "https://res.openai.azure.com", APIVersion: "2024-10-21"}, row.deployment)
		body := string(m.body(&llm.Request{
			MaxTokens: 900, Effort: "high", Temperature: &cold,
			Messages: []llm.Message{llm.UserText("x")},
		}).Bytes())
		if !strings.Contains(body, row.has) || strings.Contains(body, row.not) || !strings.Contains(m.endpoint,
			"/deployments/"+row.deployment+"/") {
			t.Errorf("%s\n%s", m.endpoint, body)
		}
	}
	m := newModel(t, Config{BaseURL: "https://res.openai.azure.com"}, "ours").Described(llm.ModelInfo{
		ID:    "ours",
		Known: true, Thinking: llm.ThinkingAdaptive, Efforts: []llm.Effort{"low", "high"},
	}).(*model)
	if body := string(m.body(&llm.Request{Effort: "high"}).Bytes()); !strings.Contains(body, `"reasoning_effort":"high"`) {
		t.Errorf("the effort of a described deployment is dropped: %s", body)
	}
}

func TestALongDescriptionIsCutForAzure(t *testing.T) {
	m := newModel(t, Config{BaseURL: "https://res.openai.azure.com"}, "gpt-4o")
	long := strings.Repeat("é", 700)
	body := string(m.body(&llm.Request{
		Messages: []llm.Message{llm.UserText("x")},
		Tools:    []llm.ToolSpec{{Name: "T", Description: long}},
	}).Bytes())
	var q struct {
		Tools []struct{ Function struct{ Description string } }
	}
	if err := json.Unmarshal([]byte(body), &q); err != nil || len(q.Tools[0].Function.Description) > 1024 ||
		len(q.Tools[0].Function.Description) < 1000 {
		t.Errorf("%v: %s", err, body)
	}
}

func TestBadBaseURLIsAnErrorThatNamesTheVariable(t *testing.T) {
	for _, base := range []string{"localhost:8080", "://", "ftp://x", "http://"} {
		m := newModel(t, Config{BaseURL: base, URLVar: "BOX_URL"}, "m")
		var err error
		for _, e := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
			err = e
		}
		if e := llm.AsError(err); e == nil || e.Kind != llm.KindInvalid || !strings.Contains(e.Error(), "BOX_URL") {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestModelNeedsAName(t *testing.T) {
	_, err := New(Config{}).Model(t.Context(), "")
	if e := llm.AsError(err); e == nil || !strings.Contains(e.Error(), "--model") {
		t.Error(err)
	}
}

func TestHeaders(t *testing.T) {
	p := New(Config{APIKey: "k", Organization: "o", Project: "p", Headers: map[string]string{
		"api-key": "az",
		"Accept":  "x",
	}})
	want := map[string]string{
		"Authorization": "Bearer k", "Openai-Organization": "o", "Openai-Project": "p",
		"Api-Key": "az", "Accept": "x", "Content-Type": "application/json",
	}
	for k, v := range want {
		if got := p.header.Get(k); got != v {
			t.Errorf("%s is %q, want %q", k, got, v)
		}
	}
	if h := New(Config{}).header; h.Get("Authorization") != "" {
		t.Error("a key is sent though there is none")
	}
}

func TestEffortFitsTheModel(t *testing.T) {
	for _, row := range []struct {
		base, model string
		effort      llm.Effort
		want        string
	}{
		{"", "gpt-4o", "high", ""},
		{"", "gpt-5", "", ""},
		{"", "gpt-5", "max", "high"},
		{"", "gpt-5.2", "max", "xhigh"},
		{"", "gpt-5", "off", "minimal"},
		{"", "gpt-5.1", "off", "none"},
		{"", "gpt-5-codex", "off", "low"},
		{"", "o3", "off", "low"},
		{"", "gpt-5-pro", "low", "high"},
		{"https://openrouter.ai/api/v1", "openai/gpt-5.1", "off", "none"},
		{"http://localhost:1", "local", "high", ""},
	} {
		m := newModel(t, Config{BaseURL: row.base}, row.model)
		if got := m.effort(row.effort); got != row.want {
			t.Errorf("%s at %q: %q, want %q", row.model, row.effort, got, row.want)
		}
	}
}

func TestTheTemperatureIsSentWhereTheModelTakesOne(t *testing.T) {
	warm := 0.25
	req := &llm.Request{Temperature: &warm, Messages: []llm.Message{llm.UserText("x")}}
	for id, want := range map[string]bool{"gpt-4o": true, "local": true, "gpt-5": false, "o3": false} {
		m := newModel(t, Config{}, id)
		for _, body := range []string{string(m.head(req)), string(m.responsesSettings(req))} {
			if got := strings.Contains(body, `"temperature":0.25`); got != want {
				t.Errorf("%s: %s", id, body)
			}
		}
	}
}

func TestCallIDsFitTheServer(t *testing.T) {
	plain, short := newModel(t, Config{}, "gpt-4o"), newModel(t, Config{Traits: &Traits{ShortIDs: true}}, "m")
	for _, id := range []string{"", "call_1", "toolu_01AVRkzbigpMbNJ3zjnuQ6ZE", strings.Repeat("x", 41), "fc_" +
		strings.Repeat("y", 60)} {
		a, b := plain.callID(id), short.callID(id)
		if a == "" || len(a) > 40 || id != "" && len(id) <= 40 && a != id {
			t.Errorf("%q became %q", id, a)
		}
		if len(b) != 9 || !alphanumeric(b) || b != short.callID(id) {
			t.Errorf("%q became %q for Mistral", id, b)
		}
	}
	if got := short.callID("abcDEF123"); got != "abcDEF123" {
		t.Errorf("a short id became %q", got)
	}
	if plain.callID(strings.Repeat("x", 41)) == plain.callID(strings.Repeat("x", 42)) {
		t.Error("two long ids became one")
	}
}

func TestMediaThatAModelDoesNotTakeIsNamed(t *testing.T) {
	m := newModel(t, Config{BaseURL: "https://api.deepseek.com"}, "deepseek-v4-pro")
	if m.info.Images {
		t.Skip("the catalogue says that this model takes images")
	}
	b := m.body(&llm.Request{Messages: []llm.Message{{
		Role:  llm.User,
		Parts: []llm.Part{llm.Media{MIME: "image/png", Data: []byte("x"), Name: "a.png"}},
	}}}).Bytes()
	if !strings.Contains(string(b), "a.png (image/png) left out") || strings.Contains(string(b), "base64") {
		t.Errorf("%s", b)
	}
}

func BenchmarkBody(b *testing.B) {
	for _, steps := range []int{10, 1000} {
		b.Run(map[int]string{10: "10 steps", 1000: "1000 steps"}[steps], func(b *testing.B) {
			m := newModel(b, Config{}, "gpt-5.1")
			req := &llm.Request{
				System: []llm.Part{llm.Text{Text: strings.Repeat("x", 8000)}}, Tools: everything("").Tools,
				Messages: []llm.Message{llm.UserText("go")},
			}
			step := func() {
				c := llm.ToolCall{ID: "call_1", Name: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}
				req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{
					llm.Text{Text: "Looking."},
					c,
				}},
					llm.Message{Role: llm.User, Parts: []llm.Part{llm.TextResult(c, strings.Repeat("line\n", 400), false)}})
			}
			for range steps {
				step()
			}
			var n int64
			m.body(req)
			b.ReportAllocs()
			for b.Loop() {
				n = m.body(req).Len()
			}
			b.ReportMetric(float64(n), "body-bytes")
		})
	}
}

func TestGrokGetsTheEffortsThatItTakes(t *testing.T) {
	for _, row := range []struct{ model, effort, want string }{
		{"grok-4.3", "off", `"reasoning_effort":"none"`},
		{"grok-4.3", "max", `"reasoning_effort":"high"`},
		{"grok-3-mini", "medium", `"reasoning_effort":"low"`},
		{"grok-4", "high", ""},
	} {
		m := newModel(t, Config{ProviderName: "xai", BaseURL: "https://api.x.ai/v1"}, row.model)
		body := string(m.body(&llm.Request{
			Effort:   llm.Effort(row.effort),
			Messages: []llm.Message{llm.UserText("x")},
		}).Bytes())
		if row.want != "" && !strings.Contains(body, row.want) || row.want == "" && strings.Contains(body, "effort") {
			t.Errorf("%s %s: %s", row.model, row.effort, body)
		}
	}
}

// A host that the settings name keeps its ways behind an address of the user's.
func TestAKnownHostBehindAnotherAddressKeepsItsTraits(t *testing.T) {
	for name, want := range map[string]EffortForm{"openrouter": EffortObject, "zai": EffortSwitch, "openai": EffortLevel} {
		m, err := New(Config{BaseURL: "https://proxy.example/v1", ProviderName: name}).Model(t.Context(), "anthropic/claude-x")
		if err != nil {
			t.Fatal(err)
		}
		if got := m.(*model).traits; got.Effort != want || got.OpenAI {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
