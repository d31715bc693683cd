package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

//go:embed websearch.md
var searchDescription string

type searchInput struct {
	Query   string   `json:"query"`
	Allowed []string `json:"allowed_domains,omitempty"`
	Blocked []string `json:"blocked_domains,omitempty"`
	Max     int      `json:"max_results,omitempty" limits:"minimum=1 maximum=20"`
}

// SearchName is the tool that searches the web.
const SearchName = "WebSearch"

var searchTool = call.Declaration{
	Name: SearchName, Aliases: []string{"google_web_search", "search_web", "websearch_web_search", "internet_search"},
	Input: schemaOf[searchInput](),
	Params: map[string]string{
		"query": "q search_query search_term prompt", "allowed_domains": "include_domains domains",
		"blocked_domains": "exclude_domains",
		"max_results":     "num_results numResults count limit",
	},
	Ignored: "include_content", Deferred: true, Accesses: call.Itself(SearchName),
}

// Engine is the engine that answers WebSearch; nil: there is none.
func (e *Internet) Engine(ctx context.Context) *websearch.Engine {
	if e.Search == nil {
		return nil
	}
	return e.Search(ctx)
}

func newWebSearch(env *Files, net *Internet) agent.Tool {
	return newTool(searchTool, searchDescription, func(ctx context.Context, _ llm.ToolCall, in searchInput) (*agent.Plan,
		error,
	) {
		engine := net.Engine(ctx)
		if engine == nil {
			return nil, errors.New("no engine for searches is set up: use WebFetch on an address that you know, or ask the " +
				"user to set webSearch.engine in the settings")
		}
		accesses, err := searchTool.Accesses(nil, env.place())
		if err != nil {
			return nil, err
		}
		return &agent.Plan{
			Accesses: accesses, Title: in.Query,
			Run: func(ctx context.Context) (*agent.Result, error) { return net.searchWeb(ctx, engine, in) },
		}, nil
	})
}

func (e *Internet) searchWeb(ctx context.Context, engine *websearch.Engine, in searchInput) (*agent.Result, error) {
	start := time.Now()
	a, err := engine.Search(ctx, websearch.Query{Text: in.Query, Allowed: in.Allowed, Blocked: in.Blocked, Max: in.Max})
	if err != nil {
		return nil, err
	}
	shown := searchText(a)
	r := agent.TextResult(fmt.Sprintf("<search query=%q engine=%q>\n%s\n</search>\n%s\n",
		in.Query, a.Engine, unframed(shown, "search"), foreignNote))
	r.Title = in.Query
	r.View = event.TextView{Text: shown, Language: "markdown", Summary: count(len(a.Results), "result", "results")}
	links := make([]map[string]string, len(a.Results))
	for i, page := range a.Results {
		links[i] = map[string]string{"title": page.Title, "url": page.URL}
	}
	r.Meta = map[string]any{
		"query": in.Query, "results": links, "engine": a.Engine,
		"durationSeconds": time.Since(start).Seconds(),
	}
	return r, nil
}

// searchText is an answer as Markdown.
func searchText(a *websearch.Answer) string {
	var b strings.Builder
	if a.Text != "" {
		b.WriteString(a.Text + "\n\n")
	}
	for i, r := range a.Results {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if line := strings.Trim(r.Date+" · "+r.Snippet, " ·"); line != "" {
			fmt.Fprintf(&b, "   %s\n", line)
		}
	}
	if len(a.Results) == 0 && a.Text == "" {
		return "No page was found. Try other or fewer words, or leave out the domains."
	}
	return strings.TrimRight(b.String(), "\n")
}
