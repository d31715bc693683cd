package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/sandbox"
)

// set makes the providers of an environment and settings, of nothing else.
func set(t *testing.T, settings string, env ...string) *Set {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Load(config.Options{
		Dir: dir, Home: dir, Environ: append([]string{"HOME=" + dir}, env...), SettingsFlag: settings, ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	all := New(Options{
		Settings: func() *config.Settings { return &cfg.Settings }, Version: "test", Runner: runner, Dir: dir, Env: func() []string { return nil },
	})
	t.Cleanup(all.Close)
	return all
}

func ids(all *Set) (out []string) {
	for _, m := range all.Models() {
		out = append(out, m.ID)
	}
	return out
}

func TestModelsOfWhatCanBeCalledAreListed(t *testing.T) {
	if got := ids(set(t, "{}")); len(got) != 0 {
		t.Errorf("without a key: %v", got)
	}
	got := ids(set(t, "{}", "ANTHROPIC_API_KEY=x"))
	if !slices.Contains(got, "claude-haiku-4-5") || slices.ContainsFunc(got, func(id string) bool { return strings.HasPrefix(id, "gpt") }) {
		t.Errorf("%v", got)
	}
	all := set(t, `{"providers": {"box": {"type": "openai", "apiBase": "http://127.0.0.1:1/v1", "models": {"llama": {"contextWindow": 9}}}}}`, "ANTHROPIC_API_KEY=x")
	got = ids(all)
	if !slices.Contains(got, "box/llama") || got[0] == "box/llama" {
		t.Errorf("%v", got)
	}
	if m, err := all.Model(t.Context(), "box/llama"); err != nil || m.Info().ContextWindow != 9 {
		t.Errorf("%v", err)
	}
}

func TestASmallModelIsChosenForAsLongAsLatheRuns(t *testing.T) {
	all := set(t, "{}", "ANTHROPIC_API_KEY=x")
	if m, err := all.SmallModel(t.Context()); err != nil || m.Info().ID != "claude-haiku-4-5" {
		t.Errorf("%v", err)
	}
	if err := all.SetSmallModel(t.Context(), "opus"); err != nil {
		t.Fatal(err)
	}
	if m, err := all.SmallModel(t.Context()); err != nil || !strings.Contains(m.Info().ID, "opus") {
		t.Errorf("%v", err)
	}
	if err := set(t, "{}").SetSmallModel(t.Context(), "opus"); err == nil {
		t.Error("without a key")
	}
}
