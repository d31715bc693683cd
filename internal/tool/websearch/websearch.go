// Package websearch searches the web for a model: through the search of the model's own provider, or through a search
// engine of the user's choice (SearXNG, Brave, Tavily, Exa).
//
// The words: an engine answers queries; a query may allow only some domains, or block some, each with its subdomains;
// an answer is a list of results, and from a provider also a text.
//
// Promises: results are bounded in number and length, filtered by the query's domains whatever the engine does with
// them, and have no markup; a key goes to the engine's own address only, never along a redirect.
package websearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The limits.
const (
	resultsMost = 20
	resultsUsed = 10
	titleMax    = 200  // characters
	snippetMax  = 500  // characters
	textMax     = 8000 // characters
	queryMax    = 400  // characters, the limit of Brave and Tavily
	domainsMost = 50
	timeMax     = 30 * time.Second
)

// Query is what is searched for.
type Query struct {
	Text    string
	Allowed []string // domains; empty: all
	Blocked []string
	Max     int // results; 0: 10, at most 20
}

// Result is one page that was found. All is foreign text.
type Result struct {
	Title, URL, Snippet string
	Date                string // as the engine writes it; may be empty

	site string // the domain, where URL leads to it by a host of the engine
}

// Answer is an engine's answer. All is foreign text.
type Answer struct {
	Engine  string
	Text    string // of a provider's search; empty from others
	Results []Result
}

// Engine answers queries.
type Engine struct {
	Name   string
	search func(ctx context.Context, q Query) (*Answer, error)
}

// Options choose the engine.
type Options struct {
	Engine string // the setting webSearch.engine
	URL    string // webSearch.url
	Key    string // webSearch.apiKey
	Getenv func(string) string
	HTTP   func() (*http.Client, error)
	// Model is the model whose provider may search. Nil: none.
	Model func(ctx context.Context) (llm.Model, error)
	Count func(m llm.ModelInfo, u llm.Usage)
}

// Names of engines, the values of the setting webSearch.engine.
const (
	Auto     = "auto"
	Off      = "off"
	Provider = "provider"
	SearXNG  = "searxng"
	Brave    = "brave"
	Tavily   = "tavily"
	Exa      = "exa"
)

// Choose returns the engine, nil where there is none: the one of the settings, else the provider's own, else the first
// that the environment has a key or an address for.
func (o Options) Choose(ctx context.Context) *Engine {
	switch name := cmp.Or(o.Engine, Auto); name {
	case Off:
		return nil
	case Provider:
		return o.provider(ctx, false)
	case Auto:
		if e := o.provider(ctx, true); e != nil {
			return e
		}
		for _, s := range services {
			if o.Getenv(s.vars[0]) != "" || len(s.vars) > 1 && o.Getenv(s.vars[1]) != "" {
				return o.service(s)
			}
		}
		return nil
	default:
		i := slices.IndexFunc(services, func(s service) bool { return s.name == name })
		if i < 0 {
			return nil
		}
		return o.service(services[i])
	}
}

// Search checks a query and has the engine answer it.
func (e *Engine) Search(ctx context.Context, q Query) (*Answer, error) {
	q, err := q.checked()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeMax,
		fmt.Errorf("it took longer than %s; try again, or with fewer words", timeMax))
	defer cancel()
	a, err := e.search(ctx, q)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("the search with %s failed: %w", e.Name, err)
	}
	a.Engine = e.Name
	a.bound(q)
	return a, nil
}

// checked is the query with its domains in one form, or an error that says how to write it.
func (q Query) checked() (Query, error) {
	q.Text = strings.Join(strings.Fields(q.Text), " ")
	switch n := utf8.RuneCountInString(q.Text); {
	case n < 2:
		return q, errors.New("the query is empty; give the words to search for as query")
	case n > queryMax:
		return q, fmt.Errorf("the query has %d characters, more than %d; use the few words that matter", n, queryMax)
	case len(q.Allowed) > 0 && len(q.Blocked) > 0:
		return q, errors.New("allowed_domains and blocked_domains exclude each other; give one of them")
	case len(q.Allowed)+len(q.Blocked) > domainsMost:
		return q, fmt.Errorf("more than %d domains were given; give fewer", domainsMost)
	}
	var err error
	if q.Allowed, err = domains(q.Allowed); err == nil {
		q.Blocked, err = domains(q.Blocked)
	}
	if q.Max <= 0 {
		q.Max = resultsUsed
	}
	q.Max = min(q.Max, resultsMost)
	return q, err
}

var domainForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)+$|^xn--[a-z0-9.-]+$|^localhost$`)
})

// domains are names of hosts in lower case. Models also write addresses and patterns: "https://go.dev/", "*.go.dev".
func domains(given []string) (out []string, err error) {
	for _, d := range given {
		name := strings.ToLower(strings.TrimSpace(d))
		if u, err := url.Parse(name); err == nil && u.Host != "" {
			name = u.Hostname()
		}
		name, _, _ = strings.Cut(name, "/")
		name = strings.Trim(strings.TrimPrefix(name, "*."), ".")
		if !domainForm().MatchString(name) {
			return nil, fmt.Errorf("%q is no domain; write it as example.com", d)
		}
		out = append(out, name)
	}
	return out, nil
}

// takes reports whether a page may be in the answer.
func (q Query) takes(r Result) bool {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(cmp.Or(r.site, u.Hostname()), "."))
	below := func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) }
	return (len(q.Allowed) == 0 || slices.ContainsFunc(q.Allowed, below)) && !slices.ContainsFunc(q.Blocked, below)
}

// bound drops results that the query does not allow and those that come twice, and shortens what is left.
func (a *Answer) bound(q Query) {
	seen := map[string]bool{}
	a.Results = slices.DeleteFunc(a.Results, func(r Result) bool {
		if seen[r.URL] || len(r.URL) > 2000 || !q.takes(r) {
			return true
		}
		seen[r.URL] = true
		return false
	})
	a.Results = a.Results[:min(len(a.Results), q.Max)]
	for i, r := range a.Results {
		a.Results[i] = Result{
			URL: r.URL, Title: cut(plain(r.Title), titleMax), Snippet: cut(plain(r.Snippet), snippetMax),
			Date: cut(plain(r.Date), 40),
		}
	}
	a.Text = cut(strings.TrimSpace(a.Text), textMax)
}

var tag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`</?[a-zA-Z][^<>]*>`) })

// plain is text without markup, on one line.
func plain(s string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag().ReplaceAllString(s, ""))), " ")
}

// cut shortens a text to a number of characters.
func cut(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i] + "…"
		}
		most--
	}
	return s
}

// sites is the query with the operators that most engines understand.
func (q Query) sites() string {
	text := q.Text
	for i, d := range q.Allowed {
		if i == 0 {
			text += " site:" + d
		} else {
			text += " OR site:" + d
		}
	}
	for _, d := range q.Blocked {
		text += " -site:" + d
	}
	return text
}
