package config_test

import (
	"slices"
	"testing"
)

func TestVariablesWithKeysArePrivate(t *testing.T) {
	m := newMachine(t)
	m.env("BOX_KEY=key-of-the-box-1", "BOX_TOKEN=token-of-the-box-2", "SAME=key-of-the-box-1",
		"GITHUB_TOKEN=key-of-the-box-1", "EMPTY=", "OTHER=x", "BACKEND=lm-studio", "N=7")
	m.write(userFile,
		`{"providers": {"box": {"type": "openai", "apiBase": "http://b/v1", "apiKey": "{env:BOX_KEY}"}, "not": {"type": "openai", "apiBase": "http://n/v1"},
		"local": {"type": "openai", "apiBase": "http://l/v1", "apiKey": "lm-studio"}, "short": {"type": "openai", "apiBase": "http://s/v1", "apiKey": "7"},
		"three": {"type": "openai", "apiBase": "http://3/v1", "apiKey": "${LATER_KEY}"}, "two": {"type": "anthropic", "apiBase": "http://t", "authToken": "{env:BOX_TOKEN}"}}, "env": {"MINE": "token-of-the-box-2"}}`)
	got := m.load().PrivateVariables()
	for _, name := range []string{
		"BOX_KEY", "BOX_TOKEN", "SAME", "MINE", "LATER_KEY", "ANTHROPIC_API_KEY",
		"AI_GATEWAY_API_KEY", "LITELLM_API_KEY",
	} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not private", name)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN", "HF_TOKEN", "EMPTY", "OTHER", "BACKEND", "N", "PATH", "HOME"} {
		if slices.Contains(got, name) {
			t.Errorf("%s is private", name)
		}
	}
}
