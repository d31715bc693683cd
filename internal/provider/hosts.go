package provider

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// hostOf returns the row of a provider; an unknown one speaks Anthropic's API unless the settings say
// otherwise.
func hostOf(name string) (h hosts.Host, known bool) {
	if h, known = hosts.Named(name); known {
		return h, true
	}
	return hosts.Host{Name: name, Wire: anthropicWire}, false
}

// wireOf returns the API that a provider speaks.
func wireOf(name string, p config.Provider) string {
	if p.Type != "" {
		return p.Type
	}
	h, _ := hostOf(name)
	if h.Own != "" && (p.APIBase == "" || sameHost(p.APIBase, h.Base)) {
		return h.Own
	}
	return h.Wire
}

// sectionOf returns the section of the catalogue with a provider's models, at worst that of its wire's maker.
func sectionOf(name string, p config.Provider) string {
	if wire := wireOf(name, p); wire == anthropicWire {
		return anthropicWire
	}
	return cmp.Or(llm.CatalogueHost(baseOf(name, p)), chatWire)
}

// baseOf returns the base URL of a provider.
func baseOf(name string, p config.Provider) string {
	if p.APIBase != "" {
		return p.APIBase
	}
	h, _ := hostOf(name)
	return h.Base
}

// ownHost reports whether a provider's address is the known host of that name. A gateway in its place may
// read model ids in its own way.
func ownHost(name string, p config.Provider) bool {
	h, known := hostOf(name)
	return !known || p.APIBase == "" || h.Base != "" && sameHost(p.APIBase, h.Base) || h.Local || h.Base == ""
}

func sameHost(a, b string) bool {
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && strings.EqualFold(u.Hostname(), v.Hostname())
}

// place names where to set a setting of a provider ("apiKey"), for hints: the variable of a known host, else the
// setting.
func place(name, setting string) string {
	h, _ := hostOf(name)
	if v := h.Variable(setting); v != "" {
		return v
	}
	return "providers." + name + "." + setting
}
