// Package provider finds the provider of a model id: its key and address come from the settings. It keeps the
// connections.
//
// A provider is an API with a key; known ones are in the table of hosts, others in the settings. A [Set]
// holds the providers of one configuration. It connects only when a model is requested.
package provider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// Options configure a Set.
type Options struct {
	Settings func() *config.Settings // the current ones
	Version  string                  // of lathe, sent to servers
	Runner   *sandbox.Runner         // runs apiKeyHelper
	Dir      string                  // where it runs
	Env      func() []string         // its environment
	Environ  func() []string         // lathe's own environment, for the credentials of clouds; nil: none
	Keys     *keyring.Store          // keys of `lathe auth login`; nil: none

	// Retries is how often a failed request is sent again; nil: as the settings say.
	Retries func() int

	TaskBudget int // tokens of a task, for the model to know; 0: none. Only Anthropic's API has that
}

// Set holds the providers of one configuration. It is safe for concurrent use.
type Set struct {
	o      Options
	helper *keyHelper
	small  atomic.Pointer[string] // the small model chosen at run time
	keys   storedKeys
	local  localServer

	mu        sync.Mutex
	http      *http.Client
	providers map[string]llm.Provider
	scripts   map[string]script
	replay    Replay
	given     []string // the scripted models that may be used
}

// Give lets scripted models among ids be used: those that the user names on the command line. Settings and files of
// agents can come with a project, which would then speak as the model.
func (all *Set) Give(ids ...string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.given = append(all.given, ids...)
}

// New returns a Set. It connects to nothing.
func New(o Options) *Set { return &Set{o: o, helper: newKeyHelper()} }

// Forget drops the connections after the settings changed. Existing models keep theirs.
func (all *Set) Forget() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.providers, all.http = nil, nil
}

// Close closes idle connections.
func (all *Set) Close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.closeScripts()
	if all.http != nil {
		all.http.CloseIdleConnections()
	}
}

// ErrNoKey says that no model can be called, and how to set one up.
var ErrNoKey error = noKey{}

type noKey struct{}

func (noKey) Error() string {
	ways := append([][2]string{{"lathe demo", "watch lathe work, with scripted replies and no key"}}, hosts.KeyWays()...)
	width := 0
	for _, w := range ways {
		width = max(width, len(w[0]))
	}
	text := "no model is set up yet. Ways to get going:"
	for _, w := range ways {
		text += fmt.Sprintf("\n  %-*s %s", width, w[0], w[1])
	}
	return text
}

// Choose finds the provider for a model id, which may begin with a provider's name and a slash. The prefix is
// removed only if the provider's address is its own host: a gateway has models with such names.
func (all *Set) Choose(id string) (provider, model string, err error) {
	s := all.o.Settings()
	if strings.HasPrefix(id, scriptedPrefix) {
		return strings.TrimSuffix(scriptedPrefix, ":"), id, nil
	}
	if name, rest, ok := strings.Cut(id, "/"); ok && rest != "" && all.means(name, id) {
		if ownHost(name, all.Provider(name)) {
			return name, rest, nil
		}
		return name, id, nil
	}
	if s.Provider != "" {
		return s.Provider, id, all.ready(s.Provider)
	}
	if name := all.switched(); name != "" {
		return name, id, nil
	}
	if s.APIBase != "" {
		return all.baseOwner(), id, nil // that server was asked for, regardless of the model's name
	}
	if name := all.preferred(id); name != "" {
		return name, id, nil
	}
	for _, name := range append(slices.Sorted(maps.Keys(s.Providers)), all.storedNames()...) {
		if h, _ := hostOf(name); (!h.Named || all.stored(name, all.Provider(name))) && all.usable(name) {
			return name, id, nil
		}
	}
	if found := all.localServer(); found.base != "" {
		return ollamaHost, cmp.Or(id, found.model), nil
	}
	return "", "", ErrNoKey
}

// names lists the known hosts, and the providers of the settings.
func (all *Set) names() []string {
	out := hosts.Names()
	for _, name := range slices.Sorted(maps.Keys(all.o.Settings().Providers)) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// preferred returns the preferred host for a model id among those with a key: the one whose family includes the model,
// else one without a family, else the first.
func (all *Set) preferred(id string) string {
	var first, general string
	for _, h := range hosts.Table {
		if !h.Preferred || !all.usable(h.Name) {
			continue
		}
		if id == "" || all.inFamily(h, id) {
			return h.Name
		}
		if h.Family == "" {
			general = cmp.Or(general, h.Name)
		}
		first = cmp.Or(first, h.Name)
	}
	return cmp.Or(general, first)
}

// inFamily reports whether a model is in a host's family, or is an alias for one of Anthropic's.
func (all *Set) inFamily(h hosts.Host, id string) bool {
	if h.Family != "" && strings.Contains(strings.ToLower(id), h.Family) {
		return true
	}
	return h.Wire == anthropicWire && llm.Resolve(id, all.o.Settings().ModelAliases) != id
}

// means reports whether the prefix of a model id names a provider: one of the settings, or a known host that
// can be called. If another provider was chosen for all models, its own models come first: openai/gpt-5 is
// also a model of OpenRouter.
func (all *Set) means(name, id string) bool {
	s := all.o.Settings()
	_, known := hostOf(name)
	switch {
	case !known:
		_, set := s.Providers[name]
		return set
	case s.APIBase != "" && s.Provider == "":
		return name == all.baseOwner()
	case s.Provider != "" && name != s.Provider:
		section := llm.CatalogueHost(baseOf(s.Provider, all.Provider(s.Provider)))
		has := func(m llm.ModelInfo) bool { return m.ID == id }
		return all.usable(name) && !(section != "" && slices.ContainsFunc(llm.Known(section), has))
	}
	return all.usable(name)
}

// ready returns an error if a named provider cannot be called.
func (all *Set) ready(name string) error {
	settings := all.o.Settings().Providers
	_, set := settings[name]
	if _, known := hostOf(name); !set && !known {
		return unknownProvider(name, all.names())
	}
	if all.usable(name) || all.Provider(name).APIBase != "" {
		return nil
	}
	h, _ := hostOf(name)
	if h.Login != nil {
		return ErrNoKey
	}
	if h.Device {
		return fmt.Errorf("the provider %s has no login: run lathe auth login %s", name, name)
	}
	return fmt.Errorf("the provider %s has no key: set %s, or providers.%s.apiKey in your settings, or run lathe auth "+
		"login %s", name, place(name, "apiKey"), name, name)
}

func unknownProvider(name string, names []string) error {
	slices.Sort(names)
	return fmt.Errorf("there is no provider %q; the providers are %s, and others can be added under providers in the "+
		"settings", name, strings.Join(names, ", "))
}

// usable reports whether a provider can be called: it has a key, or its own server that may need none.
func (all *Set) usable(name string) bool {
	p := all.Provider(name)
	h, _ := hostOf(name)
	own := h.Local || p.APIBase != "" && (h.Base == "" || !sameHost(p.APIBase, h.Base))
	if all.replaying() != nil && name == all.o.Settings().Provider {
		return true
	}
	return p.APIKey != "" || p.AuthToken != "" || all.helped(name, p) || own || all.stored(name, p) ||
		keyInHeaders(p.Headers) || all.cloudReady(h)
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

// Provider returns a provider's settings with --api-base applied.
func (all *Set) Provider(name string) config.Provider {
	p := all.o.Settings().Providers[name]
	if name == ollamaHost && p.APIBase == "" {
		p.APIBase = all.local.found()
	}
	if all.o.Settings().APIBase != "" && (name == all.o.Settings().Provider ||
		(all.o.Settings().Provider == "" && name == all.baseOwner())) {
		p.APIBase = all.o.Settings().APIBase
	}
	return p
}

// baseOwner returns the provider for a bare --api-base: the only preferred one with a key, else the one whose wire most
// servers speak.
func (all *Set) baseOwner() string {
	var owners []string
	server := ""
	for _, h := range hosts.Table {
		p := all.o.Settings().Providers[h.Name]
		if h.Preferred && (p.APIKey != "" || p.AuthToken != "" || all.helped(h.Name, p) || all.stored(h.Name, p)) {
			owners = append(owners, h.Name)
		}
		if h.AnyServer && server == "" {
			server = h.Name
		}
	}
	if len(owners) == 1 {
		return owners[0]
	}
	return server
}

// Models lists the models to choose from: those in the settings, and the catalogue's models of usable
// providers.
func (all *Set) Models() []llm.ModelInfo {
	var out []llm.ModelInfo
	seen := map[string]bool{}
	add := func(m llm.ModelInfo) {
		if !seen[m.ID] {
			seen[m.ID] = true
			out = append(out, m)
		}
	}
	first, _, _ := all.Choose(all.o.Settings().Model)
	listed := append([]string{first}, slices.Sorted(maps.Keys(all.o.Settings().Providers))...)
	for _, name := range append(listed, all.storedNames()...) {
		if name == "" || !all.usable(name) {
			continue
		}
		p := all.Provider(name)
		prefix := ""
		if name != first {
			prefix = name + "/"
		}
		for _, id := range slices.Sorted(maps.Keys(p.Models)) {
			info := describe(llm.Lookup(sectionOf(name, p), id), p.Models[id])
			info.ID = prefix + info.ID
			add(info)
		}
		section := llm.CatalogueHost(baseOf(name, p))
		if section == "" && wireOf(name, p) == anthropicWire { // a gateway usually has the models of the API it replaces
			section = anthropicWire
		}
		for _, info := range llm.Known(section) {
			info.ID = prefix + info.ID
			add(info)
		}
	}
	return out
}

// SetSmallModel sets the small model until lathe ends.
func (all *Set) SetSmallModel(ctx context.Context, id string) error {
	if _, err := all.Model(ctx, id); err != nil {
		return err
	}
	all.small.Store(&id)
	return nil
}
