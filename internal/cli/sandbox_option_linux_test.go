//go:build unix

package cli_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// reaches is what a command of the model tries in the project's folder; its arguments are a port outside and a Unix
// socket there.
const reaches = `#!/bin/bash
try() { name=$1; shift; if "$@" 2>/dev/null; then echo "$name worked"; else echo "$name refused"; fi; }
write() { echo x >"$1"; }
talk() { exec 4<>"/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}" && printf "$1" >&4 && grep -q hello <&4; }
unix() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1"; }
try inside write inside
try beside write ../beside/x
try kept write kept/x
try hidden grep -q word hidden.txt
try secret grep -q hush ~/.netrc
try host talk "GET http://127.0.0.1:$1/ HTTP/1.0\r\n\r\n"
try elsewhere talk "GET http://elsewhere.example/ HTTP/1.0\r\n\r\n"
try socks talk "\5\1\0\5\1\0\1\177\0\0\1\0\1"
try socket unix "$2"
try own python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("own.sock")'; rm -f own.sock
`

// TestEachFieldOfTheSandboxOptionNarrowsOrOpens gives the option as the SDKs do, in --settings.
func TestEachFieldOfTheSandboxOptionNarrowsOrOpens(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: it makes the sockets")
	}
	t.Setenv("TMPDIR", "/var/tmp") // inside, /tmp is another folder
	socket := filepath.Join(t.TempDir(), "s")
	port := greet(t, "tcp", "127.0.0.1:0")
	greet(t, "unix", socket)
	d := drive(t, fmt.Sprintf(`
reply
  when result="inside"
  say Done.
reply
  when contains="try it"
  call Bash {"command":"./try.sh %s %s"}
final
  say Done.
`, port, socket))
	d.end()
	d.write("try.sh", reaches)
	if err := os.Chmod(filepath.Join(d.dir, "try.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("hidden.txt", "word")
	d.write("../.netrc", "machine a password hush4711hush")
	for _, name := range []string{"kept", "../beside"} {
		if err := os.Mkdir(filepath.Join(d.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const plain = "inside worked, beside refused, kept worked, hidden worked, secret refused, host refused, elsewhere " +
		"refused, socks refused, socket refused, own refused"
	try := func(fields, changed string) {
		t.Helper()
		out, stderr, code := d.once("--output-format", "stream-json", "--verbose", "--allowedTools", "Bash", "--settings",
			`{"sandbox":{`+fields+`}}`, "try it")
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", fields, code, stderr)
		}
		_, out, _ = strings.Cut(out, `"type":"tool_result","content":"`)
		out, _, _ = strings.Cut(out, `"`)
		for _, want := range strings.Split(plain, ", ") {
			name, _, _ := strings.Cut(want, " ")
			if strings.Contains(changed, name+" ") {
				_, rest, _ := strings.Cut(changed, name+" ")
				how, _, _ := strings.Cut(rest, ",")
				want = name + " " + how
			}
			if !strings.Contains(out, want) {
				t.Errorf("%s: not %q: %s", fields, want, out)
			}
		}
	}
	try(`"enabled":true`, "")
	try(`"enabled":false`, "beside worked, secret worked, host refused, socket worked, own worked")
	for fields, changed := range map[string]string{
		`"mode":"read-only"`: "inside refused, kept refused",
		`"excludedCommands":["./try.sh"]`: "beside worked, secret worked, " +
			"socket worked, own worked",
		`"filesystem":{"allowWrite":["../beside"]}`:                                  "beside worked",
		`"filesystem":{"denyWrite":["kept"]}`:                                        "kept refused",
		`"filesystem":{"denyRead":["hidden.txt"]}`:                                   "hidden refused",
		`"filesystem":{"allowRead":["~/.netrc"]}`:                                    "secret worked",
		`"network":{"allowedDomains":["127.0.0.1"]}`:                                 "host worked",
		`"network":{"allowAllUnixSockets":true}`:                                     "own worked, socket worked",
		`"network":{"allowUnixSockets":["` + socket + `"]}`:                          "own worked, socket worked",
		`"network":{"httpProxyPort":` + port + `}`:                                   "host worked, elsewhere worked",
		`"network":{"socksProxyPort":` + port + `}`:                                  "socks worked",
		`"network":{"allowedDomains":["127.0.0.1"],"deniedDomains":["127.0.0.0/8"]}`: "",
	} {
		try(`"enabled":true,`+fields, changed)
	}
}

// TestTheSandboxOptionDecidesWhatTheHostIsAsked counts the questions that a host on the protocol gets, which denies
// each.
func TestTheSandboxOptionDecidesWhatTheHostIsAsked(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	const fetch = `exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://asked.example/ HTTP/1.0\r\n\r\n' >&4 && cat <&4`
	for _, c := range []struct{ fields, command, allowed, asked string }{
		{`"enabled":true`, "touch made", "", "Bash"},
		{`"enabled":true,"autoAllowBashIfSandboxed":true`, "touch made", "", ""},
		{`"enabled":true,"autoAllowBashIfSandboxed":true,"excludedCommands":["touch"]`, "touch made", "", "Bash"},
		{`"enabled":true`, "touch /var/tmp/lathe-asked", "Bash", "Bash outside"},
		{`"enabled":true,"allowUnsandboxedCommands":true`, "touch /var/tmp/lathe-asked", "Bash", "Bash outside"},
		{`"enabled":true,"allowUnsandboxedCommands":false`, "touch /var/tmp/lathe-asked", "Bash", ""},
		{`"enabled":true,"allowUnsandboxedCommands":false`, "bash fetch.sh", "Bash", "SandboxNetworkAccess"},
		{`"enabled":true,"allowUnsandboxedCommands":false,"network":{"strictAllowlist":true}`, "bash fetch.sh", "Bash", ""},
		{
			`"enabled":true,"allowUnsandboxedCommands":false,"network":{"deniedDomains":["*.example"]}`, "bash fetch.sh",
			"Bash", "",
		},
	} {
		model := fmt.Sprintf("reply\n  call Bash {\"command\":%q}\nfinal\n  say Done.\n", c.command)
		flags := []string{"--permission-prompt-tool", "stdio", "--settings", `{"sandbox":{` + c.fields + `}}`}
		if c.allowed != "" {
			flags = append(flags, "--allowedTools", c.allowed)
		}
		d := drive(t, model, flags...)
		d.write("fetch.sh", fetch)
		d.send(said("go", "1"))
		if got := strings.Join(d.denyAll(), ", "); got != c.asked {
			t.Errorf("%s, %s: the host was asked about %q, want %q", c.fields, c.command, got, c.asked)
		}
		d.end()
	}
}

// TestTheCommandsOfAStreamKnowTheSandbox asks for it as a host does.
func TestTheCommandsOfAStreamKnowTheSandbox(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	for set, want := range map[string][2]string{
		`{"enabled":true}`:                    {"tier: full", "sandbox: sandboxed"},
		`{"enabled":true,"mode":"read-only"}`: {"may write: /tmp", "sandbox: sandboxed"},
		`{"enabled":false}`:                   {"it is switched off", "sandbox: off"},
	} {
		d := drive(t, "final\n  say Done.\n", "--settings", `{"sandbox":`+set+`}`)
		for i, line := range []string{"/sandbox", "/status"} {
			d.send(said(line, "1"))
			text, _ := d.kind("result")["result"].(string)
			if !strings.Contains(text, want[i]) {
				t.Errorf("%s %s: not %q: %s", set, line, want[i], text)
			}
		}
		d.end()
	}
}

// denyAll denies what the host is asked until the turn ends, and returns what that was.
func (d *driven) denyAll() (asked []string) {
	d.t.Helper()
	for {
		m := d.until("a question or the end", func(
			m map[string]any,
		) bool {
			return m["type"] == "control_request" || m["type"] == "result"
		})
		r, ok := m["request"].(map[string]any)
		if !ok {
			return asked
		}
		name, _ := r["tool_name"].(string)
		if input, _ := r["input"].(map[string]any); input["dangerouslyDisableSandbox"] == true {
			name += " outside"
		}
		asked = append(asked, name)
		id, _ := m["request_id"].(string)
		d.send(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id +
			`","response":{"behavior":"deny","message":"no"}}}`)
	}
}

// greet says hello to whoever connects, and hears the first bytes.
func greet(t *testing.T, network, address string) (port string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 1<<10))
				_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}
