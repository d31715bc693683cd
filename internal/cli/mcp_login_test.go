package cli_test

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
)

// docExample are the lines of a section's first indented block.
func docExample(t *testing.T, page, section string) []string {
	t.Helper()
	data, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/%s has no section %q", page, section)
	}
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") {
			out = append(out, strings.TrimSpace(line))
		} else if len(out) > 0 {
			break
		}
	}
	return out
}

// home is a user's empty home, and a project in it.
func mcpHome(t *testing.T) (dir string, env []string) {
	t.Helper()
	home := t.TempDir()
	dir = filepath.Join(home, "project")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=",
		"XDG_DATA_HOME=", "XDG_CACHE_HOME=", "LATHE_KEYRING=file", "DISPLAY=", "WAYLAND_DISPLAY=", "SSH_CONNECTION=x")
}

func loginWorld(t *testing.T) *oauthtest.World {
	s := sdk.NewServer(&sdk.Implementation{Name: "issues", Version: "1"}, nil)
	return oauthtest.New(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
}

// The example of docs/mcp.md is run as it is there, against servers on this machine.
func TestTheLoginOfTheMCPPageRuns(t *testing.T) {
	lathe, w := buildLathe(t), loginWorld(t)
	dir, env := mcpHome(t)
	var want []string
	var got string
	check := func() {
		if strings.TrimSpace(got) != strings.Join(want, "\n") && len(want) > 0 {
			t.Errorf("the output is\n%s\nand docs/mcp.md has\n%s", got, strings.Join(want, "\n"))
		}
		want = nil
	}
	for _, line := range docExample(t, "mcp.md", "Log in") {
		command, ok := strings.CutPrefix(line, "$ lathe ")
		if !ok {
			want = append(want, strings.ReplaceAll(line, "ISSUER", w.Issuer.URL))
			continue
		}
		check()
		c := exec.CommandContext(t.Context(), lathe, strings.Fields(strings.ReplaceAll(command, "SERVER", w.URL()))...)
		c.Dir, c.Env = dir, env
		got = runLogin(t, c, false)
	}
	check()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(dir), ".local", "state", "lathe", "credentials.json"))
	if err != nil || strings.Contains(string(data), "access-") {
		t.Errorf("%s, %v", data, err)
	}
}

func TestTheAddressOfTheBrowserIsPasted(t *testing.T) {
	lathe, w := buildLathe(t), loginWorld(t)
	dir, env := mcpHome(t)
	for _, args := range [][]string{{"mcp", "add", "--transport", "http", "x", w.URL()}, {
		"mcp", "login", "--no-browser",
		"x",
	}, {"mcp", "get", "x"}, {"mcp", "list"}} {
		c := exec.CommandContext(t.Context(), lathe, args...)
		c.Dir, c.Env = dir, env
		if got := runLogin(t, c, true); args[1] != "add" && !strings.Contains(got, "logged in") {
			t.Errorf("%v: %s", args, got)
		}
	}
}

var queries = regexp.MustCompile(`\?\S+`)

// runLogin runs a command; where it prints an address to log in at, the user does, and, if the browser is elsewhere,
// pastes the address that it ends at.
func runLogin(t *testing.T, c *exec.Cmd, elsewhere bool) string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	c.Stderr = &problems
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		all.WriteString(queries.ReplaceAllString(line, "?...") + "\n")
		if !strings.HasPrefix(line, "http") {
			continue
		}
		browser := &http.Client{}
		if elsewhere {
			browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		}
		resp, err := browser.Get(line)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if elsewhere {
			_, _ = in.Write([]byte("not an address\n" + resp.Header.Get("Location") + "\n"))
		}
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", c.Args, err, problems.String())
	}
	if elsewhere && strings.Contains(all.String(), "Log in at") && !strings.Contains(problems.String(),
		"not the address") {
		t.Errorf("what is no address is not explained: %s", problems.String())
	}
	return all.String()
}
