//go:build linux || darwin

package cli_test

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

func TestALoginInTheTerminal(t *testing.T) {
	lathe, w := buildLathe(t), loginWorld(t)
	dir, env := mcpHome(t)
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), lathe, append([]string{"mcp"}, args...)...)
		c.Dir, c.Env = dir, append(env, "TERM=xterm-256color")
		return c
	}
	if out, err := command("add", "--transport", "http", "x", w.URL()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, pasted := range map[string]bool{"the browser comes back": false, "the address is pasted": true} {
		t.Run(name, func(t *testing.T) {
			s := termtest.Start(t, command("login", "--no-browser", "x"), 90, 30)
			s.Sees("state=")
			s.Sees("\n") // the whole address, which is longer than a line
			address := regexp.MustCompile(`http://\S+/authorize\?\S+`).FindString(s.Output())
			browser := &http.Client{}
			if pasted {
				browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			}
			resp, err := browser.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if pasted {
				s.Line("not an address")
				s.Sees("not the address")
				s.Type(resp.Header.Get("Location") + "\r")
			}
			s.Sees("x: logged in at " + w.Issuer.URL)
			if out := ended(t, s, 0); strings.Contains(out, "access-") {
				t.Errorf("the token is shown: %s", out)
			}
			if out, err := command("list").CombinedOutput(); err != nil || !strings.Contains(string(out), "logged in") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
