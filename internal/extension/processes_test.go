package extension_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extension"
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
		for name, text := range map[string]string{".config/lathe/settings.json": `{"pluginProcesses":{"p":{` + own + `}}}`, "p/.lathe/settings.json": project} {
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
		f := extension.New(extension.Options{Config: func() *config.Config { return c }, Dir: filepath.Join(home, "p"), Tools: call.NewCatalogue()})
		specs, notes := f.ProcessSpecs()
		got := false
		for _, s := range specs {
			if s.Name == "p" {
				got = s.Foreign
			}
		}
		if got != foreign || len(notes) > 0 {
			t.Errorf("%s: foreign %v, notes %q, processes %s", project, got, notes, strings.TrimSpace(string(c.Settings.PluginProcesses)))
		}
	}
}
