package mcp_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Programs that the project or a plugin names run inside a boundary, servers and helpers of headers alike, and without
// credentials.
func TestProgramsOfStrangersAreConfined(t *testing.T) {
	url := serve(t, streamable(nil), nil)
	ran := filepath.Join(t.TempDir(), "ran")
	http := map[string]any{"type": "http", "url": url, "headersHelper": "touch " + ran + "; echo {}"}
	for name, c := range map[string]struct {
		plugin bool
		server map[string]any
	}{
		"a helper of the project": {false, http},
		"a helper of a plugin":    {true, http},
		"a server of the project": {false, self("official")},
		"a server of a plugin":    {true, self("official")},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			b := newBench(t, nil, func(o *mcp.Options) {
				places := placesOf(t, c.plugin, c.server)
				o.ApproveAll, o.Places = true, func() entry.Places { return places }
				o.Confine = func(e *entry.Entry) (*sandbox.Confinement, func(), error) {
					asked = e.Name
					return nil, nil, errors.New("no boundary today")
				}
			})
			b.start(t)
			s := b.set.Status()[0]
			if _, err := os.Stat(ran); err == nil || asked != "s" || s.State != mcp.Failed || !strings.Contains(s.Err,
				"no boundary today") {
				t.Errorf("asked %q, ran: %v, %+v", asked, err == nil, s)
			}
		})
	}
}

func placesOf(t *testing.T, plugin bool, server map[string]any) entry.Places {
	t.Helper()
	p := entry.Places{Lookup: os.LookupEnv}
	if plugin {
		p.Plugins = func() map[string]entry.PluginServer {
			return map[string]entry.PluginServer{"s": {
				Raw: json.RawMessage(object(t, server)), Root: "/plugin/root",
				Data: "/plugin/data",
			}}
		}
		return p
	}
	p.ProjectDir = t.TempDir()
	if err := os.WriteFile(filepath.Join(p.ProjectDir, ".mcp.json"),
		[]byte(object(t, map[string]any{"mcpServers": map[string]any{"s": server}})), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAServerOfAPluginKnowsItsFoldersAndNoCredentials(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_canary")
	places := placesOf(t, true, self("official"))
	b := newBench(t, nil, func(o *mcp.Options) { o.Places = func() entry.Places { return places } })
	b.start(t)
	got := b.text(t, "mcp__s__env", `{"text":""}`)
	if strings.Contains(got, "ghp_canary") || !strings.Contains(got, "CLAUDE_PLUGIN_ROOT=/plugin/root") ||
		!strings.Contains(got, "CLAUDE_PLUGIN_DATA=/plugin/data") {
		t.Errorf("%s", got)
	}
}
