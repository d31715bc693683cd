package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

// Model makes a model by id; "" is the configured one, else the provider's default.
func (all *Set) Model(ctx context.Context, id string) (llm.Model, error) {
	if id == "" {
		id = all.o.Settings().Model
	}
	name, model, err := all.Choose(id)
	if err != nil {
		return nil, err
	}
	set := all.Provider(name)
	if wireOf(name, set) == "anthropic" {
		if model == "" {
			model = llm.DefaultModel
		}
		model = llm.Resolve(model, all.o.Settings().ModelAliases)
	}
	if model == "" {
		return nil, fmt.Errorf("no model is chosen for %s; give one with --model or LATHE_MODEL", name)
	}
	m, err := all.connected(ctx, name, model, set)
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
func (all *Set) SmallModel(ctx context.Context) (llm.Model, error) {
	id := all.o.Settings().SmallModel
	if chosen := all.small.Load(); chosen != nil {
		id = *chosen
	}
	if id != "" {
		return all.Model(ctx, id)
	}
	name, _, err := all.Choose(all.o.Settings().Model)
	if err != nil {
		return nil, err
	}
	p := all.Provider(name)
	if wireOf(name, p) != "anthropic" || (p.APIBase != "" && !isHost(p.APIBase, "api.anthropic.com")) {
		return all.Model(ctx, "") // what other servers have is not known
	}
	if _, ok := all.o.Settings().Providers[name]; ok {
		return all.Model(ctx, name+"/"+llm.DefaultSmallModel)
	}
	return all.Model(ctx, llm.DefaultSmallModel)
}

// connected is a model of a provider.
func (all *Set) connected(ctx context.Context, name, model string, set config.Provider) (llm.Model, error) {
	p, err := all.connect(name, set)
	if err != nil {
		return nil, err
	}
	return p.Model(ctx, model)
}

// connect makes a provider once.
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

// newProvider makes a provider; all.mu is held.
func (all *Set) newProvider(name string, set config.Provider) (llm.Provider, error) {
	if all.http == nil {
		c, err := llm.HTTPClient(llm.HTTPOptions{
			Proxy: all.o.Settings().Network.Proxy, NoProxy: strings.Join(all.o.Settings().Network.NoProxy, ","), CACerts: all.o.Settings().Network.CACerts,
		})
		if err != nil {
			return nil, err
		}
		all.http = c
	}
	if set.APIBase == "" {
		llm.Warm(all.http, "https:")
	} else {
		llm.Warm(all.http, set.APIBase)
	}
	retry := llm.RetryPolicy{Max: all.o.Settings().Stream.MaxRetries, Base: millis(all.o.Settings().Stream.RetryBaseMs), MaxWait: millis(all.o.Settings().Stream.MaxRetryWaitMs)}
	if retry.Max == 0 {
		retry.Max = -1 // the policy's word for none
	}
	stall := millis(all.o.Settings().Stream.StallTimeoutMs)
	var prepare llm.Prepare
	if all.helped(name, set) {
		prepare = all.prepare(wireOf(name, set))
	}
	switch wire := wireOf(name, set); wire {
	case "anthropic":
		return anthropic.New(anthropic.Config{
			Name: name, BaseURL: set.APIBase, APIKey: set.APIKey, AuthToken: set.AuthToken, Headers: set.Headers, Betas: set.Betas,
			Prepare: prepare,
			HTTP:    all.http, Retry: retry, StallTimeout: stall, ThinkingTokens: all.o.Settings().MaxThinkingTokens, Version: all.o.Version,
			KeyVar: keyVar(name, "anthropic", "API_KEY"), URLVar: keyVar(name, "anthropic", "BASE_URL"),
		})
	case "openai":
		return openai.New(openai.Config{
			ProviderName: name, BaseURL: set.APIBase, APIKey: set.APIKey, Headers: set.Headers, Prepare: prepare,
			HTTP: all.http, Retry: retry, StallTimeout: stall,
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
func (all *Set) KeySource() string {
	name, _, err := all.Choose(all.o.Settings().Model)
	switch p := all.Provider(name); {
	case err != nil:
		return "none"
	case p.APIKey != "":
		return strings.ToUpper(name) + "_API_KEY"
	case p.AuthToken != "":
		return strings.ToUpper(name) + "_AUTH_TOKEN"
	case all.o.Settings().APIKeyHelper != "":
		return "apiKeyHelper"
	}
	return "none"
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
