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
		"(deny file-write*\n  (subpath \"/Users/me/project/sub/.git/hooks\")\n  (subpath \"/Users/me/project/odd\\\" (allow default) \\\"\"))",
		"(deny file-read* file-write*\n  (subpath \"/Users/me/.ssh\"))",
		"(deny file-write-unlink file-write-create\n  (literal \"/Users/me/project\")\n  (literal \"/Users/me/project/sub\")\n  (literal \"/Users/me/project/sub/.git\"))",
	}
	for i := 1; i < len(order); i++ {
		if at(order[i-1]) >= at(order[i]) {
			t.Errorf("%q is not before %q", order[i-1], order[i])
		}
	}
	for _, bad := range []string{"appleevent", "mach-lookup)", "(allow default", "unix-socket", "(allow network*)", "network-outbound)", "(allow mach*"} {
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
	text := SeatbeltProfile(&Policy{Mode: ReadOnly, Temp: "/private/tmp/lathe-1", Write: []string{"/Users/me/project"}, Protect: []string{"/Users/me/project/.lathe"}})
	if strings.Count(text, "(subpath ") != 2 || strings.Contains(text, `(allow file-write*
  (subpath "/Users`) {
		t.Error(text)
	}
	if with := SeatbeltProfile(&Policy{Mode: ReadOnly, Sockets: true}); !strings.Contains(with, "(remote unix-socket)") {
		t.Error(with)
	}
}
