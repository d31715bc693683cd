package websearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/google"
	"github.com/lathe-dev/lathe/internal/llm/openai"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

// seen is a request as a server got it.
type seen struct {
	method, path, query string
	header              http.Header
	body                map[string]any
}

// answering serves one answer for everything and keeps the last request.
func answering(t *testing.T, status int, kind, answer string) (address string, last *seen) {
	t.Helper()
	last = &seen{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*last = seen{method: r.Method, path: r.URL.Path, query: r.URL.Query().Get("q"), header: r.Header}
		if len(b) > 0 {
			if err := json.Unmarshal(b, &last.body); err != nil {
				t.Errorf("the body is no JSON: %s", b)
			}
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, last
}

// options choose an engine by name.
func options(name, address, key string) websearch.Options {
	return websearch.Options{
		Engine: name, URL: address, Key: key, Getenv: func(string) string { return "" },
		HTTP: func() (*http.Client, error) { return llm.HTTPClient(llm.HTTPOptions{Proxy: "none"}) },
	}
}

func search(t *testing.T, o websearch.Options, q websearch.Query) *websearch.Answer {
	t.Helper()
	a, err := o.Choose(t.Context()).Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEveryServiceIsAskedAndReadInItsForm(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         websearch.Result
		asked        func(s *seen) string
	}{
		{
			websearch.SearXNG,
			`{"query":"x","number_of_results":0,"results":[{"url":"https://go.dev/a","title":"A &amp; B","content":"the  text","engine":"ddg","publishedDate":"2026-01-02T00:00:00"},{"url":"javascript:x","title":"bad"}],"answers":[]}`,
			websearch.Result{Title: "A & B", URL: "https://go.dev/a", Snippet: "the text", Date: "2026-01-02T00:00:00"},
			func(s *seen) string { return s.method + s.path + "?" + s.query },
		},
		{
			websearch.Brave,
			`{"type":"search","web":{"type":"search","results":[{"title":"A <strong>B</strong>","url":"https://go.dev/a","description":"the <strong>text</strong>","age":"3 days ago","extra_snippets":["more"]}]}}`,
			websearch.Result{Title: "A B", URL: "https://go.dev/a", Snippet: "the text … more", Date: "3 days ago"},
			func(s *seen) string { return s.method + s.path + "?" + s.query + s.header.Get("X-Subscription-Token") },
		},
		{
			websearch.Tavily,
			`{"query":"x","answer":null,"results":[{"title":"A","url":"https://go.dev/a","content":"text","score":0.9,"raw_content":null}],"response_time":1.2}`,
			websearch.Result{Title: "A", URL: "https://go.dev/a", Snippet: "text"},
			func(s *seen) string {
				return fmt.Sprint(s.method, s.path, s.body["query"], s.header.Get("Authorization"), s.body["max_results"])
			},
		},
		{
			websearch.Exa,
			`{"requestId":"1","results":[{"title":"A","url":"https://go.dev/a","id":"https://go.dev/a","publishedDate":"2025-01-01","author":null,"text":"text"}]}`,
			websearch.Result{Title: "A", URL: "https://go.dev/a", Snippet: "text", Date: "2025-01-01"},
			func(s *seen) string {
				return fmt.Sprint(s.method, s.path, s.body["query"], s.header.Get("X-Api-Key"), s.body["numResults"])
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, last := answering(t, 200, "application/json", c.answer)
			a := search(t, options(c.name, address+"/", "k1"), websearch.Query{Text: " go  maps "})
			if diff := cmp.Diff([]websearch.Result{c.want}, a.Results,
				cmpopts.IgnoreUnexported(websearch.Result{})); diff != "" || a.Engine != c.name {
				t.Errorf("%s: %s", a.Engine, diff)
			}
			want := map[string]string{
				websearch.SearXNG: "GET/search?go maps", websearch.Brave: "GET/res/v1/web/search?go mapsk1",
				websearch.Tavily: "POST/searchgo mapsBearer k110", websearch.Exa: "POST/searchgo mapsk110",
			}[c.name]
			if got := c.asked(last); got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
		})
	}
}

func TestDomainsReachTheServiceAndHoldWhateverItAnswers(t *testing.T) {
	answer := `{"results":[{"url":"https://pkg.go.dev/a","title":"1"},{"url":"https://evilgo.dev/b","title":"2"},{"url":"https://go.dev.evil.org","title":"3"},{"url":"https://go.dev","title":"4"},{"url":"https://go.dev","title":"again"}]}`
	address, last := answering(t, 200, "application/json", answer)
	a := search(t, options(websearch.Tavily, address, "k"), websearch.Query{
		Text:    "maps",
		Allowed: []string{"https://Go.dev/doc", "*.example.com"},
	})
	if len(a.Results) != 2 || a.Results[0].Title != "1" || a.Results[1].Title != "4" {
		t.Errorf("%+v", a.Results)
	}
	if got := fmt.Sprint(last.body["include_domains"]); got != "[go.dev example.com]" {
		t.Errorf("include_domains: %s", got)
	}
	a = search(t, options(websearch.SearXNG, address, ""), websearch.Query{Text: "maps", Blocked: []string{"go.dev"}})
	if len(a.Results) != 2 || a.Results[0].Title != "2" || last.query != "maps -site:go.dev" {
		t.Errorf("%+v, %s", a.Results, last.query)
	}
	search(t, options(websearch.SearXNG, address, ""), websearch.Query{Text: "maps", Allowed: []string{"a.org", "b.org"}})
	if last.query != "maps site:a.org OR site:b.org" {
		t.Error(last.query)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	var all []map[string]string
	for i := range 60 {
		all = append(all, map[string]string{
			"url": fmt.Sprintf("https://x.org/%d", i), "title": strings.Repeat("t", 5000),
			"content": strings.Repeat("ä", 5_000),
		})
	}
	b, _ := json.Marshal(map[string]any{"results": all})
	address, _ := answering(t, 200, "application/json", string(b))
	if a := search(t, options(websearch.SearXNG, address, ""), websearch.Query{Text: "maps", Max: 500}); len(
		a.Results) != 20 || len([]rune(a.Results[0].Title)) != 201 || len([]rune(a.Results[0].Snippet)) != 501 {
		t.Errorf("%d results", len(a.Results))
	}
	address, _ = answering(t, 200, "application/json", `{"results":"`+strings.Repeat("x", 5<<20)+`"}`)
	if _, err := options(websearch.SearXNG, address, "").Choose(t.Context()).Search(t.Context(),
		websearch.Query{Text: "maps"}); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Error(err)
	}
}

func TestFailuresNameTheNextMoveAndNoKey(t *testing.T) {
	elsewhere, leaked := answering(t, 200, "application/json", `{}`)
	for _, c := range []struct {
		engine string
		status int
		body   string
		want   string
	}{
		{
			websearch.Brave, 401, `{"error":{"code":"X","detail":"The provided token is invalid."}}`,
			"token is invalid.; ask the user to check the key (BRAVE_SEARCH_API_KEY",
		},
		{websearch.Tavily, 432, `{"detail":{"error":"plan limit"}}`, "plan limit; its limit is reached"},
		{websearch.Exa, 429, `{"error":"slow down"}`, "slow down; its limit is reached"},
		{websearch.SearXNG, 403, `<html>`, "formats: [html, json]"},
		{websearch.SearXNG, 200, `<html>`, "its answer cannot be read"},
		{websearch.Brave, 503, ``, "try again later"},
		{websearch.Brave, 302, ``, "redirects are not followed"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		_, err := options(c.engine, s.URL, "secret-key").Choose(t.Context()).Search(t.Context(),
			websearch.Query{Text: "maps"})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%s %d: %v", c.engine, c.status, err)
		}
		s.Close()
	}
	if leaked.method != "" {
		t.Error("a redirect was followed")
	}
	for _, c := range []struct {
		q    websearch.Query
		want string
	}{
		{websearch.Query{Text: " "}, "the query is empty"},
		{websearch.Query{Text: strings.Repeat("x", 401)}, "401 characters"},
		{websearch.Query{Text: "ab", Allowed: []string{"a.b"}, Blocked: []string{"c.d"}}, "exclude each other"},
		{websearch.Query{Text: "ab", Allowed: []string{"a b"}}, "is no domain"},
	} {
		if _, err := options(websearch.Brave, elsewhere, "k").Choose(t.Context()).Search(t.Context(), c.q); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.q, err)
		}
	}
	if _, err := options(websearch.Brave, "", "").Choose(t.Context()).Search(t.Context(),
		websearch.Query{Text: "maps"}); err == nil || !strings.Contains(err.Error(), "BRAVE_SEARCH_API_KEY") {
		t.Error(err)
	}
	if _, err := options(websearch.SearXNG, "", "").Choose(t.Context()).Search(t.Context(),
		websearch.Query{Text: "maps"}); err == nil || !strings.Contains(err.Error(), "webSearch.url") {
		t.Error(err)
	}
}

// model makes a model of a wire at an address.
func model(t *testing.T, wire, address string) llm.Model {
	t.Helper()
	var p llm.Provider
	var err error
	id := "m"
	switch wire {
	case "anthropic":
		p, err = anthropic.New(anthropic.Config{BaseURL: address, APIKey: "k", Retry: llm.RetryPolicy{Max: -1}})
	case "responses":
		p = openai.New(openai.Config{BaseURL: address, APIKey: "k", Responses: true, Retry: llm.RetryPolicy{Max: -1}})
	case "chat":
		p = openai.New(openai.Config{BaseURL: address, APIKey: "k", Retry: llm.RetryPolicy{Max: -1}})
	case "google":
		p = google.New(google.Config{BaseURL: address, APIKey: "k", Retry: llm.RetryPolicy{Max: -1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// events is a stream of server-sent events.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e)
		if e.Type != "" {
			fmt.Fprintf(&b, "event: %s\n", e.Type)
		}
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

func TestTheProviderSearchesWithItsOwnTool(t *testing.T) {
	for _, c := range []struct{ wire, stream, tool string }{
		{
			"anthropic", events(
				`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"go maps\"}"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://go.dev/a","title":"A","encrypted_content":"xyz","page_age":"April 30, 2025"},{"type":"web_search_result","url":"https://evil.org/a","title":"E","encrypted_content":"xyz","page_age":null}]}}`,
				`{"type":"content_block_stop","index":1}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Maps are fast."}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://go.dev/a","title":"A","cited_text":"x"}}}`,
				`{"type":"content_block_stop","index":2}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20,"server_tool_use":{"web_search_requests":1}}}`,
				`{"type":"message_stop"}`,
			), `{"allowed_domains":["go.dev"],"max_uses":3,"name":"web_search","type":"web_search_20250305"}`,
		},
		{
			"responses", events(
				`{"type":"response.created","response":{"id":"r1","model":"m"}}`,
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws_1","status":"in_progress"}}`,
				`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"go maps"}}}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
				`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Maps are fast."}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Maps are fast.","annotations":[{"type":"url_citation","start_index":0,"end_index":4,"url":"https://go.dev/a","title":"A"},{"type":"url_citation","start_index":0,"end_index":4,"url":"https://evil.org/a","title":"E"}]}]}}`,
				`{"type":"response.completed","response":{"id":"r1","model":"m","status":"completed","output":[],"usage":{"input_tokens":10,"output_tokens":20}}}`,
			), `{"filters":{"allowed_domains":["go.dev"]},"type":"web_search"}`,
		},
		{
			"google", events(
				`{"candidates":[{"content":{"role":"model","parts":[{"text":"Maps are fast."}]},"index":0}],"modelVersion":"m","responseId":"r1"}`,
				`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0,"groundingMetadata":{"webSearchQueries":["go maps"],"groundingChunks":[{"web":{"uri":"https://vertexaisearch.cloud.google.com/grounding-api-redirect/1","title":"go.dev"}},{"web":{"uri":"https://vertexaisearch.cloud.google.com/grounding-api-redirect/2","title":"evil.org"}}]}}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":20}}`,
			), `{"google_search":{}}`,
		},
	} {
		t.Run(c.wire, func(t *testing.T) {
			address, last := answering(t, 200, "text/event-stream", c.stream)
			m := model(t, c.wire, address)
			var counted llm.Usage
			o := options(websearch.Provider, "", "")
			o.Model = func(context.Context) (llm.Model, error) { return m, nil }
			o.Count = func(_ llm.ModelInfo, u llm.Usage) { counted = u }
			a := search(t, o, websearch.Query{Text: "go maps", Allowed: []string{"go.dev"}})
			if a.Text != "Maps are fast." || len(a.Results) != 1 || a.Results[0].Title != map[bool]string{
				true:  "go.dev",
				false: "A",
			}[c.wire == "google"] || a.Results[0].Title == "E" {
				t.Errorf("%+v", a)
			}
			if counted.Output != 20 {
				t.Errorf("counted %+v", counted)
			}
			tools, _ := json.Marshal(last.body["tools"])
			if string(tools) != "["+c.tool+"]" {
				t.Errorf("sent %s", tools)
			}
			o.Engine = websearch.Auto
			if e := o.Choose(t.Context()); e != nil {
				t.Errorf("an address that is not the provider's own is used unasked: %s", e.Name)
			}
		})
	}
}

func TestTheEngineIsChosen(t *testing.T) {
	at := func(wire, address string) func(context.Context) (llm.Model, error) {
		return func(context.Context) (llm.Model, error) { return model(t, wire, address), nil }
	}
	for _, c := range []struct {
		engine string
		env    map[string]string
		model  func(context.Context) (llm.Model, error)
		want   string
	}{
		{"", nil, nil, ""},
		{"auto", nil, at("anthropic", ""), "provider"},
		{"auto", map[string]string{"TAVILY_API_KEY": "x"}, at("responses", ""), "provider"},
		{"auto", nil, at("google", ""), "provider"},
		{"auto", nil, at("chat", ""), ""},
		{"auto", map[string]string{"TAVILY_API_KEY": "x"}, at("chat", ""), "tavily"},
		{"", map[string]string{"EXA_API_KEY": "x", "BRAVE_API_KEY": "y"}, nil, "brave"},
		{"", map[string]string{"SEARXNG_URL": "http://x"}, nil, "searxng"},
		{"off", map[string]string{"EXA_API_KEY": "x"}, at("anthropic", ""), ""},
		{"exa", nil, at("anthropic", ""), "exa"},
		{"provider", nil, at("chat", ""), ""},
		{"provider", nil, at("anthropic", "https://gateway.example"), "provider"},
	} {
		o := websearch.Options{Engine: c.engine, Getenv: func(name string) string { return c.env[name] }, Model: c.model}
		got := ""
		if e := o.Choose(t.Context()); e != nil {
			got = e.Name
		}
		if got != c.want {
			t.Errorf("%s %v: %q, want %q", c.engine, c.env, got, c.want)
		}
	}
}

// Each engine gets the domains in its own form, so that its few results are not used up by pages that are dropped.
func TestEachEngineIsToldTheDomains(t *testing.T) {
	for _, c := range []struct{ name, allowed, blocked string }{
		{websearch.SearXNG, "maps site:a.org OR site:b.org", "maps -site:a.org -site:b.org"},
		{websearch.Brave, "maps site:a.org OR site:b.org", "maps -site:a.org -site:b.org"},
		{websearch.Tavily, `{"include_domains":["a.org","b.org"]}`, `{"exclude_domains":["a.org","b.org"]}`},
		{websearch.Exa, `{"includeDomains":["a.org","b.org"]}`, `{"excludeDomains":["a.org","b.org"]}`},
	} {
		const results = `[{"url":"https://a.org/1","title":"a"},{"url":"https://sub.b.org/1","title":"b"},{"url":"https://c.org/1","title":"c"}]`
		address, last := answering(t, 200, "application/json", `{"results":`+results+`,"web":{"results":`+results+`}}`)
		told := func() string {
			if last.query != "" {
				return last.query
			}
			domains := map[string]any{}
			for name, v := range last.body {
				if strings.Contains(strings.ToLower(name), "domains") {
					domains[name] = v
				}
			}
			b, _ := json.Marshal(domains)
			return string(b)
		}
		domains := []string{"a.org", "b.org"}
		if a := search(t, options(c.name, address, "k"), websearch.Query{
			Text:    "maps",
			Allowed: domains,
		}); told() != c.allowed || len(a.Results) != 2 {
			t.Errorf("%s: told %s, %+v", c.name, told(), a.Results)
		}
		if a := search(t, options(c.name, address, "k"), websearch.Query{
			Text:    "maps",
			Blocked: domains,
		}); told() != c.blocked || len(a.Results) != 1 || a.Results[0].Title != "c" {
			t.Errorf("%s: told %s, %+v", c.name, told(), a.Results)
		}
	}
}

func TestTheProvidersSearchIsToldWhatIsBlocked(t *testing.T) {
	for wire, c := range map[string]struct{ stream, tool string }{
		"anthropic": {events(
			`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"https://go.dev/a","title":"A","encrypted_content":"x"},{"type":"web_search_result","url":"https://evil.org/a","title":"E","encrypted_content":"x"}]}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`,
			`{"type":"message_stop"}`,
		), `{"blocked_domains":["evil.org"],"max_uses":3,"name":"web_search","type":"web_search_20250305"}`},
		"responses": {events(
			`{"type":"response.created","response":{"id":"r1","model":"m"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"","annotations":[{"type":"url_citation","url":"https://go.dev/a","title":"A"},{"type":"url_citation","url":"https://evil.org/a","title":"E"}]}]}}`,
			`{"type":"response.completed","response":{"id":"r1","model":"m","status":"completed","output":[],"usage":{"input_tokens":10,"output_tokens":20}}}`,
		), `{"type":"web_search"}`},
	} {
		address, last := answering(t, 200, "text/event-stream", c.stream)
		m := model(t, wire, address)
		o := options(websearch.Provider, "", "")
		o.Model = func(context.Context) (llm.Model, error) { return m, nil }
		a := search(t, o, websearch.Query{Text: "go maps", Blocked: []string{"evil.org"}})
		if tools, _ := json.Marshal(last.body["tools"]); string(tools) != "["+c.tool+"]" || len(a.Results) != 1 ||
			a.Results[0].Title != "A" {
			t.Errorf("%s: sent %s, %+v", wire, tools, a.Results)
		}
	}
}
