package confine

import (
	"strings"
	"testing"
)

func TestTheSeatbeltProfileHasThePolicy(t *testing.T) {
	text := SeatbeltProfile(&Policy{
		Mode: Workspace, Temp: "/private/tmp/lathe-1", Write: []string{"/Users/me/project"},
		Protect: []string{"/Users/me/project/sub/.git/hooks", `/Users/me/project/odd" (allow default) "`},
		Mask:    []string{"/Users/me/.ssh"},
	})
	at := func(part string) int {
		t.Helper()
		i := strings.Index(text, part)
		if i < 0 {
			t.Errorf("%q is not in\n%s", part, text)
		}
		return i
	}
	order := []string{ // later rules win
		"(deny default)",
		"(allow file-read* file-test-existence)",
		"(allow file-write*\n  (subpath \"/private/tmp/lathe-1\"))",
		"(allow file-write*\n  (subpath \"/Users/me/project\"))",
		"(deny file-write*\n  (subpath \"/Users/me/project/sub/.git/hooks\")\n  (subpath \"/Users/me/project/odd\\\" " +
			"(allow default) \\\"\"))",
		"(deny file-read* file-write*\n  (subpath \"/Users/me/.ssh\"))",
		"(deny file-write-unlink file-write-create\n  (literal \"/Users/me/project\")\n  (literal " +
			"\"/Users/me/project/sub\")\n  (literal \"/Users/me/project/sub/.git\"))",
	}
	for i := 1; i < len(order); i++ {
		if at(order[i-1]) >= at(order[i]) {
			t.Errorf("%q is not before %q", order[i-1], order[i])
		}
	}
	for _, bad := range []string{
		"appleevent", "mach-lookup)", "(allow default", "unix-socket", "(allow network*)",
		"network-outbound)", "(allow mach*",
	} {
		if strings.Contains(strings.ReplaceAll(text, `\" (allow default) \"`, ""), bad) {
			t.Errorf("%q is in\n%s", bad, text)
		}
	}
	if open, shut := balance(text); open != shut {
		t.Errorf("%d parentheses are open", open-shut)
	}
}

// balance counts parentheses outside of strings.
func balance(text string) (open, shut int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			open++
		case c == ')':
			shut++
		}
	}
	return open, shut
}

func TestAReadOnlySeatbeltProfileOpensItsTemporaryFolderOnly(t *testing.T) {
	text := SeatbeltProfile(&Policy{
		Mode: ReadOnly, Temp: "/private/tmp/lathe-1", Write: []string{"/Users/me/project"},
		Protect: []string{"/Users/me/project/.lathe"},
	})
	if strings.Count(text, "(subpath ") != 2 || strings.Contains(text, `(allow file-write*
  (subpath "/Users`) {
		t.Error(text)
	}
	if with := SeatbeltProfile(&Policy{Mode: ReadOnly, Sockets: true}); !strings.Contains(with, "(remote unix-socket)") {
		t.Error(with)
	}
}

func TestASeatbeltProfileSaysNothingMoreThanItsPolicy(t *testing.T) {
	const me = "/Users/me/project"
	for name, c := range map[string]struct {
		policy    Policy
		has, lack []string
	}{
		"read-only": {
			Policy{Mode: ReadOnly, Write: []string{me}, Protect: []string{me + "/.git/hooks"}, Mask: []string{"/Users/me/.ssh"}},
			[]string{"(deny file-read* file-write*\n  (subpath \"/Users/me/.ssh\"))"},
			[]string{"(allow file-write*\n  (subpath", "unix-socket"},
		},
		"workspace": {
			Policy{Mode: Workspace, Write: []string{me, "/Users/me/more"}, Temp: "/private/tmp/t", Private: "/private/tmp/c1"},
			[]string{
				"(allow file-write*\n  (subpath \"" + me + "\")\n  (subpath \"/Users/me/more\"))",
				"(allow file-write*\n  (subpath \"/private/tmp/t\"))",
				"(allow file-write*\n  (subpath \"/private/tmp/c1\"))",
			},
			[]string{"(deny file-write*\n", "(deny file-read*"},
		},
		"no network but loopback": {
			Policy{Mode: Workspace, Write: []string{me}},
			[]string{
				"(allow network-outbound (remote ip \"localhost:*\"))",
				"(allow network-inbound (local ip \"localhost:*\"))",
			},
			[]string{"(allow network*", "remote ip \"*", "remote tcp", "remote udp", "mDNSResponder"},
		},
		"Unix sockets": {
			Policy{Mode: Workspace, Sockets: true},
			[]string{"(allow network* (local unix-socket) (remote unix-socket))"},
			nil,
		},
		"protected names": {
			Policy{Mode: Workspace, Write: []string{me}, Protect: []string{
				me + "/.git/hooks", me + "/.git/config",
				me + "/.claude",
			}},
			[]string{"(deny file-write*\n  (subpath \"" + me + "/.git/hooks\")\n  (subpath \"" + me +
				"/.git/config\")\n  (subpath \"" + me + "/.claude\"))", "(literal \"" + me + "/.git\")"},
			nil,
		},
		"masks": {
			Policy{Mode: Workspace, Write: []string{me}, Mask: []string{me + "/.env", "/Users/me/.aws"}},
			[]string{"(deny file-read* file-write*\n  (subpath \"" + me + "/.env\")\n  (subpath \"/Users/me/.aws\"))"},
			nil,
		},
	} {
		text := SeatbeltProfile(&c.policy)
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, text)
			}
		}
		for _, bad := range c.lack {
			if strings.Contains(text, bad) {
				t.Errorf("%s: %q is in\n%s", name, bad, text)
			}
		}
	}
}

// A path is a string of the profile, whatever is in it: it opens no rule, and ends no string.
func TestHostilePathsStayStringsOfASeatbeltProfile(t *testing.T) {
	plain := SeatbeltProfile(&Policy{Mode: Workspace, Write: []string{"/p"}, Mask: []string{"/p/m"}})
	for _, name := range []string{
		`"`, `\`, `\"`, `") (allow default) ("`, `\") (allow default)`, "a\n(allow default)",
		"a;b", `#"x"`, "(", ")", "\x00", "ü", `\\"`,
	} {
		text := SeatbeltProfile(&Policy{Mode: Workspace, Write: []string{"/p"}, Mask: []string{"/p/" + name}})
		bare := func(text string) (out string) { // without strings
			quoted := false
			for i := 0; i < len(text); i++ {
				switch c := text[i]; {
				case c == '\\' && quoted:
					i++
				case c == '"':
					quoted = !quoted
				case !quoted:
					out += string(c)
				}
			}
			if quoted {
				t.Errorf("%q: a string does not end", name)
			}
			return out
		}
		if bare(text) != bare(plain) {
			t.Errorf("%q changes the rules:\n%s", name, text)
		}
	}
}
