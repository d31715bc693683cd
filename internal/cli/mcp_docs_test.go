//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// Every entry of docs/mcp.md is one that lathe reads.
func TestTheEntriesOfTheMCPPageAreRead(t *testing.T) {
	data, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(data), "```json\n")[1:]
	if len(blocks) < 4 {
		t.Fatalf("%d entries", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		entries, faults, err := entry.Read(entry.Places{Flags: []string{text}, Strict: true, Lookup: os.LookupEnv})
		if err != nil || len(faults) > 0 || len(entries) != 1 {
			t.Errorf("%s\n%+v %q %v", text, entries, faults, err)
			continue
		}
		var known entry.Fields
		strict := json.NewDecoder(strings.NewReader(string(entries[0].Raw)))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&known); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// The commands of docs/mcp.md are run as they are there, with a npx that starts a server of this machine.
func TestTheCommandsOfTheMCPPageRun(t *testing.T) {
	dir, env := mcpHome(t)
	lathe, bin := buildLathe(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npx"), []byte("#!/bin/sh\nexec "+lathe+" mcp serve --no-agent\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	project := `{"mcpServers": {"NAME": {"command": "npx", "args": ["server"]}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"mcp add files -- npx -y @modelcontextprotocol/server-filesystem .": "added files to", "mcp test files": "connected",
		"mcp list":     "files",
		"mcp get NAME": "unapproved", "mcp approve NAME": "approved NAME",
	}
	for _, line := range append(docExample(t, "mcp.md", "Declare one"),
		docExample(t, "mcp.md", "Servers of a project")...) {
		args, ok := strings.CutPrefix(line, "lathe ")
		if !ok {
			t.Fatalf("%q", line)
		}
		c := exec.CommandContext(t.Context(), lathe, strings.Fields(args)...)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		if err != nil || want[args] == "" || !strings.Contains(string(out), want[args]) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		delete(want, args)
	}
	if len(want) > 0 {
		t.Errorf("the page has no %v", want)
	}
}

// The first line of a stream names the prompts of servers among the slash commands, also before their server runs.
func TestTheFirstLineNamesThePromptsOfServers(t *testing.T) {
	const raw = `{"command":"true"}`
	e, err := (&entry.Places{}).Parse("notes", json.RawMessage(raw), entry.Flag)
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]bool{"--verbose": true, "--disable-slash-commands": false} {
		d := drive(t, "final\n  say Hello.\n", "--mcp-config", `{"mcpServers":{"notes":`+raw+`}}`, flag)
		kept := filepath.Join(filepath.Dir(d.dir), ".local", "state", "lathe", "mcp", "tools", e.Sum()[:32])
		if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
			t.Fatal(err)
		}
		for ending, text := range map[string]string{
			".json":         `{"tools":[]}`,
			".prompts.json": `[{"name":"tidy up","description":"Tidies"}]`,
		} {
			if err := os.WriteFile(kept+ending, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d.send(said("hi", "1"))
		commands, _ := d.kind("init")["slash_commands"].([]any)
		if slices.Contains(commands, any("mcp__notes__tidy_up")) != want {
			t.Errorf("%s: %v", flag, commands)
		}
	}
}
