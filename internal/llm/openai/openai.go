// Package openai implements OpenAI's two APIs: Chat Completions, for every server that has it too (OpenRouter,
// DeepSeek, Groq, Mistral, Together, vLLM, llama.cpp, Ollama, LM Studio, company gateways), and Responses, for OpenAI
// itself and the few others.
//
// A [Provider] is one server; its models keep the promises of package llm. Differences between servers follow
// from the base URL's host where it is known, and can be set in [Traits].
//
// Chat Completions is loosely defined and its servers differ, so its decoder is strict in its output and tolerant in
// its input:
//
//   - A tool call is ready when its JSON object is complete and the next part has begun, or when the reply
//     is finished. An object that is complete while nothing follows yet is not enough: some servers send
//     "{}" first and the real arguments later.
//   - Pieces of a call are assigned by index, by a new id, or by a new name after a complete object, since
//     servers omit any of these. Calls without an id, or with a duplicate one, get a new one.
//   - The reply is complete with a finish_reason or with [DONE]; without either it is broken. The content
//     takes precedence over finish_reason: "stop" with calls is tool use.
//   - Arguments that are not a JSON object are kept in ToolCall.Raw and are never ready; PartDone ends such a
//     call. A call that the output limit cut is dropped from the message.
//
// Responses has items with a beginning and an end: a call is ready at the end of its item, and a reply is complete with
// response.completed or response.incomplete. The server keeps no conversation; reasoning is sent back encrypted. With
// Config.WebSocket the steps of a conversation go over a WebSocket (sockets.go: which one; socket_conn.go: one
// connection; socket_turn.go: one request).
//
// Sources: OpenAI's API reference (Chat Completions, Responses, streaming), DeepSeek's thinking mode guide,
// OpenRouter's streaming and reasoning pages, OpenAI's guide to the WebSocket mode; the form of its errors as OpenAI's
// Codex reads it.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// chatWire is its name in the settings, and the name of OpenAI's own host in the host table and the catalogue.
const chatWire = "openai"

// Config describes one server.
type Config struct {
	BaseURL        string            // with or without /v1; "" means OpenAI's own
	APIKey         string            // "" sends none, for servers without keys
	Organization   string            // OpenAI-Organization
	Project        string            // OpenAI-Project
	Headers        map[string]string // further headers; they override the default ones
	HTTP           *http.Client      // nil means the default of package llm
	Retry          llm.RetryPolicy
	Clock          llm.Clock     // nil means the machine's
	StallTimeout   time.Duration // as llm.Caller
	HeadTimeout    time.Duration // as llm.Caller.HeaderTimeout
	ContentTimeout time.Duration // as llm.Caller
	ProviderName   string        // in errors; "" means the host's name in the catalogue, else "openai"
	KeyVar         string        // the variable that sets APIKey, for hints; "" means OpenAI's
	URLVar         string        // the variable that sets BaseURL; "" means OpenAI's
	CacheKey       string        // prompt_cache_key; "" means one derived from the beginning of the conversation
	Traits         *Traits       // nil means those of the host
	Prepare        llm.Prepare   // see llm.Caller
	Responses      bool          // speak the Responses API instead of Chat Completions
	APIVersion     string        // Azure's api-version; models are then deployments in the address

	// WebSocket sends requests of the Responses API over WebSockets, on which a request has only the input that is new;
	// what they do not take goes over HTTP.
	WebSocket bool
	// WebSocketBreaks is the number of connections in a row that may break off before requests go over HTTP for some
	// minutes; 0: 3, negative: any number.
	WebSocketBreaks int
}

// Provider makes the models of one server. It is safe for concurrent use.
type Provider struct {
	name     string
	section  string // of the catalogue
	quirks   string // of the host in the table of quirks
	host     string // owner of opaque data, see llm.HostID
	base     string
	version  string // Azure's api-version
	header   http.Header
	traits   *Traits // instead of those of the table
	retry    llm.RetryPolicy
	caller   llm.Caller
	cacheKey string

	responses bool
	sockets   *sockets // nil: over HTTP
}

// New makes a provider. An invalid base URL is reported by the first request.
func New(c Config) *Provider {
	official, _ := hosts.Named(chatWire)
	base := cmp.Or(c.BaseURL, official.Base)
	host := llm.CatalogueHost(base)
	p := &Provider{
		name: c.ProviderName, base: base, header: c.header(), retry: c.Retry, cacheKey: c.CacheKey,
		responses: c.Responses, traits: c.Traits, version: c.APIVersion,
		caller: llm.Caller{
			KeyVar: cmp.Or(c.KeyVar, official.Variable("apiKey")), URLVar: cmp.Or(c.URLVar, official.Variable("apiBase")),
			HTTP: c.HTTP, Clock: c.Clock, StallTimeout: c.StallTimeout, HeaderTimeout: c.HeadTimeout,
			ContentTimeout: c.ContentTimeout,
			Prepare:        c.Prepare,
		},
	}
	if p.name == "" {
		p.name = cmp.Or(host, chatWire)
	}
	p.section = cmp.Or(host, chatWire)
	if c.WebSocket {
		p.sockets = newSockets(p.caller.Clock, c.WebSocketBreaks)
	}
	p.caller.Provider, p.host = p.name, llm.HostID(p.name, base)
	if p.quirks = host; isAzure(base) || p.name == azureName {
		p.quirks = azureName
	} else if h, ok := hosts.Named(p.name); ok && host == "" && h.Wire == chatWire && h.Name != chatWire {
		p.quirks = llm.CatalogueHost(h.Base) // behind an address of the user's
	}
	if p.name == copilotName {
		p.quirks = copilotName
	}
	return p
}

// Names of hosts that the catalogue does not know by their address.
const (
	azureName   = "azure"
	copilotName = "github-copilot"
)

func (c *Config) header() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream, application/json")
	if c.APIKey != "" {
		h.Set("Authorization", "Bearer "+c.APIKey)
	}
	if c.Organization != "" {
		h.Set("OpenAI-Organization", c.Organization)
	}
	if c.Project != "" {
		h.Set("OpenAI-Project", c.Project)
	}
	for k, v := range c.Headers {
		h.Set(k, v)
	}
	return h
}

// The paths of the APIs. That of Responses also follows the host in the owner of opaque data, since the two APIs of one
// host do not take each other's.
const (
	chatAPI      = "/chat/completions"
	responsesAPI = "/responses"
)

// Name is the provider's name in errors.
func (p *Provider) Name() string { return p.name }

// Model returns the model with that id. The server is not asked: a wrong id fails at the first request.
func (p *Provider) Model(_ context.Context, id string) (llm.Model, error) {
	info := llm.Lookup(p.section, id)
	info.Provider, info.Host = chatWire, p.host
	if info.ID == "" {
		return nil, llm.NoModel(p.name)
	}
	like := info.ID
	if p.quirks == azureName && !info.Known {
		like = p.fromDeployment(&info)
	}
	m := &model{p: p, info: info, like: like, traits: TraitsOf(p.quirks, like)}
	if p.traits != nil {
		m.traits = *p.traits
	}
	m.responses = p.responses || m.traits.Both && responsesOnly(like) && !strings.Contains(p.base, chatAPI)
	if m.responses {
		m.info.Host += responsesAPI
		m.traits.Files = true
	}
	m.endpoint = p.endpoint(m.info.ID, m.responses)
	return m, nil
}

type model struct {
	p         *Provider
	info      llm.ModelInfo
	like      string // the model whose rules it follows: its id, or the one in the name of a deployment
	traits    Traits
	responses bool
	endpoint  string
	enc       encoder
}

func (m *model) Info() llm.ModelInfo { return m.info }

// Described implements llm.Describable.
func (m *model) Described(info llm.ModelInfo) llm.Model {
	return &model{p: m.p, info: info, like: m.like, traits: m.traits, responses: m.responses, endpoint: m.endpoint}
}

// Stream sends req, with retries, and yields the reply.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		out := &llm.Outgoing{URL: m.endpoint, Header: m.p.header, Model: m.info.ID}
		var turn *socketTurn
		if m.responses {
			q := m.responsesParts(req)
			out.Body = q.body()
			if turn = m.socketTurn(req, q); turn != nil {
				out.Over = turn.send
			}
		} else {
			out.Body = m.body(req)
		}
		m.p.retry.Run(ctx, m.p.caller.Clock, func(ctx context.Context, n int, yield func(llm.Delta) bool) error {
			return m.p.caller.Exchange(ctx, n, out, yield, func(reply *llm.Reply, yield func(llm.Delta) bool) llm.Decoder {
				return turn.watch(m.decoder(reply, req, yield))
			})
		}, yield)
	}
}

// decoder returns the decoder of a reply in the model's API.
func (m *model) decoder(reply *llm.Reply, req *llm.Request, yield func(llm.Delta) bool) llm.Decoder {
	in := incoming{reply: reply, req: req, model: m.info.ID, assembly: assembly{
		yield: yield, host: m.info.Host,
		ids: llm.CallIDs{Request: req, Prefix: "call"},
	}}
	if m.responses {
		return &responseDecoder{incoming: in}
	}
	return &decoder{incoming: in, needsDone: m.traits.EndsWithDone}
}
