// Package modelsdev turns a catalogue of models.dev (https://models.dev/api.json, MIT) into the form of lathe's own.
//
// It takes only hosts that speak one of lathe's wires, and of them only models that read and write text and call tools.
package modelsdev

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hosts are the supported providers, in the order in which a shared id is looked up, with the host name of
// those for which the source has no base URL.
var hosts = []struct{ id, host string }{
	{"anthropic", "api.anthropic.com"},
	{"openai", "api.openai.com"},
	{"deepseek", ""},
	{"mistral", "api.mistral.ai"},
	{"xai", "api.x.ai"},
	{"google", "generativelanguage.googleapis.com"},
	{"moonshotai", ""},
	{"zai", ""},
	{"minimax", ""},
	{"alibaba", ""},
	{"groq", "api.groq.com"},
	{"cerebras", "api.cerebras.ai"},
	{"togetherai", "api.together.xyz"},
	{"fireworks-ai", ""},
	{"deepinfra", "api.deepinfra.com"},
	{"ollama-cloud", ""},
	{"openrouter", ""},
	{"github-copilot", "api.githubcopilot.com"},
	{"amazon-bedrock", "bedrock-runtime.amazonaws.com"},
}

type provider struct {
	API    string           `json:"api"`
	Models map[string]model `json:"models"`
}

type model struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Reasoning  bool   `json:"reasoning"`
	ToolCall   bool   `json:"tool_call"`
	Status     string `json:"status"`
	Modalities struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
	Limit struct {
		Context int `json:"context"`
		Input   int `json:"input"`
		Output  int `json:"output"`
	} `json:"limit"`
	Cost struct {
		prices
		Tiers []struct {
			prices
			Tier struct {
				Type string `json:"type"`
				Size int    `json:"size"`
			} `json:"tier"`
		} `json:"tiers"`
	} `json:"cost"`
}

type prices struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// Convert returns the catalogue's lines, and the hosts that the source lacks.
func Convert(source []byte) (catalogue []byte, missing []string, err error) {
	var all map[string]provider
	if err := json.Unmarshal(source, &all); err != nil {
		return nil, nil, fmt.Errorf("this is no catalogue of models.dev: %w", err)
	}
	var b strings.Builder
	b.WriteString("// Made from models.dev (MIT). id, name, context, output, $/M in, out, cache read, cache write, " +
		"flags (i images, r reasoning), prices of long prompts (from tokens:in:out:cache read:cache write)\n")
	for _, h := range hosts {
		p, ok := all[h.id]
		if !ok {
			missing = append(missing, h.id)
			continue
		}
		if h.id == "openrouter" {
			passOn(p.Models, all)
		}
		writeProvider(&b, h.id, h.host, p)
	}
	if len(missing) == len(hosts) {
		return nil, nil, errors.New("this catalogue of models.dev has no host that lathe knows")
	}
	return []byte(b.String()), missing, nil
}

func writeProvider(b *strings.Builder, id, host string, p provider) {
	if u, err := url.Parse(p.API); host == "" && err == nil {
		host = u.Host
	}
	fmt.Fprintf(b, "# %s %s\n", id, host)
	models := make([]model, 0, len(p.Models))
	for _, m := range p.Models {
		if usable(m) {
			models = append(models, m)
		}
	}
	slices.SortFunc(models, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range models {
		b.WriteString(row(m))
	}
}

// passOn adds the prices of cached tokens that the source lacks for a gateway that passes on its vendors' prices.
func passOn(models map[string]model, all map[string]provider) {
	for id, m := range models {
		vendor, name, _ := strings.Cut(id, "/")
		own, ok := all[vendor].Models[name]
		if ok && m.Cost.CacheRead == 0 && m.Cost.Input == own.Cost.Input && m.Cost.Output == own.Cost.Output {
			m.Cost.CacheRead, m.Cost.CacheWrite = own.Cost.CacheRead, own.Cost.CacheWrite
			models[id] = m
		}
	}
}

// long is the column of the prices of long prompts: of the first tier, since no host has two.
func long(m model) string {
	for _, t := range m.Cost.Tiers {
		if t.Tier.Type == "context" && t.Tier.Size > 0 {
			cols := []string{strconv.Itoa(t.Tier.Size), price(t.Input), price(t.Output), price(t.CacheRead), price(t.CacheWrite)}
			return strings.TrimRight(strings.Join(cols, ":"), ":")
		}
	}
	return ""
}

func usable(m model) bool {
	return m.ToolCall && m.Status != "deprecated" && m.Limit.Context > 0 &&
		slices.Contains(m.Modalities.Input, "text") && slices.Contains(m.Modalities.Output, "text")
}

func row(m model) string {
	window := m.Limit.Context
	if m.Limit.Input > 0 {
		window = min(window, m.Limit.Input) // the limit of a prompt, where it is lower
	}
	flags := ""
	if slices.Contains(m.Modalities.Input, "image") {
		flags += "i"
	}
	if m.Reasoning {
		flags += "r"
	}
	name := strings.TrimSuffix(m.Name, " (latest)")
	if strings.EqualFold(strings.NewReplacer(" ", "-").Replace(name), m.ID) {
		name = "" // same as the id
	}
	cols := []string{
		m.ID, name, strconv.Itoa(window), strconv.Itoa(m.Limit.Output),
		price(m.Cost.Input), price(m.Cost.Output), price(m.Cost.CacheRead), price(m.Cost.CacheWrite), flags, long(m),
	}
	return strings.TrimRight(strings.Join(cols, "\t"), "\t") + "\n"
}

func price(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
