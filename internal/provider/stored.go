package provider

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/cloud"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// keyService is the service of the providers' keys in the keyring.
const keyService = "provider"

// copilotHost is the name of GitHub Copilot in the table of hosts.
const copilotHost = "github-copilot"

// Keys returns where `lathe auth login` keeps keys: the keyring of the operating system, else a file in the folder of
// states. It is nil where there is no such folder.
func Keys(stateHome string, getenv func(string) string) *keyring.Store {
	if stateHome == "" {
		return nil
	}
	return keyring.Open(filepath.Join(stateHome, "credentials.json"), keyring.OS(getenv))
}

// storedKeys are the providers that have a key in the keyring.
type storedKeys struct {
	mu    sync.Mutex
	read  bool
	names []string
}

// stored reports whether a provider has a key in the keyring and none in the settings. The keyring itself is not asked.
func (all *Set) stored(name string, p config.Provider) bool {
	if all.o.Keys == nil || p.APIKey != "" || p.AuthToken != "" {
		return false
	}
	s := &all.keys
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read {
		s.names, _ = all.o.Keys.Accounts(keyService) // an error is reported by the first request
		s.read = true
	}
	return slices.Contains(s.names, name)
}

// storedNames lists the providers that have a key in the keyring.
func (all *Set) storedNames() []string {
	all.stored("", config.Provider{}) // reads the list
	all.keys.mu.Lock()
	defer all.keys.mu.Unlock()
	return slices.Sorted(slices.Values(all.keys.names))
}

// KnownProvider returns an error unless a provider has that name.
func (all *Set) KnownProvider(name string) error {
	if slices.Contains(all.names(), name) {
		return nil
	}
	return unknownProvider(name, all.names())
}

// Login keeps the key of a provider, and reports whether the operating system's keyring took it.
func (all *Set) Login(name, key string) (inSystem bool, err error) {
	return all.changeKeys(func() (bool, error) { return all.o.Keys.Set(keyService, name, key) })
}

// Logout removes the key of a provider from the keyring.
func (all *Set) Logout(name string) error {
	_, err := all.changeKeys(func() (bool, error) { return false, all.o.Keys.Delete(keyService, name) })
	return err
}

func (all *Set) changeKeys(change func() (bool, error)) (bool, error) {
	if all.o.Keys == nil {
		return false, errors.New("there is no place to keep keys: the folder of states is not known")
	}
	inSystem, err := change()
	all.keys.mu.Lock()
	all.keys.read = false
	all.keys.mu.Unlock()
	all.Forget()
	return inSystem, err
}

// CopilotLogin logs in to GitHub Copilot by the device flow and keeps the login.
func (all *Set) CopilotLogin(ctx context.Context, show func(address, code string)) (inSystem bool, err error) {
	client, err := all.client()
	if err != nil {
		return false, err
	}
	secret, err := cloud.LoginCopilot(ctx, cloud.Options{
		Getenv: all.getenv, HTTP: client,
		Login: all.getenv("COPILOT_GITHUB_URL"),
	}, show)
	if err != nil {
		return false, err
	}
	return all.Login(copilotHost, secret)
}

// preparesStored returns a Prepare that sets the key of the keyring. The keyring is asked at the first request, and
// again when the key was refused: another process may have logged in since.
func (all *Set) preparesStored(name, wire string, o cloud.Options) llm.Prepare {
	if name == copilotHost {
		o.Login = all.getenv("COPILOT_GITHUB_URL")
		return cloud.Copilot(o, account{all.o.Keys, name})
	}
	var mu sync.Mutex
	var key string
	return func(_ context.Context, out *llm.Outgoing) error {
		mu.Lock()
		defer mu.Unlock()
		if key == "" || out.Refused != nil {
			fresh, err := all.o.Keys.Get(keyService, name)
			switch {
			case err != nil:
				return &llm.Error{
					Kind: llm.KindAuth, Provider: name, Message: llm.Clean(err.Error()),
					Hint: "log in again: lathe auth login " + name, Err: err,
				}
			case out.Refused != nil && fresh == key:
				return out.Refused.Err
			}
			key = fresh
		}
		setKey(out.Header, name, wire, key)
		return nil
	}
}

// setKey sets a key in the headers that a wire reads it from.
func setKey(h http.Header, name, wire, key string) {
	row, _ := hostOf(name)
	switch {
	case wire == anthropicWire:
		h.Set("X-Api-Key", key)
	case wire == googleWire:
		h.Set("X-Goog-Api-Key", key)
	case row.KeyHeader != "":
		h.Set(row.KeyHeader, key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
}

// account is one account of the keyring, as a cloud.Secrets.
type account struct {
	store *keyring.Store
	name  string
}

func (a account) Get() (string, error) { return a.store.Get(keyService, a.name) }

func (a account) Set(secret string) error {
	_, err := a.store.Set(keyService, a.name, secret)
	return err
}

func (a account) Lock(ctx context.Context) (func(), error) {
	return a.store.Lock(ctx, keyService+"-"+strings.ReplaceAll(a.name, "/", "_"))
}

// KeyState is a provider's key, for people: where it comes from, never the key.
type KeyState struct {
	Provider string `json:"provider"`
	// a variable or setting, "keyring", "credentials.json" (its file), "apiKeyHelper", "cloud credentials"
	Source string `json:"source"`
}

// KeyStates lists the providers that can be called with a key or with credentials, in the order of the table, then
// those of the settings.
func (all *Set) KeyStates() []KeyState {
	var out []KeyState
	for _, name := range all.names() {
		p := all.Provider(name)
		h, _ := hostOf(name)
		source := ""
		switch {
		case p.APIKey != "":
			source = place(name, "apiKey")
		case p.AuthToken != "":
			source = place(name, "authToken")
		case all.helped(name, p):
			source = "apiKeyHelper"
		case all.stored(name, p):
			if source = "keyring"; !all.o.Keys.InSystem(keyService, name) {
				source = "credentials.json"
			}
		case all.cloudReady(h):
			source = "cloud credentials"
		case keyInHeaders(p.Headers):
			source = "providers." + name + ".headers"
		default:
			continue
		}
		out = append(out, KeyState{name, source})
	}
	return out
}
