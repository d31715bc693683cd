// Package converse implements Amazon Bedrock's Converse API, streaming, for the models of every maker that Bedrock has.
//
// A [Provider] is one region; its models keep the promises of package llm. Facts of the wire:
//
//   - A reply is a binary event stream; each event names its block by contentBlockIndex. It is complete after
//     messageStop, and metadata with the usage follows. Models that cannot stream with tools answer with one JSON
//     value.
//   - Roles alternate, so messages of one role are joined. Blank texts are refused.
//   - A conversation with calls or results needs the declarations of tools, also where no tool may be called.
//   - reasoningContent goes back only where the model signed it.
//   - A cachePoint after the system prompt, the tools and the last two messages of the user marks what the cache keeps,
//     for the families that have a cache.
//
// Sources: Bedrock API reference (Converse, ConverseStream), "Supported models and features", "Prompt caching".
package converse

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Section is the catalogue's section of Bedrock's models.
const Section = "amazon-bedrock"

// Config describes access to one region.
type Config struct {
	Name           string // in errors; "" means "bedrock"
	BaseURL        string // the address before "/model/ID"
	Headers        map[string]string
	HTTP           *http.Client // nil means the default of package llm
	Retry          llm.RetryPolicy
	Clock          llm.Clock     // nil means the machine's
	StallTimeout   time.Duration // as llm.Caller
	HeaderTimeout  time.Duration // as llm.Caller
	ContentTimeout time.Duration // as llm.Caller
	KeyVar         string        // the variable with the credentials, for hints
	URLVar         string        // the variable that sets BaseURL, for hints
	Prepare        llm.Prepare   // signs each attempt, see llm.Caller
	CacheTTL       string        // "" or "5m", or "1h"
}

// Provider makes the models of one region. It is safe for concurrent use.
type Provider struct {
	conf   Config
	host   string // owner of opaque data, see llm.HostID
	base   string
	header http.Header
	caller llm.Caller
}

// New makes a provider. An invalid base URL is reported by the first request.
func New(c Config) *Provider {
	c.Name = cmp.Or(c.Name, "bedrock")
	base := strings.TrimRight(strings.TrimSpace(c.BaseURL), "/")
	p := &Provider{conf: c, base: base, host: llm.HostID(c.Name, base), header: http.Header{}}
	p.header.Set("Content-Type", "application/json")
	p.header.Set("Accept", "application/vnd.amazon.eventstream, application/json")
	for k, v := range c.Headers {
		p.header.Set(k, v)
	}
	p.caller = llm.Caller{
		Provider: c.Name, HTTP: c.HTTP, Clock: c.Clock, StallTimeout: c.StallTimeout, HeaderTimeout: c.HeaderTimeout,
		ContentTimeout: c.ContentTimeout,
		Prepare:        c.Prepare,
		KeyVar:         cmp.Or(c.KeyVar, "AWS_BEARER_TOKEN_BEDROCK"), URLVar: cmp.Or(c.URLVar, "ANTHROPIC_BEDROCK_BASE_URL"),
	}
	return p
}

// Name is the provider's name in errors.
func (p *Provider) Name() string { return p.conf.Name }

// Model returns the model with that id: one of Bedrock's, an inference profile or an ARN. The server is not asked: a
// wrong id fails at the first request.
func (p *Provider) Model(_ context.Context, id string) (llm.Model, error) {
	id = strings.TrimSpace(id)
	info := llm.Lookup(Section, plain(id))
	info.ID, info.Host = id, p.host
	if info.ID == "" {
		return nil, llm.NoModel(p.conf.Name)
	}
	return &model{p: p, info: info, family: familyOf(info.ID)}, nil
}

// plain returns the name of a model without the geography of an inference profile and without the beginning of an ARN.
func plain(id string) string {
	id = id[strings.LastIndexByte(id, '/')+1:]
	for _, g := range []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "global."} {
		id = strings.TrimPrefix(id, g)
	}
	return id
}

type model struct {
	p      *Provider
	info   llm.ModelInfo
	family family
	cache  llm.EncodeCache[encoded]
}

func (m *model) Info() llm.ModelInfo { return m.info }

// Described implements llm.Describable.
func (m *model) Described(info llm.ModelInfo) llm.Model {
	return &model{p: m.p, info: info, family: m.family}
}

// url is the address of a request. The signature is made of the escaped path, and Amazon's programs escape colons, too.
func (m *model) url(req *llm.Request) string {
	verb := "/converse-stream"
	if m.family.wholeWithTools && len(req.Tools) > 0 {
		verb = "/converse"
	}
	return m.p.base + "/model/" + strings.ReplaceAll(url.PathEscape(m.info.ID), ":", "%3A") + verb
}

// Stream sends req, with retries, and yields the reply.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		out := &llm.Outgoing{URL: m.url(req), Header: m.p.header, Body: m.body(req), Model: m.info.ID}
		m.p.conf.Retry.Run(ctx, m.p.conf.Clock, func(ctx context.Context, n int, yield func(llm.Delta) bool) error {
			return m.p.caller.Exchange(ctx, n, out, yield, func(reply *llm.Reply, yield func(llm.Delta) bool) llm.Decoder {
				return &decoder{
					reply: reply, host: m.info.Host, model: m.info.ID, req: req,
					ReplyParts: llm.ReplyParts{Yield: yield, IDs: llm.CallIDs{Request: req, Prefix: "tooluse"}},
				}
			})
		}, yield)
	}
}

// family describes the models of one maker. Source: Bedrock, "Supported models and features" of Converse.
type family struct {
	maker string
	// wholeWithTools: tools are refused in streams.
	wholeWithTools bool
	// apart: texts are refused beside results, so they go into the last result.
	apart bool
	// status: results may say that they are errors.
	status bool
	// marks: a cachePoint is taken after the system prompt; toolMarks: after tools and results, too.
	marks, toolMarks bool
	// forced: a choice of tools is taken.
	forced bool
	claude bool // thinking and effort are members of Anthropic's own
}

// families are searched for the maker in a model's id.
func families() []family {
	return []family{
		{maker: "anthropic.", status: true, marks: true, toolMarks: true, forced: true, claude: true},
		{maker: "claude", status: true, marks: true, toolMarks: true, forced: true, claude: true},
		{maker: "amazon.nova", status: true, marks: true, forced: true},
		{maker: "meta.", wholeWithTools: true, apart: true},
		{maker: "ai21.", wholeWithTools: true, apart: true},
		{maker: "mistral.", apart: true},
		{maker: "cohere.", apart: true},
	}
}

func familyOf(id string) family {
	id = strings.ToLower(id)
	for _, f := range families() {
		if strings.Contains(id, f.maker) {
			if f.claude && !llm.CachedOnBedrock(id) {
				f.marks, f.toolMarks = false, false
			}
			return f
		}
	}
	return family{}
}
