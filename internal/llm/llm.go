// Package llm defines requests to language models and their replies, independent of the provider.
//
// A conversation is a list of [Message] values; a message is a list of [Part] values (text, reasoning, media,
// tool calls, tool results). A [Model] turns a [Request] into a stream of [Delta] values that ends either
// with [Done], which carries the whole reply, or with an error, usually an [*Error], which says whether the
// same request may be retried and which parts of the reply were received completely.
//
// Promises of every provider (checked by llmtest/suite):
//
//   - Messages handed to Stream are never modified. After a message was sent once its parts must not be
//     changed by the caller either: providers cache the encoded form by the identity of Parts.
//   - A [ToolReady] is sent when the JSON of that call is complete, while the rest still streams, and
//     never for a call whose JSON was cut.
//   - Indexes of deltas are positions in Done.Message.Parts; they start at 0 and never go back.
//   - Done is sent only after the provider's own end marker.
//   - After a ToolReady the request is not retried.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Role is the author of a message.
type Role string

// The two roles; the system prompt is in Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// StopReason says why a reply ended. Values are Anthropic's names; other wires are mapped to them.
type StopReason string

// The reasons a provider may give, and two that lathe sets: StopBroken on a reply kept from a broken stream,
// and StopInterrupted on one the user interrupted.
const (
	StopEndTurn       StopReason = "end_turn"
	StopToolUse       StopReason = "tool_use"
	StopMaxTokens     StopReason = "max_tokens"
	StopSequence      StopReason = "stop_sequence"
	StopPauseTurn     StopReason = "pause_turn"
	StopRefusal       StopReason = "refusal"
	StopContextWindow StopReason = "model_context_window_exceeded"
	StopBroken        StopReason = "broken"
	StopInterrupted   StopReason = "interrupted"
)

// Message is one message of a conversation. It is immutable once appended to a transcript.
type Message struct {
	ID    string // the provider's id of a reply ("msg_..."), or that of a prompt, which is stored and never sent
	Role  Role
	Parts []Part
	Model string // the model that wrote an assistant message; reasoning is bound to it
	Usage *Usage // of an assistant message, if the provider reported it
	Stop  StopReason
	From  string // of a prompt: the person who sent it, where that is not the user of the machine; never sent

	Sources []Source // the pages that the provider's own tools found; not stored
}

// Source is a page on the web.
type Source struct{ URL, Title string }

// Part is one piece of a message: Text, Reasoning, Media, ToolCall, ToolResult or Opaque.
type Part interface{ part() }

// Text is plain text.
type Text struct {
	Origin Origin  `json:"origin,omitempty"` // stored, never sent; before the text, since lists read beginnings
	Text   string  `json:"text"`
	Opaque *Opaque `json:"opaque,omitempty"` // data that must go back to the provider with the text, or nil
}

// Origin says who put a text into a user message.
type Origin string

// The origins. A text without origin is the author's own; the others are added by lathe.
const (
	OriginAuthor   Origin = ""
	OriginContext  Origin = "context"  // the environment: folder, date, git
	OriginMemory   Origin = "memory"   // CLAUDE.md, AGENTS.md and the like
	OriginReminder Origin = "reminder" // changes since the last message, instructions to continue
	OriginFile     Origin = "file"     // a file that the prompt names as @path
	OriginCommand  Origin = "command"  // a command that the user ran, and its output
	OriginHook     Origin = "hook"     // the output of a hook
	OriginSkill    Origin = "skill"    // the body of a skill
	OriginSummary  Origin = "summary"  // the summary of a compaction
)

// Reasoning is a model's thinking. Signature, Data and Opaque are sent back unchanged, and only to the host
// that made them. A redacted block has Data and no Text.
type Reasoning struct {
	Text      string  `json:"text"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
	Provider  string  `json:"provider,omitempty"` // the host (see HostID) that made Signature and Data
	Opaque    *Opaque `json:"opaque,omitempty"`
}

// Media is an image (or another file) by value.
type Media struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
	Name string `json:"name,omitempty"`
}

// ToolCall asks for one run of a tool. Input is the model's JSON object. If that was invalid JSON, Input is
// {} and Raw holds the received text: such a call is answered, but never run.
type ToolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Raw   string          `json:"raw,omitempty"`
	// Repeats is another call of the reply, to which the server gave the same id; "": there is none. It is not kept.
	Repeats string `json:"-"`

	Opaque *Opaque `json:"opaque,omitempty"` // data that must go back to the provider with the call, or nil
}

// ToolResult answers the call with the same id. Parts are Text and Media only.
type ToolResult struct {
	CallID  string
	Name    string
	Parts   []Part
	IsError bool
}

// Opaque is data of one host that lathe does not interpret. It is sent back to that host byte for byte, and
// to no other (ModelInfo.Owns). It is a part of its own (a block of a server-side tool, for example), or
// belongs to another part (such as a signature of its thought).
type Opaque struct {
	Provider string          `json:"provider"` // the host, see HostID
	JSON     json.RawMessage `json:"json"`
}

// HostID identifies a host as the owner of opaque data, by the provider's configured name and the host (with
// port) of its address. Two gateways that speak the same wire are two hosts.
func HostID(name, baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return name
	}
	return name + "@" + strings.ToLower(u.Host)
}

func (Text) part()       {}
func (Reasoning) part()  {}
func (Media) part()      {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Opaque) part()     {}

// Usage counts the tokens of one reply. Input excludes cache reads and writes: the size of the prompt is
// Input+CacheRead+CacheWrite.
type Usage struct {
	Input        int  `json:"input"`
	Output       int  `json:"output"`
	CacheRead    int  `json:"cache_read,omitempty"`
	CacheWrite   int  `json:"cache_write,omitempty"`    // all cache writes, CacheWrite1h among them
	CacheWrite1h int  `json:"cache_write_1h,omitempty"` // the part written for one hour
	Reasoning    int  `json:"reasoning,omitempty"`      // the part of Output spent on reasoning, if reported
	Estimated    bool `json:"estimated,omitempty"`      // not reported by the provider; lathe counted characters

	// the charge the provider reports, or nil; it takes precedence over the price list
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Prompt returns the tokens of the prompt.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sum of two usages. The sum has a reported cost only if both have one: if one is missing,
// the total cannot be derived from the tokens. A usage without tokens and cost is ignored.
func (u Usage) Add(v Usage) Usage {
	switch (Usage{}) {
	case u:
		return v
	case v:
		return u
	}
	var cost *float64
	if u.CostUSD != nil && v.CostUSD != nil {
		sum := *u.CostUSD + *v.CostUSD
		cost = &sum
	}
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, Reasoning: u.Reasoning + v.Reasoning,
		Estimated: u.Estimated || v.Estimated, CostUSD: cost,
	}
}

// ToolSpec describes a tool to a model. Schema is a JSON Schema object, sent byte for byte.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage

	// Closed: an input may have no other properties than the schema's. The schema that is sent does not say so, which
	// would cost every request 29 bytes a tool.
	Closed bool

	// Deferred: the provider keeps the tool from the model until a result refers to it (ToolReference). Only for
	// models whose ModelInfo has DeferredTools, after the tools that are not deferred.
	Deferred bool

	// Server is the definition of a tool that the provider runs itself, in the form of its wire, sent byte for byte in
	// place of the rest. Its calls and results stay in the reply; the pages that it found are Message.Sources.
	Server json.RawMessage

	// Unlisted: once deferred, the tool is announced by its name alone, and a request leaves it out even where its model
	// takes deferred tools, so that the tools that few conversations use cost a request nothing.
	Unlisted bool
}

// Effort is how hard a model should think: "", "off", "low", "medium", "high", "xhigh", "max".
// A model that lacks a level gets the highest one below it.
type Effort string

// Request is one call of a model. System, Tools and the beginning of Messages stay the same from step to
// step, byte for byte, to keep the provider's prompt cache valid.
type Request struct {
	System    []Part // Text parts: the static system prompt
	Messages  []Message
	Tools     []ToolSpec
	MaxTokens int    // output limit; 0 means the model's own or 32,000, whichever is lower
	Effort    Effort // "" is the model's default
	// Temperature is left out for a model that does not take one: one that reasons. Nil: the model's default.
	Temperature *float64
	ToolChoice  string // "" or "auto", "none", "any", or a tool's name
	Stop        []string
	Spent       int // tokens of the running task that are no longer in Messages, for a provider that counts down a budget
}

// Model is one model of one provider, ready to be called. It is safe for concurrent use.
type Model interface {
	Info() ModelInfo
	// Stream sends req and yields deltas as they arrive. The sequence ends after Done or after the
	// first error. Breaking out of the loop cancels the request.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// Describable is a Model whose requests follow a description of the user's: its limits, thinking and images.
type Describable interface {
	Described(info ModelInfo) Model
}

// Provider makes models by id.
type Provider interface {
	Name() string
	Model(ctx context.Context, id string) (Model, error)
}

// Embedder is a Provider with models that turn texts into vectors. Texts of near meaning have vectors in near
// directions.
type Embedder interface {
	// Embed returns a vector for each text, in order and all of one length, in a single attempt. model is the host's id.
	Embed(ctx context.Context, model string, texts []string) ([][]float32, Usage, error)
}

// Delta is one step of a streamed reply.
type Delta interface{ delta() }

// Sent is yielded when a request is sent, once per attempt.
type Sent struct {
	Attempt int // from 1
	URL     string
	Body    func() []byte // the exact body, with Outgoing.Over the one that HTTP would carry; built only when called
}

// Started is yielded when a reply begins.
type Started struct {
	ID    string
	Model string // the provider's name for it
	Usage Usage  // as far as known
}

// TextDelta is more text of the part at Index.
type TextDelta struct {
	Index int
	Text  string
}

// ReasoningDelta is more reasoning of the part at Index.
type ReasoningDelta struct {
	Index     int
	Text      string
	Signature string // when it arrives, with an empty Text
}

// ToolDelta is more of a call's JSON. The first one of a call has ID and Name and may have no JSON.
type ToolDelta struct {
	Index    int
	ID, Name string
	JSON     string
}

// PartDone is yielded when a part other than a tool call is complete.
type PartDone struct {
	Index int
	Part  Part
}

// ToolReady is yielded when a call is complete and may run.
type ToolReady struct {
	Index int
	Call  ToolCall
}

// Retrying is yielded before a wait: everything yielded since the last Sent is void.
type Retrying struct {
	Attempt int // the attempt that failed, from 1
	Max     int // number of retries
	Delay   time.Duration
	Err     error
}

// Done ends a stream. Message is the whole reply.
type Done struct{ Message Message }

func (Sent) delta()           {}
func (Started) delta()        {}
func (TextDelta) delta()      {}
func (ReasoningDelta) delta() {}
func (ToolDelta) delta()      {}
func (PartDone) delta()       {}
func (ToolReady) delta()      {}
func (Retrying) delta()       {}
func (Done) delta()           {}

// ThinkingMode is the form of a model's thinking parameter.
type ThinkingMode string

// None: no parameter. Budget: a number of tokens. Adaptive: an effort, and the model decides itself.
const (
	ThinkingNone     ThinkingMode = ""
	ThinkingBudget   ThinkingMode = "budget"
	ThinkingAdaptive ThinkingMode = "adaptive"
)

// Price is US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`

	Long LongPrice `json:"long,omitzero"` // zero: a long prompt costs the same
}

// LongPrice is the price of a whole request whose prompt has more tokens than Above, in dollars per million tokens.
type LongPrice struct {
	Above      int     `json:"above"`
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
}

// Cost returns the price of a usage in US dollars: the cost the provider reported, else the tokens at list
// price. One-hour cache writes cost 1.6 times the five-minute ones (Anthropic: 2x against 1.25x of the input
// price).
func (p Price) Cost(u Usage) float64 {
	if u.CostUSD != nil {
		return *u.CostUSD
	}
	if l := p.Long; l.Above > 0 && u.Prompt() > l.Above {
		p = Price{Input: l.Input, Output: l.Output, CacheRead: l.CacheRead, CacheWrite: l.CacheWrite}
	}
	five := float64(u.CacheWrite - u.CacheWrite1h)
	sum := float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + five*p.CacheWrite + float64(u.CacheWrite1h)*p.CacheWrite*1.6
	return sum / 1e6
}

// ModelInfo is a catalogue entry. Unknown models get safe guesses and Known false.
type ModelInfo struct {
	ID            string
	Provider      string // the wire's name: "anthropic", "openai"
	Host          string // the host that answers, see HostID; "" for a catalogue entry
	Name          string
	Known         bool
	ContextWindow int // tokens
	MaxOutput     int // tokens; 0: not known, the host sets it
	Thinking      ThinkingMode
	Efforts       []Effort // levels it takes, lowest first; empty: none
	Images        bool
	DeferredTools bool // it takes tools that are deferred, and references to them in results
	Price         Price
	Unpriced      bool // Price is not known: neither the catalogue nor the settings have it
}

// CostKnown reports whether the cost of a reply will be known: by its price, from a host that reports it (OpenRouter),
// or because the model runs on this machine.
func (m ModelInfo) CostKnown() bool {
	_, address, _ := strings.Cut(m.Host, "@")
	u := &url.URL{Host: strings.TrimSuffix(address, "/responses")}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() || host == "localhost" {
		return true
	}
	return !m.Unpriced || CatalogueHost("https://"+u.Host) == "openrouter"
}

// Owns reports whether this model may get opaque data from a host (see HostID): only the host that made it does.
func (m ModelInfo) Owns(host string) bool { return host == m.Host }
