package provider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/cloud"
	"github.com/lathe-dev/lathe/internal/llm/google"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

// Small is the model name that selects the model for small work beside the conversation.
const Small = "small"

// Model returns a model by id; "" is the configured one, else the provider's default.
func (all *Set) Model(ctx context.Context, id string) (llm.Model, error) {
	switch id {
	case "":
		id = all.o.Settings().Model
	case Small:
		return all.SmallModel(ctx)
	}
	if strings.HasPrefix(id, scriptedPrefix) {
		return all.scripted(ctx, id)
	}
	name, model, err := all.Choose(id)
	if err != nil {
		return nil, err
	}
	set := all.Provider(name)
	if model, err = all.resolve(name, model, set); err != nil {
		return nil, err
	}
	m, err := all.connected(ctx, name, model, set)
	if err != nil {
		return nil, err
	}
	if own, ok := set.Models[model]; ok {
		m = withDescription(m, describe(m.Info(), own))
	}
	return m, nil
}

// resolve returns the model id to send: the host's default if none is given, and the model behind an alias.
// The aliases of Claude's lines are Anthropic's own; on other hosts they may be names of other models.
func (all *Set) resolve(name, model string, set config.Provider) (string, error) {
	h, _ := hostOf(name)
	if speaksClaude(wireOf(name, set)) {
		aliases := all.o.Settings().ModelAliases
		return llm.Resolve(cmp.Or(model, llm.Standard(cmp.Or(h.Model, llm.DefaultModel), aliases)), aliases), nil
	}
	if model == "" && ownHost(name, set) {
		model = h.Model
	}
	if model == "" {
		return "", fmt.Errorf("no model is chosen for %s; give one with --model or LATHE_MODEL", name)
	}
	section := llm.CatalogueHost(baseOf(name, set))
	if _, own := set.Models[model]; own || section == "" || llm.Resolve(model, nil) == model {
		return model, nil
	}
	if newest := llm.Newest(section, strings.ToLower(model)); newest != "" {
		return newest, nil
	}
	return "", noAlias(name, model, section)
}

// noAlias is the error for an alias of Anthropic's models at a host whose models are known.
func noAlias(name, alias, section string) error {
	var near []string
	for _, m := range llm.Known(section) {
		if base, _ := llm.CutLong(alias); strings.Contains(strings.ToLower(m.ID), strings.ToLower(base)) {
			near = append(near, name+"/"+m.ID)
		}
	}
	hint := "give the whole id of a model"
	if len(near) > 0 {
		hint = "near it: " + strings.Join(near[:min(3, len(near))], ", ")
	}
	return &llm.Error{
		Kind: llm.KindNotFound, Provider: name, Hint: hint,
		Message: fmt.Sprintf("%q is a short name for one of Anthropic's models, which %s does not know", alias, name),
	}
}

// ModelOrSmall returns the model with that name; "" is the model for small work.
func (all *Set) ModelOrSmall(ctx context.Context, name string) (llm.Model, error) {
	if name == "" {
		return all.SmallModel(ctx)
	}
	return all.Model(ctx, name)
}

// SmallModel returns the model for small work beside the conversation (titles, summaries of pages): the
// configured one, else the small one of the conversation's host, else the conversation's own.
func (all *Set) SmallModel(ctx context.Context) (llm.Model, error) {
	id := all.o.Settings().SmallModel
	if chosen := all.small.Load(); chosen != nil {
		id = *chosen
	}
	if id != "" && id != Small {
		return all.Model(ctx, id)
	}
	name, model, err := all.Choose(all.o.Settings().Model)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(model, scriptedPrefix) {
		return all.scripted(ctx, model)
	}
	set := all.Provider(name)
	h, known := hostOf(name)
	if !known && wireOf(name, set) == anthropicWire && set.APIBase == "" {
		h.Small = llm.DefaultSmallModel
	}
	if haiku := all.o.Settings().ModelAliases["haiku"]; haiku != "" && speaksClaude(wireOf(name, set)) {
		return all.connected(ctx, name, haiku, set) // a gateway names its models by their lines
	}
	if h.Small == "" || !ownHost(name, set) || known && set.Type != "" && set.Type != h.Wire && set.Type != h.Own {
		return all.Model(ctx, "") // other servers' models are not known
	}
	return all.connected(ctx, name, h.Small, set)
}

// connected returns a model of a provider.
func (all *Set) connected(ctx context.Context, name, model string, set config.Provider) (llm.Model, error) {
	p, err := all.connect(name, set)
	if err != nil {
		return nil, err
	}
	m, err := p.Model(ctx, model)
	if r := all.replaying(); r != nil && err == nil {
		m = r.Wrap(m)
	}
	return m, err
}

// connect makes each provider once.
func (all *Set) connect(name string, set config.Provider) (llm.Provider, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if p, ok := all.providers[name]; ok {
		return p, nil
	}
	p, err := all.newProvider(name, set)
	if err != nil {
		return nil, err
	}
	if all.providers == nil {
		all.providers = map[string]llm.Provider{}
	}
	all.providers[name] = p
	return p, nil
}

// openHTTP makes the connections that all providers share; all.mu is held.
func (all *Set) openHTTP() error {
	if all.http != nil {
		return nil
	}
	n := all.o.Settings().Network
	c, err := llm.HTTPClient(llm.HTTPOptions{Proxy: n.Proxy, NoProxy: strings.Join(n.NoProxy, ","), CACerts: n.CACerts})
	if err != nil {
		return err
	}
	all.http = c
	return nil
}

// client returns the connections that all providers share.
func (all *Set) client() (*http.Client, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	err := all.openHTTP()
	return all.http, err
}

// newProvider makes a provider; all.mu is held.
func (all *Set) newProvider(name string, set config.Provider) (llm.Provider, error) {
	if err := all.openHTTP(); err != nil {
		return nil, err
	}
	base := baseOf(name, set)
	if base == "" && !speaksClaude(wireOf(name, set)) {
		return nil, fmt.Errorf("the provider %s has an address of your own: set %s in your settings", name,
			place(name, "apiBase"))
	}
	set.APIBase = base
	if all.replay == nil {
		llm.Warm(all.http, cmp.Or(base, "https:"))
	}
	retries := all.o.Settings().Stream.MaxRetries
	if all.o.Retries != nil {
		retries = all.o.Retries()
	}
	c := connection{
		name: name, set: set, http: all.http, version: all.o.Version, thinking: all.o.Settings().MaxThinkingTokens,
		retry: llm.RetryPolicy{
			Max: retries, Base: millis(all.o.Settings().Stream.RetryBaseMs),
			MaxWait: millis(all.o.Settings().Stream.MaxRetryWaitMs),
		},
		stall: millis(all.o.Settings().Stream.StallTimeoutMs), header: millis(all.o.Settings().Stream.HeaderTimeoutMs),
		content: millis(all.o.Settings().Stream.ContentTimeoutMs), cacheTTL: all.o.Settings().CacheLifetime,
		task:  all.o.TaskBudget,
		cloud: cloud.Options{Getenv: all.getenv, HTTP: all.http, Run: all.runCommand},
	}
	if c.retry.Max == 0 {
		c.retry.Max = -1 // the policy's value for none
	}
	wire := wireOf(name, set)
	switch {
	case all.replay != nil:
		c.set.APIKey, c.set.AuthToken, c.prepare = "replay", "", sendsNothing
	case all.helped(name, set):
		c.prepare = all.prepare(wire)
	case all.stored(name, set):
		c.prepare = all.preparesStored(name, wire, c.cloud)
	}
	open, ok := wires[wire]
	if !ok {
		return nil, fmt.Errorf("provider %s: there is no wire %q; the wires are %s", name, wire,
			strings.Join(slices.Sorted(maps.Keys(wires)), ", "))
	}
	return open(c)
}

// connection holds the settings of one provider for its wire.
type connection struct {
	name                   string
	set                    config.Provider // with the base URL
	http                   *http.Client
	retry                  llm.RetryPolicy
	stall, header, content time.Duration
	version                string
	thinking               *int
	cacheTTL               string
	task                   int
	prepare                llm.Prepare
	cloud                  cloud.Options

	responses bool // OpenAI's newer API
}

// Names of wires in the settings and in the table of hosts.
const (
	anthropicWire = "anthropic" // Anthropic's Messages
	chatWire      = "openai"    // OpenAI's Chat Completions
	responsesWire = "responses" // OpenAI's Responses
	googleWire    = "google"    // Google's Gemini
	bedrockWire   = "bedrock"   // Amazon Bedrock: Claude by InvokeModel, others by Converse
	converseWire  = "converse"  // Amazon Bedrock: all models by Converse
	vertexWire    = "vertex"    // Claude and Gemini on Google Vertex AI
)

// wires are the APIs that lathe speaks.
var wires = map[string]func(connection) (llm.Provider, error){
	anthropicWire: openAnthropic,
	chatWire:      openOpenAI,
	responsesWire: func(c connection) (llm.Provider, error) { c.responses = true; return openOpenAI(c) },
	googleWire:    openGoogle,
	bedrockWire:   openBedrock,
	converseWire:  openBedrock,
	vertexWire:    openVertex,
}

// speaksClaude reports whether a wire has Anthropic's models, and their short names.
func speaksClaude(wire string) bool {
	return wire == anthropicWire || wire == bedrockWire || wire == converseWire || wire == vertexWire
}

func openAnthropic(c connection) (llm.Provider, error) {
	return anthropic.New(anthropic.Config{
		Name: c.name, BaseURL: c.set.APIBase, APIKey: c.set.APIKey, AuthToken: c.set.AuthToken, Headers: c.set.Headers,
		Betas: c.set.Betas,
		HTTP:  c.http, Retry: c.retry, ThinkingTokens: c.thinking, Version: c.version,
		StallTimeout: c.stall, HeaderTimeout: c.header, ContentTimeout: c.content,
		Prepare: c.prepare,
		KeyVar:  place(c.name, "apiKey"), URLVar: place(c.name, "apiBase"), CacheTTL: c.cacheTTL, TaskBudget: c.task,
	})
}

func openGoogle(c connection) (llm.Provider, error) {
	if c.task > 0 {
		return nil, noTaskBudget(c.name)
	}
	return google.New(google.Config{
		Name: c.name, BaseURL: c.set.APIBase, APIKey: c.set.APIKey, Headers: c.set.Headers, HTTP: c.http, Retry: c.retry,
		StallTimeout: c.stall, HeaderTimeout: c.header, ContentTimeout: c.content,
		KeyVar: place(c.name, "apiKey"), URLVar: place(c.name, "apiBase"), Prepare: c.prepare,
	}), nil
}

func noTaskBudget(name string) error {
	return fmt.Errorf("--task-budget: %s has no task budgets, only Anthropic's API; use --max-turns or --max-budget-usd",
		name)
}

func openOpenAI(c connection) (llm.Provider, error) {
	if c.task > 0 {
		return nil, noTaskBudget(c.name)
	}
	headers := maps.Clone(c.set.Headers)
	if c.name == azureHost && c.set.APIKey == "" && c.prepare == nil {
		c.prepare = cloud.Entra(c.cloud)
	}
	if h, _ := hostOf(c.name); h.KeyHeader != "" && c.set.APIKey != "" {
		if headers == nil {
			headers = map[string]string{}
		}
		headers[h.KeyHeader] = c.set.APIKey
	}
	return openai.New(openai.Config{
		ProviderName: c.name, BaseURL: c.set.APIBase, APIKey: c.set.APIKey, Headers: headers, Prepare: c.prepare,
		HTTP: c.http, Retry: c.retry, StallTimeout: c.stall, HeadTimeout: c.header, ContentTimeout: c.content,
		KeyVar:    place(c.name, "apiKey"),
		URLVar:    place(c.name, "apiBase"),
		Responses: c.responses, APIVersion: c.set.APIVersion, WebSocket: c.set.WebSocket,
	}), nil
}

// withDescription returns a model that the user's settings describe better than the catalogue.
func withDescription(m llm.Model, info llm.ModelInfo) llm.Model {
	if d, ok := m.(llm.Describable); ok {
		return d.Described(info)
	}
	return described{m, info}
}

// described is a model of a wire that takes no description.
type described struct {
	llm.Model
	info llm.ModelInfo
}

func (d described) Info() llm.ModelInfo { return d.info }

func describe(info llm.ModelInfo, own config.ModelInfo) llm.ModelInfo {
	if own.Name != "" {
		info.Name = own.Name
	}
	// a guess does not become a fact: the limit is left to the server, which refuses images if it takes none
	if !info.Known {
		info.MaxOutput, info.Images = 0, true
	}
	if own.ContextWindow > 0 {
		info.ContextWindow = own.ContextWindow
	}
	if own.MaxOutputTokens > 0 {
		info.MaxOutput = own.MaxOutputTokens
	}
	if own.Images != nil {
		info.Images = *own.Images
	}
	if own.Thinking != nil {
		info.Thinking = llm.ThinkingMode(*own.Thinking)
		switch {
		case info.Thinking == llm.ThinkingNone:
			info.Efforts = nil
		case len(info.Efforts) == 0:
			info.Efforts = []llm.Effort{"low", "medium", "high"} // those that every API with an effort has
		}
	}
	for from, to := range map[*float64]*float64{
		own.InputPrice: &info.Price.Input, own.OutputPrice: &info.Price.Output,
		own.CacheReadPrice: &info.Price.CacheRead, own.CacheWritePrice: &info.Price.CacheWrite,
	} {
		if from != nil {
			*to = *from
		}
	}
	info.Known = true
	info.Unpriced = info.Unpriced && own.InputPrice == nil && own.OutputPrice == nil
	return info
}

// Endpoint returns the name and the base URL of the current provider; both are empty when there is none.
func (all *Set) Endpoint() (name, base string) {
	name, _, err := all.Choose(all.o.Settings().Model)
	if err != nil {
		return "", ""
	}
	return name, baseOf(name, all.Provider(name))
}

// KeySource says where the key of the current provider comes from, for people.
func (all *Set) KeySource() string {
	name, _, err := all.Choose(all.o.Settings().Model)
	switch p := all.Provider(name); {
	case err != nil:
		return "none"
	case p.APIKey != "":
		return place(name, "apiKey")
	case p.AuthToken != "":
		return place(name, "authToken")
	case all.helped(name, p):
		return "apiKeyHelper"
	case all.stored(name, p):
		return "keyring"
	}
	return "none"
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
