package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// ModelsOf lists the models of a provider by the ids that choose them, or of all that have a key if name is "". A
// server whose models are not in the catalogue is asked for them.
func (all *Set) ModelsOf(ctx context.Context, name string) ([]llm.ModelInfo, error) {
	if name == "" {
		if models := all.Models(); len(models) > 0 {
			return models, nil
		}
		return nil, ErrNoKey
	}
	p := all.Provider(name)
	section := llm.CatalogueHost(baseOf(name, p))
	if section == "" && speaksClaude(wireOf(name, p)) && p.APIBase == "" {
		section = anthropicWire
	}
	out := llm.Known(section)
	if err := all.ready(name); err != nil {
		if _, known := hostOf(name); !known || len(out) == 0 { // the catalogue needs no key
			return nil, err
		}
	}
	if section == "" {
		served, err := all.served(ctx, name)
		if err != nil {
			return nil, err
		}
		out = served
	}
	for i := range out {
		if own, ok := p.Models[out[i].ID]; ok {
			out[i] = describe(out[i], own)
		}
		out[i].ID = name + "/" + out[i].ID
	}
	return out, nil
}

const (
	listTimeout = 10 * time.Second
	mostList    = 8 << 20 // bytes
)

// served asks a server for its models: GET /v1/models, which every server with OpenAI's or Anthropic's API has.
func (all *Set) served(ctx context.Context, name string) ([]llm.ModelInfo, error) {
	p := all.Provider(name)
	if _, err := all.connect(name, p); err != nil {
		return nil, err
	}
	u, err := url.Parse(baseOf(name, p))
	if err != nil {
		return nil, err
	}
	if u.Path = strings.TrimRight(u.Path, "/"); !strings.Contains(u.Path, "/v") {
		u.Path += "/v1"
	}
	u.Path += "/models"
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if key := p.APIKey + p.AuthToken; key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("X-Api-Key", key)
	}
	for k, v := range p.Headers {
		req.Header.Set(k, v)
	}
	all.mu.Lock()
	client := all.http
	all.mu.Unlock()
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server of %s at %s does not answer; is it running? (%s)", name, u.Host,
			place(name, "apiBase"))
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostList))
	var list struct {
		Data []struct {
			ID  string `json:"id"`
			Max int    `json:"max_model_len"` // vLLM
		} `json:"data"`
	}
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(b, &list) != nil {
		return nil, fmt.Errorf("the server of %s at %s has no list of models (HTTP %d)", name, u.Host, resp.StatusCode)
	}
	out := make([]llm.ModelInfo, 0, len(list.Data))
	for _, m := range list.Data {
		info := llm.Lookup(sectionOf(name, p), m.ID)
		if m.Max > 0 {
			info.ContextWindow, info.Known = m.Max, true
		}
		out = append(out, info)
	}
	return out, nil
}
