package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
)

// workingFolder is the folder to work in, absolute. The current one may have been removed.
func workingFolder(o *Options) (string, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", &Error{
			Code: exitUsage, Msg: "the current folder is gone", Err: err,
			Hint: "change to one that exists, or give --cwd",
		}
	}
	return dir, nil
}

// loadConfig reads the settings that the command line selects.
func loadConfig(o *Options) (*config.Config, string, error) {
	dir, err := workingFolder(o)
	if err != nil {
		return nil, "", err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, "", usage("give an existing folder", "--cwd: %s is not a folder", dir)
	}
	sources, err := settingSources(o)
	if err != nil {
		return nil, "", err
	}
	opts := config.Options{Dir: dir, SettingsFlag: o.Settings, Flags: settingFlags(o), Sources: sources}
	opts.HostPolicy = o.HostPolicy
	start := trustedStart{}
	if o.Trust {
		opts.Trust = start.trusts
	}
	cfg, err := config.Load(opts)
	if err != nil {
		return nil, "", &Error{Code: exitUsage, Err: err}
	}
	start.loaded, start.digest = true, cfg.HeldDigest()
	llm.UseCatalogue(catalogueFile(cfg.Paths()))
	return cfg, dir, nil
}

// trustedStart is the answer of --trust: it holds for the values at the start, and not for those that a command writes
// later.
type trustedStart struct {
	loaded bool
	digest string // of the held values; empty: there were none
}

func (t *trustedStart) trusts(_, digest string) bool { return !t.loaded || digest == t.digest }

// settingFlags are the flags that set a key of the settings.
func settingFlags(o *Options) []config.Flag {
	var out []config.Flag
	add := func(flag, key string, value any, given bool) {
		if given {
			out = append(out, config.Flag{Name: "--" + flag, Key: key, Value: value})
		}
	}
	add("model", "model", o.Model, o.Model != "")
	add("small-model", "smallModel", o.SmallModel, o.SmallModel != "")
	add("effort", "effort", o.Effort, o.Effort != "")
	add("provider", "provider", o.Provider, o.Provider != "")
	add("api-base", "apiBase", o.APIBase, o.APIBase != "")
	add("max-thinking-tokens", "maxThinkingTokens", o.MaxThinking, o.MaxThinking >= 0 && o.Given("max-thinking-tokens"))
	add("thinking", "effort", "off", o.Thinking == "disabled")
	add("betas", "providers.anthropic.betas", splitRules(o.Betas), len(splitRules(o.Betas)) > 0)
	add("debug", "debug", true, o.debugs())
	return out
}

func settingSources(o *Options) ([]config.Layer, error) {
	if !o.Given("setting-sources") {
		return nil, nil
	}
	layers := []config.Layer{}
	for name := range strings.FieldsFuncSeq(o.SettingSources, func(r rune) bool { return r == ',' || r == ' ' }) {
		l, ok := sourceLayers[name]
		if !ok {
			return nil, usage("use user, project, local", "--setting-sources: %q is not a source", name)
		}
		layers = append(layers, l)
	}
	return layers, nil
}
