package config_test

import (
	"slices"
	"testing"
)

func TestVariablesWithKeysArePrivate(t *testing.T) {
	m := newMachine(t)
	m.env("BOX_KEY=key-of-the-box", "BOX_TOKEN=token-of-the-box", "SAME=key-of-the-box", "GITHUB_TOKEN=key-of-the-box", "EMPTY=", "OTHER=x")
	m.write(userFile, `{"providers": {"box": {"type": "openai", "apiBase": "http://b/v1", "apiKey": "{env:BOX_KEY}"}, "not": {"type": "openai", "apiBase": "http://n/v1"},
		"two": {"type": "anthropic", "apiBase": "http://t", "authToken": "{env:BOX_TOKEN}"}}, "env": {"MINE": "token-of-the-box"}}`)
	got := m.load().PrivateVariables()
	for _, name := range []string{"BOX_KEY", "BOX_TOKEN", "SAME", "MINE", "ANTHROPIC_API_KEY", "AI_GATEWAY_API_KEY", "LITELLM_API_KEY"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not private", name)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN", "HF_TOKEN", "EMPTY", "OTHER", "PATH", "HOME"} {
		if slices.Contains(got, name) {
			t.Errorf("%s is private", name)
		}
	}
}
