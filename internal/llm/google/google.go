// Package google implements Google's Gemini API, streamGenerateContent, at Google itself, on Vertex AI, and at
// gateways.
//
// A [Provider] is one server; its models keep the promises of package llm. Facts of the wire:
//
//   - A reply is a stream of chunks; each has parts: pieces of text, pieces of thought, whole calls. It is complete
//     with
//     a finishReason.
//   - Calls may have no id. They get one, which is not sent: results belong to calls by their order. An id that the
//     server made goes back with the call and its result; in the conversation it carries a mark of its host.
//   - A thoughtSignature belongs to the part that it came with, and goes back on it. Gemini 3 refuses a call of the
//     running turn without one, so a call that another model wrote gets the mark that Google documents for it.
//   - Schemas are a subset of JSON Schema; a schema that goes beyond it is rewritten (schema.go).
//
// Sources: Gemini API reference (generateContent, function calling, thinking, thought signatures), the protocol
// buffers of google/ai/generativelanguage/v1beta.
package google

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// wireName is its name in the settings, and the catalogue's section of Google's own models.
const wireName = "google"

// Config describes one server.
type Config struct {
	Name           string // in errors; "" means "google"
	BaseURL        string // with or without a version; "" means Google's own
	APIKey         string // "" sends none
	Headers        map[string]string
	HTTP           *http.Client // nil means the default of package llm
	Retry          llm.RetryPolicy
	Clock          llm.Clock     // nil means the machine's
	StallTimeout   time.Duration // as llm.Caller
	HeaderTimeout  time.Duration // as llm.Caller
	ContentTimeout time.Duration // as llm.Caller
	KeyVar         string        // the variable that sets APIKey, for hints; "" means Google's
	URLVar         string        // the variable that sets BaseURL; "" means Google's
	Prepare        llm.Prepare   // see llm.Caller
}

// Provider makes the models of one server. It is safe for concurrent use.
type Provider struct {
	name   string
	host   string // owner of opaque data, see llm.HostID
	models string // the address before a model's id
	header http.Header
	retry  llm.RetryPolicy
	caller llm.Caller
}

// New makes a provider. An invalid base URL is reported by the first request.
func New(c Config) *Provider {
	own, _ := hosts.Named(wireName)
	base := cmp.Or(c.BaseURL, own.Base)
	p := &Provider{name: cmp.Or(c.Name, wireName), models: modelsURL(base), header: c.header(), retry: c.Retry}
	p.host = llm.HostID(p.name, base)
	p.caller = llm.Caller{
		Provider: p.name, HTTP: c.HTTP, Clock: c.Clock, StallTimeout: c.StallTimeout, HeaderTimeout: c.HeaderTimeout,
		ContentTimeout: c.ContentTimeout,
		Prepare:        c.Prepare,
		KeyVar:         cmp.Or(c.KeyVar, own.Variable("apiKey")), URLVar: cmp.Or(c.URLVar, own.Variable("apiBase")),
	}
	return p
}

func (c *Config) header() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	if c.APIKey != "" {
		h.Set("X-Goog-Api-Key", c.APIKey)
	}
	for k, v := range c.Headers {
		h.Set(k, v)
	}
	return h
}

// modelsURL returns the address of the models under a base URL. "/v1beta" is added unless the path has a version.
func modelsURL(base string) string {
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	u, err := url.Parse(base)
	if err != nil {
		return base // Post reports the error
	}
	if !versioned(u.Path) {
		base += "/v1beta"
	}
	return strings.TrimSuffix(base, "/models") + "/models/"
}

func versioned(path string) bool {
	for seg := range strings.SplitSeq(path, "/") {
		if len(seg) > 1 && seg[0] == 'v' && seg[1] >= '0' && seg[1] <= '9' {
			return true
		}
	}
	return false
}

// Name is the provider's name in errors.
func (p *Provider) Name() string { return p.name }

// Model returns the model with that id. The server is not asked: a wrong id fails at the first request.
func (p *Provider) Model(_ context.Context, id string) (llm.Model, error) {
	info := llm.Lookup(wireName, strings.TrimPrefix(id, "models/"))
	info.Provider, info.Host = wireName, p.host
	if info.ID == "" {
		return nil, llm.NoModel(p.name)
	}
	f := familyOf(info.ID)
	if f.thinks() && info.Thinking == llm.ThinkingNone { // a newer model of a known family
		info.Thinking = llm.ThinkingAdaptive
	}
	return &model{p: p, info: info, family: f}, nil
}

type model struct {
	p      *Provider
	info   llm.ModelInfo
	family family
	enc    encoder
}

func (m *model) Info() llm.ModelInfo { return m.info }

// Described implements llm.Describable.
func (m *model) Described(info llm.ModelInfo) llm.Model {
	return &model{p: m.p, info: info, family: m.family.described(info.Thinking)}
}

// Stream sends req, with retries, and yields the reply.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		out := &llm.Outgoing{
			URL:    m.p.models + url.PathEscape(m.info.ID) + ":streamGenerateContent?alt=sse",
			Header: m.p.header, Body: m.body(req), Model: m.info.ID,
		}
		m.p.retry.Run(ctx, m.p.caller.Clock, func(ctx context.Context, n int, yield func(llm.Delta) bool) error {
			return m.p.caller.Exchange(ctx, n, out, yield, func(reply *llm.Reply, yield func(llm.Delta) bool) llm.Decoder {
				return &decoder{
					reply: reply, req: req, host: m.info.Host, model: m.info.ID,
					ReplyParts: llm.ReplyParts{Yield: yield, IDs: llm.CallIDs{Request: req, Prefix: "call"}},
				}
			})
		}, yield)
	}
}
