//go:build unix

package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Newer SDKs start lathe with --await-initialize to hand over plugins and servers on stdin; the answer says whether
// they count.
func TestTheFirstLineInitializesWhereTheHostSaysSo(t *testing.T) {
	d := drive(t, "final\n  say Done.\n", "--await-initialize")
	path := filepath.Join(d.dir, "heron")
	if err := os.MkdirAll(filepath.Join(path, ".claude-plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("heron/.claude-plugin/plugin.json", `{"name": "heron"}`)
	config, _ := decider(t, "")
	servers := strings.TrimSuffix(strings.TrimPrefix(config, `{"mcpServers": `), "}")
	answer, err := d.ask(fmt.Sprintf(`{"subtype":"initialize","plugins":[{"type":"local","path":%q}],"mcpServers":%s}`,
		path, servers))
	if err != "" || answer["plugins_applied"] != true || answer["mcp_servers_applied"] != true ||
		answer["hooks_applied"] != nil {
		t.Errorf("%v %v", err, answer)
	}
	d.send(said("hello", "one"))
	begun := d.kind("init")
	if !strings.Contains(fmt.Sprint(begun["plugins"]), "heron") || !strings.Contains(fmt.Sprint(begun["mcp_servers"]),
		"name:x") {
		t.Errorf("%v", begun)
	}
	d.kind("result")
	d.end()
}

func TestAHostThatDoesNotInitializeFirstIsRefused(t *testing.T) {
	for name, lines := range map[string][]string{
		"a message":       {said("hello", "one")},
		"no JSON":         {"hello"},
		"another request": {`{"type":"control_request","request_id":"r","request":{"subtype":"mcp_status"}}`},
		"nothing":         nil,
	} {
		d := drive(t, "final\n  say Done.\n", "--await-initialize")
		d.send(lines...)
		_ = d.in.Close()
		r := d.kind("result")
		err := d.cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 ||
			!strings.Contains(fmt.Sprint(r["errors"]), "initialize") || len(d.srv.Requests()) != 0 {
			t.Errorf("%s: %v, %v", name, err, r)
		}
	}
}

func TestAHostCannotHaveAPluginWithoutItsServers(t *testing.T) {
	d := drive(t, "final\n  say Done.\n", "--await-initialize")
	if _,
		err := d.ask(
		`{"subtype":"initialize","plugins":[{"type":"local","path":"/p","skipMcpDiscovery":true}]}`); !strings.Contains(err,
		"skipMcpDiscovery") {
		t.Errorf("%q", err)
	}
}
