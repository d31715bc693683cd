package anthropic

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/llm"
)

var update = flag.Bool("update", false, "write golden files")

// official is the host that the models of these tests are at.
var official = llm.HostID("anthropic", "https://api.anthropic.com")

// conversation has every kind of part that can be sent.
func conversation() *llm.Request {
	call := func(id, in string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(in)}
	}
	return &llm.Request{
		System: []llm.Part{llm.Text{Text: "You are careful."}, llm.Text{Text: "Rules: <none> & \"quotes\"."}},
		Tools: []llm.ToolSpec{
			{
				Name: "Read", Description: "Reads a file.",
				Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`),
			},
			{Name: "Bash", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []llm.Message{
			llm.UserText("Look at this."),
			{Role: llm.Assistant, Parts: []llm.Part{
				llm.Reasoning{Text: "Hm\n", Signature: "c2ln", Provider: official},
				llm.Reasoning{Data: "cmVk", Provider: official},
				llm.Reasoning{Text: "unsigned", Provider: official},
				llm.Text{Text: "I look.\t\u0001"},
				llm.Text{Text: " \n"},
				llm.Opaque{Provider: official, JSON: json.RawMessage(`{"type":"server_tool_use","id":"s1"}`)},
				llm.Opaque{Provider: "openai", JSON: json.RawMessage(`{"type":"reasoning"}`)},
				call("toolu_1", `{"file_path": "/a <b>"}`), call("call|2", `[]`),
			}},
			{Role: llm.User, Parts: []llm.Part{
				llm.Text{Text: "and this"},
				llm.ToolResult{CallID: "toolu_1", Parts: []llm.Part{
					llm.Text{Text: "1\tpackage a"},
					llm.Media{MIME: "image/png", Data: []byte("png")},
				}},
				llm.ToolResult{CallID: "call|2", IsError: true, Parts: []llm.Part{
					llm.Text{Text: "no"},
					llm.Media{MIME: "image/png", Data: []byte("png")},
				}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{llm.Reasoning{Text: "thinking only, unsigned", Provider: official}}},
			{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "Done."}}},
			{Role: llm.User, Parts: []llm.Part{
				llm.Text{Text: "Thanks."},
				llm.Media{MIME: "application/pdf", Data: []byte("pdf"), Name: "x.pdf"},
				llm.Media{MIME: "audio/wav", Data: []byte("wav"), Name: "x.wav"},
			}},
		},
	}
}

func local(t testing.TB, id string, c Config) *model {
	t.Helper()
	return newModel(t, id, c).(*model)
}

func TestRequestLayoutIsTheGoldenOne(t *testing.T) {
	m := local(t, "claude-sonnet-4-5", Config{})
	b, _ := m.build(conversation())
	// One block per line, for a readable diff.
	got := strings.NewReplacer(`,{"role"`, ",\n{\"role\"", `,{"type"`, ",\n {\"type\"", `,"tools"`, ",\n\"tools\"",
		`,"system"`, ",\n\"system\"", `,"messages"`, ",\n\"messages\"").Replace(string(b.Bytes())) + "\n"
	const file = "testdata/request.golden.json"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("run with -update if this is meant: %s", d)
	}
	if !json.Valid(b.Bytes()) {
		t.Error("not JSON")
	}
}

// prefix returns the cached tools, system and messages, without marks and closing brackets.
func prefix(t testing.TB, body []byte) []byte {
	t.Helper()
	i := bytes.Index(body, []byte(`"tools":`))
	if i < 0 {
		i = bytes.Index(body, []byte(`"messages":`))
	}
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	if n := bytes.Count(body, []byte(`"cache_control"`)); n > 4 {
		t.Fatalf("%d cache marks", n)
	}
	return bytes.TrimSuffix(bytes.ReplaceAll(body[i:], []byte(`,"cache_control":{"type":"ephemeral"}`), nil), []byte("]}"))
}

func anyPart(t *rapid.T, role llm.Role) llm.Part {
	text := rapid.String()
	input := func() json.RawMessage {
		b, err := json.MarshalIndent(rapid.MapOfN(text, text, 0, 3).Draw(t, "input"), "",
			rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "plain") {
			b = llm.AppendCanonical(nil, b)
		}
		return b
	}
	kinds := []string{"text", "media"}
	if role == llm.Assistant {
		kinds = []string{"text", "reasoning", "redacted", "call", "opaque"}
	} else if rapid.Bool().Draw(t, "results") {
		kinds = []string{"result", "text"}
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "reasoning":
		return llm.Reasoning{Text: text.Draw(t, "thought"), Signature: text.Draw(t, "signature"), Provider: official}
	case "redacted":
		return llm.Reasoning{Data: text.Draw(t, "data"), Provider: official}
	case "call":
		return llm.ToolCall{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Input: input()}
	case "opaque":
		return llm.Opaque{Provider: official, JSON: input()}
	case "media":
		return llm.Media{MIME: "image/png", Data: []byte(text.Draw(t, "png"))}
	case "result":
		return llm.ToolResult{
			CallID: text.Draw(t, "id"), IsError: rapid.Bool().Draw(t, "error"),
			Parts: []llm.Part{llm.Text{Text: text.Draw(t, "out")}},
		}
	}
	return llm.Text{Text: text.Draw(t, "text")}
}

func anyMessages(t *rapid.T) []llm.Message {
	var out []llm.Message
	for range rapid.IntRange(1, 8).Draw(t, "messages") {
		m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant}).Draw(t, "role")}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			m.Parts = append(m.Parts, anyPart(t, m.Role))
		}
		out = append(out, m)
	}
	return out
}

func TestWhatWasSentIsTheStartOfWhatIsSentNext(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := local(t, "claude-sonnet-4-5", Config{})
		req := conversation()
		msgs := anyMessages(rt)
		var before []byte
		for n := range msgs {
			req.Messages = msgs[:n+1]
			b, _ := m.build(req)
			now := prefix(t, b.Bytes())
			if !bytes.HasPrefix(now, before) {
				rt.Fatalf("request %d:\n%s\ndoes not begin with\n%s", n, now, before)
			}
			if b.Len() != int64(len(b.Bytes())) {
				rt.Fatalf("length %d, bytes %d", b.Len(), len(b.Bytes()))
			}
			before = now
		}
	})
}

func TestRequestIsTheSameAfterTheSessionWasStoredAndRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		req := conversation()
		req.Messages = anyMessages(rt)
		one, _ := local(t, "claude-sonnet-4-5", Config{}).build(req)
		stored, err := json.Marshal(req.Messages)
		if err != nil {
			rt.Fatal(err)
		}
		req.Messages = nil
		if err := json.Unmarshal(stored, &req.Messages); err != nil {
			rt.Fatal(err)
		}
		two, _ := local(t, "claude-sonnet-4-5", Config{}).build(req)
		if d := cmp.Diff(string(one.Bytes()), string(two.Bytes())); d != "" {
			rt.Fatal(d)
		}
	})
}

// marks lists the block that holds each cache mark, by its path.
func marks(t *testing.T, body []byte) []string {
	t.Helper()
	var b struct {
		Tools, System []map[string]any
		Messages      []struct{ Content []map[string]any }
	}
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	var out []string
	note := func(where string, blocks []map[string]any) {
		for i, x := range blocks {
			if x["cache_control"] != nil {
				out = append(out, fmt.Sprintf("%s%d", where, i))
			}
		}
	}
	note("tool ", b.Tools)
	note("system ", b.System)
	for i, m := range b.Messages {
		note(fmt.Sprintf("message %d block ", i), m.Content)
	}
	return out
}

func TestCacheMarksAreWhereTheNextRequestFindsThem(t *testing.T) {
	user := llm.UserText
	reply := llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "ok"}}}
	for _, c := range []struct {
		name string
		msgs []llm.Message
		want []string
	}{
		{"first", []llm.Message{user("a")}, []string{"message 0 block 0"}},
		{"second", []llm.Message{user("a"), reply, user("b")}, []string{"message 0 block 0", "message 2 block 0"}},
		{"two at the start", []llm.Message{user("a"), user("b")}, []string{"message 0 block 0", "message 1 block 0"}},
		{"steered", []llm.Message{user("a"), reply, user("b"), user("c")}, []string{
			"message 0 block 0",
			"message 3 block 0",
		}},
		{"nothing to mark", []llm.Message{user("a"), reply, user(" ")}, []string{"message 0 block 0"}},
		{"reply last", []llm.Message{user("a"), reply, user("b"), reply}, []string{"message 0 block 0", "message 2 block 0"}},
	} {
		req := conversation()
		req.Messages = c.msgs
		b, _ := local(t, "claude-sonnet-4-5", Config{}).build(req)
		if d := cmp.Diff(append([]string{"tool 1", "system 1"}, c.want...), marks(t, b.Bytes())); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	b, _ := local(t, "claude-sonnet-4-5", Config{NoCache: true}).build(conversation())
	if got := marks(t, b.Bytes()); len(got) != 0 {
		t.Error(got)
	}
	b, _ = local(t, "claude-sonnet-4-5", Config{CacheTTL: "1h"}).build(conversation())
	if n := bytes.Count(b.Bytes(), []byte(`,"cache_control":{"type":"ephemeral","ttl":"1h"}`)); n != 4 {
		t.Errorf("%d marks for an hour", n)
	}
}

func TestThinkingIsAskedForAsTheModelTakesIt(t *testing.T) {
	num := func(n int) *int { return &n }
	for _, c := range []struct {
		name, model string
		conf        Config
		req         llm.Request
		want        string // of thinking, output_config and max_tokens
		betas       string
	}{
		{
			"budget", "claude-sonnet-4-5",
			Config{},
			llm.Request{},
			`{"type":"enabled","budget_tokens":10000} null 32000`,
			betaInterleave,
		},
		{
			"low", "claude-sonnet-4-5",
			Config{},
			llm.Request{Effort: "low"},
			`{"type":"enabled","budget_tokens":4000} null 32000`, betaInterleave,
		},
		{
			"max raises the limit", "claude-sonnet-4-5",
			Config{},
			llm.Request{Effort: "max"},
			`{"type":"enabled","budget_tokens":31999} null 48383`, betaInterleave,
		},
		{
			"limit of the model", "claude-opus-4-1",
			Config{},
			llm.Request{Effort: "max"},
			`{"type":"enabled","budget_tokens":30976} null 32000`, betaInterleave,
		},
		{
			"small limit", "claude-sonnet-4-5",
			Config{},
			llm.Request{MaxTokens: 500},
			`{"type":"enabled","budget_tokens":10000} null 10500`, betaInterleave,
		},
		{"off", "claude-sonnet-4-5", Config{}, llm.Request{Effort: "off"}, `null null 32000`, ""},
		{
			"fixed", "claude-sonnet-4-5",
			Config{ThinkingTokens: num(2000)},
			llm.Request{Effort: "max"},
			`{"type":"enabled","budget_tokens":2000} null 32000`, betaInterleave,
		},
		{"fixed off", "claude-sonnet-4-5", Config{ThinkingTokens: num(0)}, llm.Request{}, `null null 32000`, ""},
		{
			"forced tool", "claude-sonnet-4-5",
			Config{},
			llm.Request{ToolChoice: "any", Tools: conversation().Tools},
			`null null 32000`, "",
		},
		{"haiku", "haiku", Config{}, llm.Request{}, `{"type":"enabled","budget_tokens":10000} null 32000`, ""},
		{
			"no interleaving", "claude-sonnet-4-5",
			Config{NoInterleaving: true},
			llm.Request{},
			`{"type":"enabled","budget_tokens":10000} null 32000`, "",
		},
		{
			"no betas", "claude-sonnet-4-5",
			Config{NoBetas: true, Betas: []string{"x"}},
			llm.Request{},
			`{"type":"enabled","budget_tokens":10000} null 32000`, "",
		},
		{
			"further betas", "claude-sonnet-4-5[1m]",
			Config{Betas: []string{"x, y", betaLong}},
			llm.Request{},
			`{"type":"enabled","budget_tokens":10000} null 32000`, "x,y," + betaLong + "," + betaInterleave,
		},
		{
			"task budget", "opus",
			Config{TaskBudget: 30_000},
			llm.Request{Effort: "high", Tools: conversation().Tools},
			`{"type":"adaptive","display":"summarized"} {"effort":"high","task_budget":{"type":"tokens","total":30000}} 32000`,
			betaTaskBudget,
		},
		{
			"task budget after a compaction", "opus",
			Config{TaskBudget: 30_000},
			llm.Request{Effort: "high", Tools: conversation().Tools, Spent: 12_000},
			`{"type":"adaptive","display":"summarized"} {"effort":"high","task_budget":{"type":"tokens","total":30000,"remaining":18000}} 32000`, betaTaskBudget,
		},
		{
			"task budget used up before a compaction", "opus",
			Config{TaskBudget: 30_000},
			llm.Request{Effort: "high", Tools: conversation().Tools, Spent: 40_000},
			`{"type":"adaptive","display":"summarized"} {"effort":"high","task_budget":{"type":"tokens","total":30000,"remaining":0}} 32000`, betaTaskBudget,
		},
		{
			"task budget without tools", "opus",
			Config{TaskBudget: 30_000},
			llm.Request{Effort: "high"},
			`{"type":"adaptive","display":"summarized"} {"effort":"high"} 32000`, "",
		},
		{"too old", "claude-3-5-haiku-latest", Config{}, llm.Request{}, `null null 8192`, ""},
		{"unknown", "some-model", Config{}, llm.Request{}, `null null 16384`, ""},
		{"adaptive", "opus", Config{}, llm.Request{}, `{"type":"adaptive","display":"summarized"} null 32000`, ""},
		{
			"adaptive, effort", "claude-opus-4-6",
			Config{},
			llm.Request{Effort: "xhigh"},
			`{"type":"adaptive","display":"summarized"} {"effort":"high"} 32000`, "",
		},
		{"adaptive, forced tool", "opus", Config{}, llm.Request{
			ToolChoice: "any", Tools: conversation().Tools,
			Effort: "high",
		}, `{"type":"disabled"} null 32000`, ""},
		{"adaptive, off", "sonnet", Config{}, llm.Request{Effort: "off"}, `{"type":"disabled"} null 32000`, ""},
		{"off by default", "claude-opus-4-7", Config{}, llm.Request{Effort: "off"}, `null null 32000`, ""},
		{"always on", "fable", Config{}, llm.Request{Effort: "off"}, `null null 32000`, ""},
	} {
		m := local(t, c.model, c.conf)
		c.req.Messages = []llm.Message{llm.UserText("x")}
		b, h := m.build(&c.req)
		var got struct {
			Thinking     json.RawMessage `json:"thinking"`
			OutputConfig json.RawMessage `json:"output_config"`
			MaxTokens    int             `json:"max_tokens"`
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		text := func(r json.RawMessage) string {
			if r == nil {
				return "null"
			}
			return string(r)
		}
		if s := fmt.Sprintf("%s %s %d", text(got.Thinking), text(got.OutputConfig), got.MaxTokens); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
		if s := h.Get("Anthropic-Beta"); s != c.betas {
			t.Errorf("%s: betas %q, want %q", c.name, s, c.betas)
		}
	}
}

// The thinking parameter is part of the cached prefix: it must not depend on the replies.
func TestThinkingStaysTheSameWithinATurn(t *testing.T) {
	m := local(t, "claude-sonnet-4-5", Config{})
	call := llm.ToolCall{ID: "c1", Name: "Read", Input: json.RawMessage(`{}`)}
	loop := []llm.Message{
		llm.UserText("a"),
		{Role: llm.Assistant, Parts: []llm.Part{call}},
		{Role: llm.User, Parts: []llm.Part{llm.TextResult(call, "x", false)}},
	}
	first, _ := m.build(&llm.Request{Messages: loop[:1], Tools: conversation().Tools})
	second, _ := m.build(&llm.Request{Messages: loop, Tools: conversation().Tools})
	head := func(b *llm.Body) string { before, _, _ := strings.Cut(string(b.Bytes()), `"messages"`); return before }
	if head(first) != head(second) || !strings.Contains(head(first), `"budget_tokens"`) {
		t.Errorf("%s\n%s", head(first), head(second))
	}
}

func TestSettingsOfTheUserAreSent(t *testing.T) {
	m := local(t, "claude-sonnet-4-5", Config{ExtraBody: json.RawMessage(
		`{"metadata": {"user_id": "u"}, "max_tokens": 7}`)})
	req := &llm.Request{
		Messages: []llm.Message{llm.UserText("x")}, Tools: conversation().Tools, ToolChoice: "Read",
		Stop: []string{"END"}, Effort: "off",
	}
	b, _ := m.build(req)
	want := `{"model":"claude-sonnet-4-5","max_tokens":7,"stream":true,"tool_choice":{"type":"tool","name":"Read"},"stop_sequences":["END"],"metadata":{"user_id":"u"},"tools":[`
	if !strings.HasPrefix(string(b.Bytes()), want) {
		t.Errorf("%s", b.Bytes())
	}
	for _, bad := range []string{`[]`, `{"messages":[]}`, `{"stream":false}`, `{`} {
		if _, err := New(Config{ExtraBody: json.RawMessage(bad)}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestBaseURLMayEndInManyWays(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "https://api.anthropic.com/v1/messages",
		"http://h:1/":                   "http://h:1/v1/messages",
		"http://h/anthropic":            "http://h/anthropic/v1/messages",
		"http://h/v1/":                  "http://h/v1/messages",
		"https://h/x/v1/messages":       "https://h/x/v1/messages",
		"https://h/x?api-version=2&a=b": "https://h/x/v1/messages?api-version=2&a=b",
	} {
		p, err := New(Config{BaseURL: in})
		if err != nil || p.url != want {
			t.Errorf("%q: %v, %v", in, p, err)
		}
	}
	for _, bad := range []string{"h:1", "ftp://h", "http://", "://"} {
		if _, err := New(Config{BaseURL: bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestKeyTravelsInOneHeader(t *testing.T) {
	for want, c := range map[string]Config{
		"k ":         {APIKey: "k"},
		" Bearer t":  {APIKey: "k", AuthToken: "t"},
		"own Bearer": {APIKey: "k", Headers: map[string]string{"x-api-key": "own", "authorization": "Bearer"}},
	} {
		h := baseHeader(c)
		if got := h.Get("X-Api-Key") + " " + h.Get("Authorization"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// steps is a conversation of n steps with a call each.
func steps(n int) *llm.Request {
	req := conversation()
	req.Messages = []llm.Message{llm.UserText("go")}
	for i := range n {
		id := fmt.Sprintf("toolu_%d", i)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "next"}, llm.ToolCall{
				ID: id, Name: "Read",
				Input: json.RawMessage(`{"file_path":"/a"}`),
			}}},
			llm.Message{Role: llm.User, Parts: []llm.Part{llm.ToolResult{
				CallID: id,
				Parts:  []llm.Part{llm.Text{Text: strings.Repeat("some line of a file\n", 50)}},
			}}})
	}
	return req
}

func benchmarkBuild(b *testing.B, n int) {
	m := local(b, "claude-sonnet-4-5", Config{})
	req := steps(n)
	body, _ := m.build(req)
	b.ReportAllocs()
	for b.Loop() {
		body, _ = m.build(req)
	}
	b.ReportMetric(float64(body.Len()), "body-bytes")
}

func BenchmarkBuild10(b *testing.B)   { benchmarkBuild(b, 10) }
func BenchmarkBuild1000(b *testing.B) { benchmarkBuild(b, 1000) }
