package llmtest

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	call1   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]}`
	result1 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`
	user1   = `{"role":"user","content":"hi"}`
)

func anthropicBody(list string) string { return messages("", "["+list+"]") }

// with puts one more member into a Messages request.
func with(member string) string { return messages(","+member, "["+user1+"]") }

func TestAnthropicWireRefusesWhatTheAPIRefuses(t *testing.T) {
	srv := start(t, Replies(Say(Text("ok"))), Options{})
	marks := strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5)
	for want, body := range map[string]string{
		"not valid JSON":                    `{"model":`,
		"model: Field required":             `{"max_tokens":1,"stream":true,"messages":[` + user1 + `]}`,
		"max_tokens: Field required":        `{"model":"m","stream":true,"messages":[` + user1 + `]}`,
		"greater than or equal to 1":        `{"model":"m","max_tokens":0,"messages":[` + user1 + `]}`,
		"foo: Extra inputs":                 with(`"foo":1`),
		"at least one message":              anthropicBody(``),
		`first message must use the "user"`: anthropicBody(call1 + "," + result1),
		`Unexpected role "system"`:          anthropicBody(user1 + `,{"role":"system","content":"x"}`),
		"'user' or 'assistant'":             anthropicBody(user1 + `,{"role":"tool","content":"x"}`),
		"non-empty content":                 anthropicBody(user1 + `,{"role":"assistant","content":[]},` + user1),
		"must be non-empty":                 anthropicBody(`{"role":"user","content":[{"type":"text","text":""}]}`),
		"non-whitespace":                    anthropicBody(`{"role":"user","content":" \n"}`),
		"trailing whitespace":               anthropicBody(user1 + `,{"role":"assistant","content":"well "}`),
		"`tool_use` ids were found without `tool_result` blocks immediately after: a": anthropicBody(user1 + "," + call1 +
			"," + user1),
		"messages.1: `tool_use` ids were found": anthropicBody(user1 + "," + call1),
		"unexpected `tool_use_id`":              anthropicBody(user1 + "," + result1),
		"messages.4.content.0: unexpected": anthropicBody(user1 + "," + call1 + "," + result1 +
			`,{"role":"assistant","content":"b"},` + result1),
		"single result": anthropicBody(user1 + "," + call1 +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}`),
		"ids must be unique": anthropicBody(user1 + "," + call1 + "," + result1 + "," + call1 +
			"," + result1),
		"tool_use.id: String should match": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a b","name":"R","input":{}}]},` + result1),
		"tool_use.name": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"","input":{}}]},` + result1),
		"valid dictionary": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"R","input":"{}"}]},` + result1),
		"`tool_use` blocks can only be in `assistant`": anthropicBody(
			`{"role":"user","content":[{"type":"tool_use","id":"a","name":"R","input":{}}]}`),
		"`image` blocks can only be in `user`": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"image"}]}`),
		"does not match any of the expected tags": anthropicBody(`{"role":"user","content":[{"type":"hologram"}]}`),
		"image.source: Field required":            anthropicBody(`{"role":"user","content":[{"type":"image"}]}`),
		"media_type": anthropicBody(
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}]}`),
		"invalid base64": anthropicBody(
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"A"}}]}`),
		"signature: Field required": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"y"}]}`),
		"Invalid `signature`": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"` + Sign("z") +
			`"},{"type":"text","text":"y"}]}`),
		"redacted_thinking.data": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"redacted_thinking"},{"type":"text","text":"y"}]}`),
		"cannot be `thinking`": anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`),
		"A maximum of 4 blocks with cache_control": anthropicBody(`{"role":"user","content":[` + marks +
			`{"type":"text","text":"x"}]}`),
		"greater than `thinking.budget_tokens`": with(`"thinking":{"type":"enabled","budget_tokens":2000}`),
		"equal to 1024":                         with(`"thinking":{"type":"enabled","budget_tokens":10}`),
		"thinking: Input tag 'deep'":            with(`"thinking":{"type":"deep"}`),
		"`temperature` may only":                with(`"thinking":{"type":"adaptive"},"temperature":0`),
		"forces tool use":                       with(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"}`),
		"tool_choice: Input tag":                with(`"tool_choice":{"type":"perhaps"}`),
		"Tool 'X' not found":                    with(`"tool_choice":{"type":"tool","name":"X"}`),
		"system: text content blocks":           with(`"system":[{"type":"text","text":""}]`),
		"tools.0.custom.name": `{"model":"m","max_tokens":1,"messages":[` + user1 +
			`],"tools":[{"name":"a.b","input_schema":{"type":"object"}}]}`,
		"tools.0.custom.input_schema.type": `{"model":"m","max_tokens":1,"messages":[` + user1 +
			`],"tools":[{"name":"a","input_schema":{"type":"array"}}]}`,
		"Tool names must be unique": `{"model":"m","max_tokens":1,"messages":[` + user1 +
			`],"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]}`,
		"while providing tools": `{"model":"m","max_tokens":1,"messages":[` + user1 + `],"tool_choice":{"type":"auto"}}`,
	} {
		wantRefusal(t, srv, "/v1/messages", body, want, "invalid_request_error")
	}
}

func wantRefusal(t *testing.T, srv *Server, path, body, want, kind string) {
	t.Helper()
	resp := ask(t, srv, path, body)
	var v struct {
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(text(t, resp)), &v); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 400 || v.Error.Type != kind || !strings.Contains(v.Error.Message, want) {
		t.Errorf("%s\n\tgot %d %s %q, want %q", body, resp.StatusCode, v.Error.Type, v.Error.Message, want)
	}
	rs := srv.Requests()
	if rs[len(rs)-1].Refused == "" {
		t.Errorf("%s: the record does not say that it was refused", body)
	}
}

func TestAnthropicWireTakesWhatTheAPITakes(t *testing.T) {
	srv := start(t, Replies(Say(Text("ok")), Say(Text("ok")), Say(Text("ok"))), Options{})
	for _, body := range []string{
		anthropicBody(user1 + "," + user1),
		anthropicBody(user1 + "," + call1 +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"","is_error":true},{"type":"text","text":"and"}]}`),
		anthropicBody(user1 + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"` + Sign("x") +
			`"},{"type":"text","text":"y"}]},` + user1),
		anthropicBody(user1 +
			`,{"role":"assistant","content":[{"type":"redacted_thinking","data":"AA"},{"type":"text","text":"y"}]},` + user1),
		with(`"system":"","metadata":{"user_id":"u"},"output_config":{"effort":"high"},"thinking":{"type":"adaptive"}`),
	} {
		if resp := ask(t, srv, "/v1/messages", body); resp.StatusCode != 200 {
			t.Errorf("%s\n\tgot %d %s", body, resp.StatusCode, text(t, resp))
		}
	}
}

func chatBody(extra, list string) string {
	return `{"model":"gpt-4o","stream":true,"tools":[{"type":"function","function":{"name":"Read","parameters":{"type":"object"}}}]` + extra + `,"messages":[` + list + `]}`
}

func TestChatWireRefusesWhatTheAPIRefuses(t *testing.T) {
	srv := start(t, Replies(Say(Text("ok"))), Options{})
	asks := func(id string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id +
			`","type":"function","function":{"name":"Read","arguments":"{}"}}]}`
	}
	tool := `{"role":"tool","tool_call_id":"a","content":"x"}`
	for want, body := range map[string]string{
		"could not parse the JSON":        `{"model":`,
		"provide a model":                 `{"messages":[` + user1 + `]}`,
		"Unrecognized request argument":   chatBody(`,"foo":1`, user1),
		"Invalid 'messages': empty array": chatBody(``, ``),
		"'stream_options'": `{"model":"m","stream_options":{"include_usage":true},"messages":[` + user1 +
			`]}`,
		"'tool_choice' is only":         `{"model":"m","tool_choice":"auto","messages":[` + user1 + `]}`,
		"'parallel_tool_calls' is only": `{"model":"m","parallel_tool_calls":true,"messages":[` + user1 + `]}`,
		"Invalid 'tools': empty":        `{"model":"m","tools":[],"messages":[` + user1 + `]}`,
		"at the same time":              chatBody(`,"max_tokens":1,"max_completion_tokens":1`, user1),
		"Use 'max_completion_tokens'":   `{"model":"o3-mini","max_tokens":5,"messages":[` + user1 + `]}`,
		"below minimum":                 chatBody(`,"max_tokens":0`, user1),
		"Invalid value: 'huge'":         chatBody(`,"reasoning_effort":"huge"`, user1),
		"supplied: reasoning_effort":    chatBody(`,"reasoning_effort":"low"`, user1),
		"tools[0].function.name":        `{"model":"m","tools":[{"type":"function","function":{"name":"a b"}}],"messages":[` + user1 + `]}`,
		"Invalid schema":                `{"model":"m","tools":[{"type":"function","function":{"name":"a","parameters":{"type":"string"}}}],"messages":[` + user1 + `]}`,
		"Invalid value: 'robot'":        chatBody(``, `{"role":"robot","content":"x"}`),
		"expected a string, got null":   chatBody(``, `{"role":"user","content":null}`),
		"content': empty array":         chatBody(``, `{"role":"user","content":[]}`),
		"tool_calls': empty array":      chatBody(``, user1+`,{"role":"assistant","content":"x","tool_calls":[]}`),
		"Image URLs are only allowed": chatBody(``, user1+","+asks("a")+
			`,{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"data:"}}]}`),
		"Supported values are: 'text'": chatBody(``, `{"role":"user","content":[{"type":"hologram"}]}`),
		"tool_calls[0].id":             chatBody(``, user1+","+asks("")),
		"maximum length 40":            chatBody(``, user1+","+asks(strings.Repeat("a", 41))),
		"expected a string, but got an object": chatBody(``,
			user1+
				`,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":{}}}]},`+
				tool),
		"preceeding message with 'tool_calls'": chatBody(``, user1+","+tool),
		"did not have response messages: a":    chatBody(``, user1+","+asks("a")+","+user1),
		"response messages: b":                 chatBody(``, user1+","+asks("a")+","+tool+","+asks("b")),
	} {
		wantRefusal(t, srv, "/v1/chat/completions", body, want, "invalid_request_error")
	}
	for _, body := range []string{
		chatBody(``, user1+","+asks("a")+","+tool+","+asks("a")+","+tool+","+user1),
		chatBody(`,"max_completion_tokens":5,"prompt_cache_key":"k"`, `{"role":"developer","content":"x"},`+user1),
	} {
		if resp := ask(t, srv, "/chat/completions", body); resp.StatusCode != 200 {
			t.Errorf("%s\n\tgot %d %s", body, resp.StatusCode, text(t, resp))
		}
	}
}

func TestLenientServerTakesAnything(t *testing.T) {
	srv := start(t, Replies(Say(Text("ok"))), Options{Lenient: true})
	if resp := ask(t, srv, "/v1/messages", `{"messages":[{"role":"user","content":""}]}`); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	if resp := ask(t, srv, "/v1/chat/completions", `{"foo":1}`); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestReasoningThatWasSentMustComeBack(t *testing.T) {
	r := Say(Thinking("hm"), Part{Tool: "Read", ID: "a"})
	srv := start(t, Replies(r, Say(Text("ok"))), Options{ReasoningBack: true})
	think := `,"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2000`
	body := strings.Replace(messages(think, "["+user1+"]"), `"max_tokens":100,`, "", 1)
	if resp := ask(t, srv, "/v1/messages", body); resp.StatusCode != 200 {
		t.Fatal(text(t, resp))
	}
	bare := strings.Replace(messages(think, "["+user1+","+call1+","+result1+"]"), `"max_tokens":100,`, "", 1)
	wantRefusal(t, srv, "/v1/messages", bare, "Expected `thinking`", "invalid_request_error")
	kept := strings.Replace(bare, `{"type":"tool_use"`, `{"type":"thinking","thinking":"hm","signature":"`+Sign("hm")+
		`"},{"type":"tool_use"`, 1)
	if resp := ask(t, srv, "/v1/messages", kept); resp.StatusCode != 200 {
		t.Error(text(t, resp))
	}
	chat := chatBody(``,
		user1+
			`,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"}`)
	wantRefusal(t, srv, "/v1/chat/completions", chat, "`reasoning_content`", "invalid_request_error")
	if resp := ask(t, srv, "/v1/chat/completions", strings.Replace(chat, `"content":null`,
		`"content":null,"reasoning_content":"hm"`, 1)); resp.StatusCode != 200 {
		t.Error(text(t, resp))
	}
}

func TestKeysAreAskedFor(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
		for _, row := range []struct {
			opts Options
			key  string
			want int
		}{
			{Options{Lenient: true}, "", 401},
			{Options{Lenient: true, Key: "right"}, "wrong", 401},
			{Options{Lenient: true, Key: "right"}, "right", 200},
			{Options{Lenient: true, NoKey: true}, "", 200},
		} {
			srv := start(t, Replies(Say(Text("ok"))), row.opts)
			req, err := http.NewRequest(http.MethodPost, srv.URL()+path, strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if row.key != "" {
				req.Header.Set("Authorization", "Bearer "+row.key)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != row.want {
				t.Errorf("%s with key %q of %+v: %d", path, row.key, row.opts, resp.StatusCode)
			}
		}
	}
}

func TestAnswersThatAreNoStream(t *testing.T) {
	srv := start(t, Replies(Say(Thinking("hm"), Text("one"), Tool("Read", map[string]int{"a": 1}))), Options{})
	body := strings.Replace(messages("", hello), `"stream":true`, `"stream":false`, 1)
	var m struct {
		Type, StopReason string
		Content          []struct {
			Type, Text, Thinking, Signature, ID string
			Input                               map[string]int
		}
		Usage map[string]any
	}
	if err := json.Unmarshal([]byte(text(t, ask(t, srv, "/v1/messages", body))), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Content) != 3 || m.Content[0].Signature != Sign("hm") || m.Content[1].Text != "one" ||
		m.Content[2].Input["a"] != 1 || m.Usage["input_tokens"] == nil {
		t.Errorf("%+v", m)
	}
	var c struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content   string
				Reasoning string     `json:"reasoning_content"`
				ToolCalls []chatCall `json:"tool_calls"`
			}
		}
	}
	body = strings.Replace(chatBody("", user1), `"stream":true`, `"stream":false`, 1)
	if err := json.Unmarshal([]byte(text(t, ask(t, srv, "/v1/chat/completions", body))), &c); err != nil {
		t.Fatal(err)
	}
	msg := c.Choices[0].Message
	if c.Choices[0].FinishReason != "tool_calls" || msg.Content != "one" || msg.Reasoning != "hm" ||
		string(msg.ToolCalls[0].Function.Arguments) != `"{\"a\":1}"` {
		t.Errorf("%+v", c)
	}
}

func TestSideRequestsAreAnswered(t *testing.T) {
	srv := start(t, &Script{Replies: []Reply{Say(Tool("Read", nil))}, Models: []string{"m1", "m2"}}, Options{})
	if got := text(t, ask(t, srv, "/v1/messages/count_tokens", `{"model":"m","messages":[`+user1+
		`]}`)); !strings.Contains(got, `"input_tokens":`) {
		t.Error(got)
	}
	title := `{"model":"m","max_tokens":9,"stream":true,"messages":[` + user1 + `]`
	if got := text(t, ask(t, srv, "/v1/messages", title+`}`)); !strings.Contains(got, "A short answer.") {
		t.Error(got)
	}
	schema := `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}}}}`
	if got := text(t, ask(t, srv, "/v1/messages", title+schema)); !strings.Contains(got, `{\"ok\":false}`) {
		t.Error(got)
	}
	for path, want := range map[string]string{
		"/v1/models": `"m2"`, "/v1/models/m1": `"m1"`, "/health": `"ok"`,
		"/nowhere": "not_found",
	} {
		resp, err := http.Get(srv.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestRequestsMayBePackedAndMayBeTooBig(t *testing.T) {
	srv := start(t, Replies(Say(Text("ok"))), Options{MaxBody: 5000})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, anthropicBody(user1))
	z.Close()
	req, _ := http.NewRequest(http.MethodPost, srv.URL()+"/v1/messages", &packed)
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || string(srv.Requests()[0].Body) != anthropicBody(user1) {
		t.Errorf("%s, recorded %s", resp.Status, srv.Requests()[0].Body)
	}
	if resp := ask(t, srv, "/v1/messages", anthropicBody(`{"role":"user","content":"`+strings.Repeat("x", 5000)+
		`"}`)); resp.StatusCode != 413 {
		t.Error(resp.Status)
	}
}

func TestServerSpeaksTLS(t *testing.T) {
	cert := httptest.NewTLSServer(http.NotFoundHandler())
	defer cert.Close()
	r := Say(Text("ok"))
	r.Faults = []Fault{{Kind: "reset", At: "50%"}}
	srv := start(t, Replies(r), Options{NoKey: true, Lenient: true, TLS: &tls.Config{Certificates: cert.TLS.Certificates}})
	pool := x509.NewCertPool()
	pool.AddCert(cert.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs:    pool,
		ServerName: "example.com",
	}}}
	defer client.CloseIdleConnections()
	for i, want := range []bool{false, true} {
		resp, err := client.Post(srv.URL()+"/v1/messages", "application/json", strings.NewReader(`{"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if (err == nil) != want {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestOrderOfArrivalCountsWholeRepliesOnly(t *testing.T) {
	s := Replies(Say(Text("one")), Say(Text("two")))
	s.Order = "arrival"
	s.Replies[0].Faults = []Fault{{Kind: "status", Status: 500}}
	srv := start(t, s, Options{})
	for _, want := range []string{"scripted failure", "one", "two", "All done."} {
		if got := text(t, ask(t, srv, "/v1/messages", anthropicBody(user1))); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestShapesChangeTheStream(t *testing.T) {
	get := func(path string, shape ...string) string {
		r := Say(Thinking("hm"), Text("one"), Tool("Read", map[string]int{"a": 1}), Tool("Read", map[string]int{"a": 2}))
		r.Shape = shape
		srv := start(t, Replies(r), Options{})
		body := anthropicBody(user1)
		if path != "/v1/messages" {
			body = chatBody(`,"stream_options":{"include_usage":true}`, user1)
		}
		return text(t, ask(t, srv, path, body))
	}
	const chat = "/v1/chat/completions"
	for _, row := range []struct {
		path, shape string
		want, not   string
	}{
		{"/v1/messages", "", "event: message_stop\ndata: {", "x_unknown"},
		{"/v1/messages", "crlf", "event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n", "}\n\n"},
		{"/v1/messages", "no_event_name", "data: {", "event:"},
		{"/v1/messages", "no_space", "data:{", "data: "},
		{"/v1/messages", "comments", ": keep-alive", "zzz"},
		{"/v1/messages", "unknown_events", "x_brand_new", "zzz"},
		{"/v1/messages", "unknown_fields", "x_unknown", "zzz"},
		{"/v1/messages", "usage_absent", "message_stop", "usage"},
		{"/v1/messages", "ids_missing", "tool_use", "toolu_"},
		{"/v1/messages", "json", `"type":"message"`, "data:"},
		{chat, "", "data: [DONE]\n\n", "reasoning_details"},
		{chat, "done_absent", `"finish_reason":"tool_calls"`, "[DONE]"},
		{chat, "usage_absent", "[DONE]", "usage"},
		{chat, "usage_with_finish", `"finish_reason":"tool_calls","index":0}],"created":1700000000`, `"choices":[]`},
		{chat, "ids_missing", "tool_calls", "call_0"},
		{chat, "ids_empty", `"id":"","index"`, "call_0"},
		{chat, "ids_same", `"index":1`, "_1_3"},
		{chat, "arguments_object", `"arguments":{"a":1}`, `"arguments":"`},
		{chat, "calls_batched", `"arguments":"{\"a\":1}","name":"Read"}`, `"arguments":""`},
		{chat, "index_missing", "tool_calls", `"index":1`},
		{chat, "name_late", `{"name":"Read"}`, `"arguments":"","name"`},
		{chat, "reasoning", `"reasoning":"hm"`, "reasoning_content"},
		{chat, "reasoning_details", `"reasoning_details":[`, "reasoning_content"},
		{chat, "json", `"object":"chat.completion"`, "data:"},
	} {
		var shapes []string
		if row.shape != "" {
			shapes = []string{row.shape}
		}
		got := get(row.path, shapes...)
		if !strings.Contains(got, row.want) || strings.Contains(got, row.not) {
			t.Errorf("%s %s: want %q and not %q in\n%s", row.path, row.shape, row.want, row.not, got)
		}
	}
}

func TestFaultsAppearAsDescribed(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
		body := anthropicBody(user1)
		if path != "/v1/messages" {
			body = chatBody("", user1)
		}
		r := Say(Text("one"), Text("two"))
		r.Faults = []Fault{
			{Kind: "garbage", At: "event 1"},
			{Kind: "html"},
			{Kind: "error", At: "part 1", Status: 529},
			{Kind: "status", Status: 418, Body: "teapot", Header: map[string]string{"X-Odd": "1"}},
		}
		srv := start(t, Replies(r), Options{})
		if got := text(t, ask(t, srv, path, body)); !strings.Contains(got, "\"tex\n\n") || !strings.Contains(got, "two") {
			t.Errorf("garbage: %s", got)
		}
		if resp := ask(t, srv, path, body); resp.StatusCode != 200 || !strings.HasPrefix(text(t, resp), "<html>") {
			t.Error("no html")
		}
		if got := text(t, ask(t, srv, path, body)); !strings.Contains(got, "one") || strings.Contains(got, "two") ||
			!strings.Contains(got, "scripted failure") {
			t.Errorf("error: %s", got)
		}
		if resp := ask(t, srv, path, body); resp.StatusCode != 418 || resp.Header.Get("X-Odd") != "1" ||
			text(t, resp) != "teapot" {
			t.Errorf("status: %s", resp.Status)
		}
	}
}
