package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/web"
)

//go:embed webfetch.md
var fetchDescription string

type fetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt,omitempty"`
	Offset int    `json:"offset,omitempty" limits:"minimum=0"`
	Pages  string `json:"pages,omitempty" jsonschema:"of a PDF, such as 3 or 20-40"`
}

var fetchTool = call.Declaration{
	Name: "WebFetch", Aliases: []string{
		"fetch", "fetch_url", "net", "read_url", "web_fetch_page", "read_web_page",
		"fetch_webpage", "read_url_content", "fetch_url_content", "agentic_fetch",
	}, Input: schemaOf[fetchInput](),
	Params:  map[string]string{"url": "host address uri link", "prompt": "question query", "offset": "start start_index"},
	Ignored: "format timeout",
	Subject: permission.SubjectHost, SubjectIn: []string{"url"}, Deferred: true, Accesses: call.Typed(fetchAccesses),
}

// fetchAccesses is the host that is asked, after the upgrade to https.
func fetchAccesses(in fetchInput, _ call.Place) ([]permission.Access, error) {
	if in.URL == "" {
		return nil, errors.New(`the input names no address; give it as "url"`)
	}
	if u, err := web.Parse(in.URL); err == nil {
		in.URL = u.String()
	}
	return []permission.Access{permission.NetAccess(in.URL)}, nil
}

// fetcher is what WebFetch uses: pages, and a program that reads documents.
type fetcher struct {
	*Internet
	*reader
}

func newWebFetch(env *fetcher) agent.Tool {
	return newTool(fetchTool, fetchDescription, func(_ context.Context, _ llm.ToolCall, in fetchInput) (*agent.Plan,
		error,
	) {
		u, err := web.Parse(in.URL)
		if err != nil {
			return nil, err
		}
		in.URL = u.String()
		accesses, err := fetchAccesses(in, env.place())
		if err != nil {
			return nil, err
		}
		return &agent.Plan{
			Accesses: accesses, Title: u.Redacted(), Parallel: true,
			Run: func(ctx context.Context) (*agent.Result, error) { return env.fetch(ctx, in) },
		}, nil
	})
}

func (e *fetcher) fetch(ctx context.Context, in fetchInput) (*agent.Result, error) {
	p, err := e.Web.Fetch(ctx, in.URL)
	if err != nil {
		return nil, err
	}
	meta := map[string]any{"url": in.URL, "code": p.Status, "codeText": http.StatusText(p.Status), "bytes": len(p.Body)}
	if p.Redirect != "" {
		r := agent.TextResult(redirected(p))
		r.Title, r.Meta = in.URL, meta
		return r, nil
	}
	text, err := e.pageText(ctx, p, in.Pages)
	if err != nil {
		return nil, fmt.Errorf("%s was fetched, but %w", in.URL, err)
	}
	shown, err := e.shown(ctx, in, p, text)
	if err != nil {
		return nil, err
	}
	given := marked(p, shown)
	if p.Status < 400 {
		if at := e.Web.Overview(ctx, p); at != "" {
			given += fmt.Sprintf("[This site has an overview for models: %s]\n", at)
		}
	}
	given += afterError(p.Status)
	r := agent.TextResult(given)
	r.IsError = p.Status >= 400
	r.Title = in.URL
	r.View = event.TextView{Text: shown, Language: "markdown", Summary: fmt.Sprintf("%d %s, %s", p.Status,
		http.StatusText(p.Status), size(int64(len(p.Body))))}
	meta["result"] = shown
	r.Meta = meta
	return r, nil
}
