package config

import (
	"maps"
	"slices"
	"strings"
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
