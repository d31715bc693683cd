package config

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// Secrets are the values of the settings and of an environment that must not be recorded: keys, tokens, headers, and
// variables with names of secrets. Some may be empty.
func (s *Settings) Secrets(environ []string) []string {
	var out []string
	for _, p := range s.Providers {
		out = append(out, p.APIKey, p.AuthToken)
		out = append(out, slices.Collect(maps.Values(p.Headers))...)
	}
	for name, v := range s.Env {
		if SecretName(name) {
			out = append(out, v)
		}
	}
	for _, pair := range environ {
		if name, v, _ := strings.Cut(pair, "="); SecretName(name) {
			out = append(out, v)
		}
	}
	return out
}

// PrivateVariables lists the variables that the commands lathe runs do not get: those of hosts, and others whose value
// is the key of a provider in the settings, as with {env:NAME}, or is named there as ${NAME}. Those of hosts that are
// used only when they are named, such as GITHUB_TOKEN, stay: other programs use them too.
func (c *Config) PrivateVariables() []string {
	out, keys := hosts.Secrets(), map[string]bool{}
	keep := func(name string) string {
		if !hosts.Shared(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
		return ""
	}
	for _, p := range c.Settings.Providers {
		for _, key := range []string{p.APIKey, p.AuthToken} {
			os.Expand(key, keep) // ${NAME} is filled in when the key is needed
			// and not a word such as "ollama", which local servers get
			keys[key] = len(key) >= 8 && strings.ContainsAny(key, "0123456789")
		}
	}
	for _, vars := range []map[string]string{c.env, c.Settings.Env} {
		for name, v := range vars {
			if keys[v] {
				keep(name)
			}
		}
	}
	return out
}
