package cli

import (
	"strings"
	"testing"
)

func TestTheUnitOfTheServerLeavesSessionsAlone(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "")
	f := serveFlags{listen: []string{"127.0.0.1:7000"}, hosts: []string{`a"b%c$d`}, ownTLS: true}
	for system, wants := range map[string][]string{
		"linux": {
			`ExecStart="/bin/lathe" "serve" "--listen=127.0.0.1:7000" "--host=a\"b%%c$$d" "--tls"`, "KillMode=process",
		},
		"darwin": {"<string>--host=a&#34;b%c$d</string>", "<key>AbandonProcessGroup</key><true/>"},
	} {
		path, text, next := unitFor(system, "/home/ann", append([]string{"/bin/lathe", "serve"}, f.args()...))
		for _, w := range wants {
			if !strings.HasPrefix(path, "/home/ann/") || !strings.Contains(text, w) || next == "" {
				t.Errorf("%s: no %s in %s %s", system, w, path, text)
			}
		}
	}
}

func TestOthersReachTheServerByTLSOnly(t *testing.T) {
	for _, at := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		_, err := serveFlags{}.entry(t.Context(), at, nil)
		if err == nil || !strings.Contains(err.Error(), "others could read along") {
			t.Errorf("%s: %v", at, err)
		}
	}
	e, err := serveFlags{}.entry(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = e.Close()
}

func TestAQRCodeFitsTheTerminal(t *testing.T) {
	var b strings.Builder
	if err := printQR(&b, "https://192.0.2.2:7000/pair#code=ABCDEFGHJK"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, l := range lines {
		_, l, _ = strings.Cut(l, "m")
		l, _, _ = strings.Cut(l, "\x1b")
		if n := len([]rune(l)); n > 80 || (n+1)/2 != len(lines) {
			t.Errorf("%d columns and %d lines", n, len(lines))
		}
	}
}
