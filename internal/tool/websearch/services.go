package websearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// bodyMax is how many bytes of an answer are read.
const bodyMax = 4 << 20

// service is a search engine with an API over HTTP.
type service struct {
	name    string
	base    string   // "" where each user has their own
	vars    []string // environment variables: of the key; of the address where base is empty
	keyed   bool
	request func(base, key string, q Query) (*http.Request, error)
	decode  func(body []byte) ([]Result, error)
}

// services are in the order in which they are chosen. The forms of requests and answers are those of the engines' API
// references.
var services = []service{
	{name: SearXNG, vars: []string{"SEARXNG_URL", "SEARXNG_BASE_URL"}, request: searxngRequest, decode: decodeSearXNG},
	{
		name: Brave, base: "https://api.search.brave.com", vars: []string{"BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"},
		keyed: true, request: braveRequest, decode: decodeBrave,
	},
	{
		name: Tavily, base: "https://api.tavily.com", vars: []string{"TAVILY_API_KEY"}, keyed: true, request: tavilyRequest,
		decode: decodeTavily,
	},
	{
		name: Exa, base: "https://api.exa.ai", vars: []string{"EXA_API_KEY"}, keyed: true, request: exaRequest,
		decode: decodeExa,
	},
}

// given is the value of the first variable that is set.
func (o Options) given(vars []string) string {
	for _, v := range vars {
		if value := o.Getenv(v); value != "" {
			return value
		}
	}
	return ""
}

// service makes the engine of a service.
func (o Options) service(s service) *Engine {
	base, key := cmp.Or(o.URL, s.base), cmp.Or(o.Key, o.given(s.vars))
	if !s.keyed {
		base, key = cmp.Or(o.URL, o.given(s.vars)), o.Key
	}
	return &Engine{Name: s.name, search: func(ctx context.Context, q Query) (*Answer, error) {
		switch {
		case base == "":
			return nil, fmt.Errorf("it has no address: ask the user to set webSearch.url or %s", s.vars[0])
		case key == "" && s.keyed:
			return nil, fmt.Errorf("it has no key: ask the user to set %s, or webSearch.apiKey in the settings", s.vars[0])
		}
		req, err := s.request(strings.TrimRight(base, "/"), key, q)
		if err != nil {
			return nil, err
		}
		body, err := o.send(req.WithContext(ctx), s)
		if err != nil {
			return nil, err
		}
		results, err := s.decode(body)
		if err != nil {
			return nil, fmt.Errorf("its answer cannot be read: %w", err)
		}
		return &Answer{Results: results}, nil
	}}
}

// send makes a request and returns the body of its answer.
func (o Options) send(req *http.Request, s service) ([]byte, error) {
	client, err := o.HTTP()
	if err != nil {
		return nil, err
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "lathe (+https://github.com/lathe-dev/lathe)")
	res, err := own.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) { // its text has the query and could have a key
			err = ue.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, bodyMax+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, s.refused(res.StatusCode, body)
	case len(body) > bodyMax:
		return nil, fmt.Errorf("its answer has more than %d bytes", bodyMax)
	}
	return body, nil
}

// refused explains a status other than 200, with the next move.
func (s service) refused(status int, body []byte) error {
	text := fmt.Sprintf("it answered %d %s", status, http.StatusText(status))
	if said := message(body); said != "" {
		text += ": " + cut(plain(said), snippetMax)
	}
	switch {
	case status == http.StatusForbidden && s.name == SearXNG:
		return errors.New(text + "; its owner must allow JSON: `search: {formats: [html, json]}` in its settings.yml")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%s; ask the user to check the key (%s, or webSearch.apiKey)", text, s.vars[0])
	// Tavily's for a used-up plan
	case status == http.StatusTooManyRequests || status == http.StatusPaymentRequired || status == 432 || status == 433:
		return errors.New(text + "; its limit is reached: wait before the next search, or use WebFetch on an address that " +
			"you know")
	case status >= 300 && status < 400:
		return errors.New(text + "; redirects are not followed: webSearch.url must be the address itself")
	case status >= 500:
		return errors.New(text + "; try again later")
	}
	return errors.New(text)
}

// message finds the text of an error in the forms in which the engines write it.
func message(body []byte) string {
	var m struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &m) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{m.Error, m.Detail} {
		var text string
		var inner struct {
			Error, Detail, Message string
		}
		switch {
		case raw == nil:
		case json.Unmarshal(raw, &text) == nil && text != "":
			return text
		case json.Unmarshal(raw, &inner) == nil:
			if text := cmp.Or(inner.Error, inner.Detail, inner.Message); text != "" {
				return text
			}
		}
	}
	return m.Message
}

func get(address string, query url.Values) (*http.Request, error) {
	return http.NewRequest(http.MethodGet, address+"?"+query.Encode(), nil)
}

func post(address string, body any) (*http.Request, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(b))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

func searxngRequest(base, key string, q Query) (*http.Request, error) {
	req, err := get(strings.TrimSuffix(base, "/search")+"/search", url.Values{"q": {q.sites()}, "format": {"json"}})
	if err == nil && key != "" { // of a proxy in front of it
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, err
}

func decodeSearXNG(body []byte) ([]Result, error) {
	var a struct {
		Results []struct {
			URL, Title, Content string
			Published           string `json:"publishedDate"`
		}
	}
	err := json.Unmarshal(body, &a)
	var out []Result
	for _, r := range a.Results {
		out = append(out, Result{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: r.Published})
	}
	return out, err
}

func braveRequest(base, key string, q Query) (*http.Request, error) {
	req, err := get(base+"/res/v1/web/search", url.Values{"q": {q.sites()}, "count": {strconv.Itoa(q.Max)}})
	if err == nil {
		req.Header.Set("X-Subscription-Token", key)
	}
	return req, err
}

func decodeBrave(body []byte) ([]Result, error) {
	var a struct {
		Web struct {
			Results []struct {
				URL, Title, Description, Age string
				Page                         string   `json:"page_age"`
				Extra                        []string `json:"extra_snippets"`
			}
		}
	}
	err := json.Unmarshal(body, &a)
	var out []Result
	for _, r := range a.Web.Results {
		out = append(out, Result{
			Title: r.Title, URL: r.URL,
			Snippet: strings.Join(append([]string{r.Description}, r.Extra...), " … "), Date: cmp.Or(r.Age, r.Page),
		})
	}
	return out, err
}

func tavilyRequest(base, key string, q Query) (*http.Request, error) {
	body := map[string]any{"query": q.Text, "max_results": q.Max, "search_depth": "basic"}
	if len(q.Allowed) > 0 {
		body["include_domains"] = q.Allowed
	}
	if len(q.Blocked) > 0 {
		body["exclude_domains"] = q.Blocked
	}
	req, err := post(base+"/search", body)
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, err
}

func decodeTavily(body []byte) ([]Result, error) {
	var a struct {
		Results []struct {
			URL, Title, Content string
			Published           string `json:"published_date"`
		}
	}
	err := json.Unmarshal(body, &a)
	var out []Result
	for _, r := range a.Results {
		out = append(out, Result{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: r.Published})
	}
	return out, err
}

func exaRequest(base, key string, q Query) (*http.Request, error) {
	body := map[string]any{
		"query": q.Text, "numResults": q.Max,
		"contents": map[string]any{"text": map[string]any{"maxCharacters": snippetMax}},
	}
	if len(q.Allowed) > 0 {
		body["includeDomains"] = q.Allowed
	}
	if len(q.Blocked) > 0 {
		body["excludeDomains"] = q.Blocked
	}
	req, err := post(base+"/search", body)
	if err == nil {
		req.Header.Set("X-Api-Key", key)
	}
	return req, err
}

func decodeExa(body []byte) ([]Result, error) {
	var a struct {
		Results []struct {
			URL, Title, Text string
			Published        string `json:"publishedDate"`
			Highlights       []string
		}
	}
	err := json.Unmarshal(body, &a)
	var out []Result
	for _, r := range a.Results {
		out = append(out, Result{
			Title: r.Title, URL: r.URL, Snippet: cmp.Or(strings.Join(r.Highlights, " … "), r.Text),
			Date: r.Published,
		})
	}
	return out, err
}
