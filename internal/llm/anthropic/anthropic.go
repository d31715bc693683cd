// Package anthropic implements the Anthropic Messages API (https://docs.anthropic.com/en/api/messages),
// streaming, for Anthropic and compatible servers.
//
// The beginning of a request body never changes within a conversation: first the settings, then tools, system
// and messages, each message encoded once and cached (llm.EncodeCache). At most four cache marks are set: on
// the last tool, the last system block and the last two user messages; they are inserted between the cached
// bytes.
//
// A reply is complete only after message_stop. A call is ready only after its content_block_stop, if its JSON
// is an object; a call with invalid JSON becomes a ToolCall with Raw, and a call that the output limit cut is
// dropped. Broken replies are retried by llm.RetryPolicy as long as no call was ready.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

const (
	wire           = "anthropic" // its name in the catalogue, and that of a provider without a name
	apiVersion     = "2023-06-01"
	betaInterleave = "interleaved-thinking-2025-05-14"
	betaLong       = "context-1m-2025-08-07"
	betaTaskBudget = "task-budgets-2026-03-13"
)

// Config configures access to the API. With only a key it uses Anthropic.
type Config struct {
	Name      string // of the provider, for errors and as the owner of opaque data; "" means "anthropic"
	BaseURL   string // with or without a path, "/v1" or "/v1/messages"; empty means Anthropic's own
	APIKey    string // sent as x-api-key, unless AuthToken is set
	AuthToken string // sent as a bearer token
	Headers   map[string]string
	Betas     []string // values for the anthropic-beta header
	NoBetas   bool     // never send that header, for gateways that refuse it
	Version   string   // lathe's, for the user agent

	HTTP           *http.Client // from llm.HTTPClient; nil means one with default options
	Retry          llm.RetryPolicy
	StallTimeout   time.Duration // see llm.Caller
	HeaderTimeout  time.Duration // see llm.Caller
	ContentTimeout time.Duration // as llm.Caller
	Clock          llm.Clock

	ExtraBody json.RawMessage // an object whose members are added to each body, or replace lathe's settings
	// budget of models that take one, regardless of the effort (MAX_THINKING_TOKENS); 0 turns thinking off
	ThinkingTokens *int
	TaskBudget     int         // tokens that a task may take, for the model to pace itself by; 0: none
	NoInterleaving bool        // no thinking between tool calls where it needs a beta
	DeferTools     bool        // the server takes deferred tools; Anthropic's own does with the models that do
	NoCache        bool        // no cache marks
	CacheTTL       string      // "" or "5m", or "1h"
	KeyVar, URLVar string      // names of the variables that set key and URL, for hints
	Prepare        llm.Prepare // see llm.Caller
	// "" for Anthropic's own API; else BaseURL is the address before "/model/ID" (Bedrock) or "/models/ID" (Vertex)
	Cloud  Cloud
	Region string // of Bedrock, for the names of models
}

// Provider makes the models of one endpoint. It is safe for concurrent use.
type Provider struct {
	conf   Config
	host   string // owner of opaque data, see llm.HostID
	own    bool   // the server is Anthropic's
	url    string
	extra  []field
	header http.Header
	caller *llm.Caller
}

// New checks the configuration; it sends nothing.
func New(c Config) (*Provider, error) {
	official, _ := hosts.Named(wire)
	target, err := messagesURL(cmp.Or(c.BaseURL, official.Base))
	if c.Cloud != "" {
		target = strings.TrimSpace(c.BaseURL)
	}
	if err != nil {
		return nil, fmt.Errorf("anthropic: base URL %q: %w", llm.Clean(c.BaseURL), err)
	}
	extra, err := extraFields(c.ExtraBody)
	if err != nil {
		return nil, fmt.Errorf("anthropic: extra body: %w", err)
	}
	if c.CacheTTL != "" && c.CacheTTL != "5m" && c.CacheTTL != "1h" {
		return nil, fmt.Errorf("anthropic: cache lifetime %q: use 5m or 1h", c.CacheTTL)
	}
	c.Name = cmp.Or(c.Name, wire)
	p := &Provider{conf: c, host: llm.HostID(c.Name, target), url: target, extra: extra, header: baseHeader(c)}
	p.own = llm.CatalogueHost(target) == wire
	p.caller = &llm.Caller{
		Provider: c.Name, KeyVar: cmp.Or(c.KeyVar, official.Variable("apiKey")),
		URLVar: cmp.Or(c.URLVar, official.Variable("apiBase")),
		HTTP:   c.HTTP, Clock: c.Clock, StallTimeout: c.StallTimeout, HeaderTimeout: c.HeaderTimeout,
		ContentTimeout: c.ContentTimeout,
		Prepare:        c.Prepare,
	}
	return p, nil
}

// messagesURL completes the base to /v1/messages.
func messagesURL(base string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return "", errors.New("not a URL; write it like https://host/path")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("not an http(s) URL; write it like https://host/path")
	}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
	case strings.HasSuffix(path, "/v1"):
		path += "/messages"
	default:
		path += "/v1/messages"
	}
	u.Path, u.RawPath = path, ""
	return u.String(), nil
}

func baseHeader(c Config) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream, application/json")
	h.Set("Anthropic-Version", apiVersion)
	h.Set("User-Agent", "lathe/"+cmp.Or(c.Version, "dev"))
	switch {
	case c.AuthToken != "":
		h.Set("Authorization", "Bearer "+c.AuthToken)
	case c.APIKey != "":
		h.Set("X-Api-Key", c.APIKey)
	}
	for k, v := range c.Headers {
		h.Set(k, v)
	}
	return h
}

// Name returns the provider's configured name.
func (p *Provider) Name() string { return p.conf.Name }

// Model returns the model with an id, an alias ("sonnet", "opus", "haiku") or either with "[1m]". The server
// is not asked: an unknown id fails at the first request with KindNotFound.
func (p *Provider) Model(_ context.Context, id string) (llm.Model, error) {
	if strings.TrimSpace(id) == "" {
		return nil, errors.New("anthropic: no model named; use --model, for instance " + llm.DefaultModel)
	}
	_, long := llm.CutLong(llm.Resolve(id, nil))
	if !long && strings.Contains(strings.Join(p.conf.Betas, ","), betaLong) {
		id += "[1m]" // for the window; the header has it from the configuration
	}
	info := llm.Lookup(wire, id)
	info.Host = p.host
	info.DeferredTools = p.conf.DeferTools || p.own && takesDeferred(info.ID)
	if base, _ := llm.CutLong(strings.TrimSpace(id)); strings.HasPrefix(base, "anthropic/") && !p.own {
		info.ID = base // a gateway's name for it
	}
	m := &model{p: p, info: info, long: long, url: p.url}
	if c := p.conf.Cloud; c != "" {
		m.info.ID = c.ModelID(info.ID, p.conf.Region)
		m.url = c.address(p.url, m.info.ID)
	}
	return m, nil
}

// deferredTools are the models of Anthropic's that take deferred tools and tool_reference blocks, without a beta
// header, by the beginnings of their ids.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool named Opus 4.5 and Sonnet 4.5 when the
// feature came; a refusal of the API gives "Claude Sonnet 4+, Opus 4+, and newer models", and was the answer to Haiku
// 4.5 (https://github.com/anthropics/claude-code/issues/14863). Later lists have Haiku 4.5 too. Models that one of
// these sources leaves out, and those that are not known, get ToolSearch's own way, which works with all.
var deferredTools = []string{
	"claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5",
	"claude-sonnet-4-5", "claude-sonnet-4-6", "claude-sonnet-5", "claude-fable-5", "claude-mythos-5",
}

// takesDeferred reports whether a model is one of deferredTools.
func takesDeferred(id string) bool {
	id = strings.TrimPrefix(id, "anthropic/")
	return slices.ContainsFunc(deferredTools, func(prefix string) bool { return strings.HasPrefix(id, prefix) })
}

type model struct {
	p     *Provider
	info  llm.ModelInfo
	long  bool
	url   string
	cache llm.EncodeCache[encoded]
}

func (m *model) Info() llm.ModelInfo { return m.info }

// Described implements llm.Describable.
func (m *model) Described(info llm.ModelInfo) llm.Model {
	return &model{p: m.p, info: info, long: m.long, url: m.url}
}

// Stream implements llm.Model.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		body, header := m.build(req)
		out := &llm.Outgoing{URL: m.url, Header: header, Body: body, Model: m.info.ID}
		m.p.conf.Retry.Run(ctx, m.p.conf.Clock, func(ctx context.Context, n int, yield func(llm.Delta) bool) error {
			return m.p.caller.Exchange(ctx, n, out, yield, func(reply *llm.Reply, yield func(llm.Delta) bool) llm.Decoder {
				return &decoder{reply: reply, req: req, model: m.info.ID, host: m.info.Host, yield: yield}
			})
		}, yield)
	}
}
