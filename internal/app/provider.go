package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

// ErrNoKey says that there is nothing to call a model with, and the ways to get going.
var ErrNoKey = errors.New(`no model is set up yet. Three ways to get going:
  lathe demo                          watch lathe work, with scripted replies and no key
  export ANTHROPIC_API_KEY=sk-ant-... use Claude (or ANTHROPIC_BASE_URL with any server that speaks its API)
  export OPENAI_API_KEY=sk-...        use OpenAI, or OPENAI_BASE_URL=http://localhost:11434/v1 for a local server`)

// wireOf names the API that a provider of the settings speaks.
func wireOf(name string, p config.Provider) string {
	if p.Type != "" {
		return p.Type
	}
	if name == "openai" {
		return "openai"
	}
	return "anthropic"
}

// choose finds the provider for a model id, which may begin with a provider's name and a slash.
func (i *Instance) choose(id string) (provider, model string, err error) {
	s := i.settings()
	if name, rest, ok := strings.Cut(id, "/"); ok {
		if _, known := s.Providers[name]; known && rest != "" {
			return name, rest, nil
		}
	}
	if s.Provider != "" {
		return s.Provider, id, i.ready(s.Provider)
	}
	if s.APIBase != "" {
		return i.baseOwner(), id, nil // whatever the model is called: that server was asked for
	}
	anth, oai := i.usable("anthropic"), i.usable("openai")
	claude := strings.Contains(strings.ToLower(id), "claude") || llm.Resolve(id, s.ModelAliases) != id
	switch {
	case oai && !claude && (id != "" || !anth):
		return "openai", id, nil
	case oai && !anth:
		return "openai", id, nil
	case anth:
		return "anthropic", id, nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		if i.usable(name) {
			return name, id, nil
		}
	}
	return "", "", ErrNoKey
}

// ready says what a provider that was named lacks, if anything.
func (i *Instance) ready(name string) error {
	known := i.settings().Providers
	if _, ok := known[name]; !ok && name != "anthropic" && name != "openai" {
		names := slices.Sorted(maps.Keys(known))
		names = slices.Compact(slices.Sorted(slices.Values(append(names, "anthropic", "openai"))))
		return fmt.Errorf("there is no provider %q; the providers are %s, and others can be added under providers in the settings",
			name, strings.Join(names, ", "))
	}
	if !i.usable(name) && i.provider(name).APIBase == "" {
		return ErrNoKey
	}
	return nil
}

// usable reports whether a provider can be called: it has a key, or a server of its own that may need none.
func (i *Instance) usable(name string) bool {
	p := i.provider(name)
	own := p.APIBase != "" && !isHost(p.APIBase, "api.openai.com") && !isHost(p.APIBase, "api.anthropic.com")
	return p.APIKey != "" || p.AuthToken != "" || i.helped(name, p) || own || keyInHeaders(p.Headers)
}

// keyInHeaders reports whether headers that the user set carry a key.
func keyInHeaders(headers map[string]string) bool {
	for name, value := range headers {
		switch strings.ToLower(name) {
		case "authorization", "x-api-key", "api-key":
			return value != ""
		}
	}
	return false
}

// provider is a provider's settings with --api-base applied.
func (i *Instance) provider(name string) config.Provider {
	p := i.settings().Providers[name]
	if i.settings().APIBase != "" && (name == i.settings().Provider || (i.settings().Provider == "" && name == i.baseOwner())) {
		p.APIBase = i.settings().APIBase
	}
	return p
}

// baseOwner is the provider that a bare --api-base speaks of: the one that has a key, Chat Completions
// when none or both have, since that is what servers with an address of their own speak.
func (i *Instance) baseOwner() string {
	a, o := i.settings().Providers["anthropic"], i.settings().Providers["openai"]
	if (a.APIKey != "" || a.AuthToken != "" || i.helped("anthropic", a)) && o.APIKey == "" {
		return "anthropic"
	}
	return "openai"
}

func isHost(base, host string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.EqualFold(u.Hostname(), host)
}

// Model makes a model by id; "" is the configured one, else the provider's default.
func (i *Instance) Model(ctx context.Context, id string) (llm.Model, error) {
	if id == "" {
		id = i.settings().Model
	}
	name, model, err := i.choose(id)
	if err != nil {
		return nil, err
	}
	set := i.provider(name)
	if wireOf(name, set) == "anthropic" {
		if model == "" {
			model = llm.DefaultModel
		}
		model = llm.Resolve(model, i.settings().ModelAliases)
	}
	if model == "" {
		return nil, fmt.Errorf("no model is chosen for %s; give one with --model or LATHE_MODEL", name)
	}
	m, err := i.connected(ctx, name, model, set)
	if err != nil {
		return nil, err
	}
	if own, ok := set.Models[model]; ok {
		m = described{m, describe(m.Info(), own)}
	}
	return m, nil
}

// SmallModel makes the model for small work beside the conversation (titles, summaries of pages): the
// configured one, else the newest Haiku where the conversation's model speaks Anthropic's API, else the
// conversation's own.
func (i *Instance) SmallModel(ctx context.Context) (llm.Model, error) {
	id := i.settings().SmallModel
	if chosen := i.small.Load(); chosen != nil {
		id = *chosen
	}
	if id != "" {
		return i.Model(ctx, id)
	}
	name, _, err := i.choose(i.settings().Model)
	if err != nil {
		return nil, err
	}
	p := i.provider(name)
	if wireOf(name, p) != "anthropic" || (p.APIBase != "" && !isHost(p.APIBase, "api.anthropic.com")) {
		return i.Model(ctx, "") // what other servers have is not known
	}
	if _, ok := i.settings().Providers[name]; ok {
		return i.Model(ctx, name+"/"+llm.DefaultSmallModel)
	}
	return i.Model(ctx, llm.DefaultSmallModel)
}

// connected is a model of a provider, with the key that its settings name.
func (i *Instance) connected(ctx context.Context, name, model string, set config.Provider) (llm.Model, error) {
	p, err := i.connect(name, set)
	if err != nil {
		return nil, err
	}
	m, err := p.Model(ctx, model)
	if err != nil || !i.helped(name, set) {
		return m, err
	}
	return &helpedModel{Model: m, key: i.helperKey, connect: func(key string) (llm.Model, error) {
		with := set
		with.AuthToken, with.Headers = key, maps.Clone(set.Headers)
		if wireOf(name, set) == "anthropic" { // which of the two a gateway looks at is its own affair
			if with.Headers == nil {
				with.Headers = map[string]string{}
			}
			with.Headers["X-Api-Key"] = key
		} else {
			with.APIKey = key
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		p, err := i.newProvider(name, with)
		if err != nil {
			return nil, err
		}
		return p.Model(context.WithoutCancel(ctx), model)
	}}, nil
}

// connect makes a provider once.
func (i *Instance) connect(name string, set config.Provider) (llm.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p, ok := i.providers[name]; ok {
		return p, nil
	}
	p, err := i.newProvider(name, set)
	if err != nil {
		return nil, err
	}
	if i.providers == nil {
		i.providers = map[string]llm.Provider{}
	}
	i.providers[name] = p
	return p, nil
}

// newProvider makes a provider; i.mu is held.
func (i *Instance) newProvider(name string, set config.Provider) (llm.Provider, error) {
	if i.http == nil {
		c, err := llm.HTTPClient(llm.HTTPOptions{
			Proxy: i.settings().Network.Proxy, NoProxy: strings.Join(i.settings().Network.NoProxy, ","), CACerts: i.settings().Network.CACerts,
		})
		if err != nil {
			return nil, err
		}
		i.http = c
	}
	if set.APIBase == "" {
		llm.Warm(i.http, "https:")
	} else {
		llm.Warm(i.http, set.APIBase)
	}
	retry := llm.RetryPolicy{Max: i.settings().Stream.MaxRetries, Base: ms(i.settings().Stream.RetryBaseMs), MaxWait: ms(i.settings().Stream.MaxRetryWaitMs)}
	if retry.Max == 0 {
		retry.Max = -1 // the policy's word for none
	}
	stall := ms(i.settings().Stream.StallTimeoutMs)
	switch wire := wireOf(name, set); wire {
	case "anthropic":
		return anthropic.New(anthropic.Config{
			BaseURL: set.APIBase, APIKey: set.APIKey, AuthToken: set.AuthToken, Headers: set.Headers, Betas: set.Betas,
			HTTP: i.http, Retry: retry, StallTimeout: stall, ThinkingTokens: i.settings().MaxThinkingTokens, Version: i.opts.Version,
			KeyVar: keyVar(name, "anthropic", "API_KEY"), URLVar: keyVar(name, "anthropic", "BASE_URL"),
		})
	case "openai":
		return openai.New(openai.Config{
			ProviderName: name, BaseURL: set.APIBase, APIKey: set.APIKey, Headers: set.Headers,
			HTTP: i.http, Retry: retry, StallTimeout: stall,
			KeyVar: keyVar(name, "openai", "API_KEY"), URLVar: keyVar(name, "openai", "BASE_URL"),
		}), nil
	default:
		return nil, fmt.Errorf("provider %s: the type %q is neither anthropic nor openai", name, wire)
	}
}

// keyVar is what hints call the place of a provider's key or address: a variable for the two known ones,
// the setting for those of the user.
func keyVar(name, known, what string) string {
	switch {
	case name == known:
		return strings.ToUpper(name) + "_" + what
	case what == "API_KEY":
		return "providers." + name + ".apiKey"
	}
	return "providers." + name + ".apiBase"
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// described is a model about which the user knows more than the catalogue.
type described struct {
	llm.Model
	info llm.ModelInfo
}

func (d described) Info() llm.ModelInfo { return d.info }

func describe(info llm.ModelInfo, own config.ModelInfo) llm.ModelInfo {
	if own.Name != "" {
		info.Name = own.Name
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
	return info
}

// KeySource says where the key of the present provider comes from, for people.
func (i *Instance) KeySource() string {
	name, _, err := i.choose(i.settings().Model)
	switch p := i.provider(name); {
	case err != nil:
		return "none"
	case p.APIKey != "":
		return strings.ToUpper(name) + "_API_KEY"
	case p.AuthToken != "":
		return strings.ToUpper(name) + "_AUTH_TOKEN"
	case i.settings().APIKeyHelper != "":
		return "apiKeyHelper"
	}
	return "none"
}
