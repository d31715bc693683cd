package extension_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// A foreign process is confined, and gets no credentials.
func TestAProcessOfWhichAPartIsTheProjectsIsTheProjects(t *testing.T) {
	own := `"command":"/bin/true","args":["mine"],"env":{"A":"1"}`
	for project, foreign := range map[string]bool{
		`{}`: false,
		`{"pluginProcesses":{"other":{"command":"/bin/true"}}}`:     false,
		`{"pluginProcesses":{"p":{"command":"./evil"}}}`:            true,
		`{"pluginProcesses":{"p":{"args":["./evil.js"]}}}`:          true,
		`{"pluginProcesses":{"p":{"env":{"LD_PRELOAD":"./evil"}}}}`: true,
		`{"pluginProcesses":{"p":{"env":{"a.b\"]":"x"}}}}`:          true,
		`{"pluginProcesses":{"p":{"maxMemoryMB":0}}}`:               true,
	} {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			".config/lathe/settings.json": `{"pluginProcesses":{"p":{` + own + `}}}`,
			"p/.lathe/settings.json":      project,
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := config.Load(config.Options{
			Dir: filepath.Join(home, "p"), Home: home, Environ: []string{"HOME=" + home}, ManagedPaths: []string{},
			Trust: func(string, string) bool { return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		f := extension.New(extension.Options{
			Config: func() *config.Config { return c }, Dir: filepath.Join(home, "p"),
			Tools: call.NewCatalogue(),
		})
		specs, notes := f.ProcessSpecs()
		got := false
		for _, s := range specs {
			if s.Name == "p" {
				got = s.Foreign
			}
		}
		if got != foreign || len(notes) > 0 {
			t.Errorf("%s: foreign %v, notes %q, processes %s", project, got, notes,
				strings.TrimSpace(string(c.Settings.PluginProcesses)))
		}
	}
}

func TestProgramsOfStrangersGetNoCredentials(t *testing.T) {
	f, _ := folder(t, `{}`)
	all := []string{"PATH=/bin", "GITHUB_TOKEN=ghp_x", "ANTHROPIC_API_KEY=sk-x"}
	if got := f.Environ(all, true); !slices.Contains(got, "PATH=/bin") || slices.Contains(got, "GITHUB_TOKEN=ghp_x") ||
		slices.Contains(got, "ANTHROPIC_API_KEY=sk-x") {
		t.Errorf("a stranger's has %q", got)
	}
	if got := f.Environ(all, false); !slices.Contains(got, "GITHUB_TOKEN=ghp_x") {
		t.Errorf("the user's own has %q", got)
	}
}

func TestProcessesOfTheSettingsAreReadAnewWhenTheyChange(t *testing.T) {
	load := func(settings string) *config.Config {
		home := t.TempDir()
		file := filepath.Join(home, ".config", "lathe", "settings.json")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(settings),
			0o600)); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Options{
			Dir: home, Home: home, Environ: []string{"HOME=" + home},
			ManagedPaths: []string{},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	now := load(`{"pluginProcesses":{"a":{"command":"a"}}}`)
	f := extension.New(extension.Options{
		Config: func() *config.Config { return now }, Dir: t.TempDir(),
		Tools: call.NewCatalogue(),
	})
	first := f.ProcessVersion()
	now = load(`{"pluginProcesses":{"a":{"command":"a"}},"language":"de"}`)
	if got := f.ProcessVersion(); got != first {
		t.Errorf("another setting changed: %d, was %d", got, first)
	}
	now = load(`{"pluginProcesses":{"b":{"command":"b"}}}`)
	if got := f.ProcessVersion(); got == first {
		t.Error("a changed setting is not noticed")
	}
	if specs, _ := f.ProcessSpecs(); len(specs) != 1 || specs[0].Name != "b" {
		t.Errorf("the processes are %v", specs)
	}
}
