package shell

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

// noTools knows no tool: these tests have no rules.
type noTools struct{}

func (noTools) Name(spelling string) string     { return spelling }
func (noTools) Traits(string) permission.Traits { return permission.Traits{} }

// decided is the decision on a line in a mode, without rules.
func decided(r Result, mode permission.Mode) permission.Effect {
	p := permission.NewPolicy(noTools{}, "/home/u", []string{proj}, nil)
	return p.Decide(permission.Request{Tool: "Bash", Mode: mode, Dir: proj, Accesses: r.Accesses}).Effect
}

func TestNoModeLetsALineRunAsItIsWritten(t *testing.T) {
	lines := []string{
		"head a.txt <>/dev/null", "git status <>/dev/null", "cat <>a.txt", "ls 3<>/dev/null", "head a.txt <> /dev//null",
		"ls > out <>/dev/null", "mkdir a <>/dev/null", "mkdir a; head b <>/dev/null",
		"ls >$X", "ls > *.txt", "ls {fd}>/dev/null", "ls >&$X",
	}
	for _, name := range []string{"harmless.txt", "ask.txt", "deny.txt", "ordinary.txt"} {
		lines = append(lines, permissiontest.Lines(t, name)...)
	}
	for _, line := range lines {
		r := read(line)
		for _, mode := range []permission.Mode{
			permission.Default, permission.AcceptEdits, permission.Plan,
			permission.DontAsk,
		} {
			if decided(r, mode) == permission.Allow && r.Command.Script == "" {
				t.Errorf("%q runs as it is written in %s: %s", line, mode, show(r))
			}
		}
	}
	for _, line := range lines[:12] {
		r := read(line)
		if decided(r, permission.Default) == permission.Allow || decided(r, permission.AcceptEdits) == permission.Allow {
			t.Errorf("%q runs unasked: %s", line, show(r))
		}
	}
}

func TestEditsAndRedirectionsHaveASafeForm(t *testing.T) {
	for line, script := range map[string]string{
		"echo x > out.txt":     `builtin 'echo' 'x' >'out.txt'`,
		"ls 2> err.txt >> log": `'/usr/bin/ls' 2>'err.txt' >>'log'`,
		"mkdir -p a && ls > b": `'/usr/bin/mkdir' '-p' 'a' && '/usr/bin/ls' >'b'`,
		"ls > /dev//null":      `'/usr/bin/ls' >'/dev//null'`,
		"cat <<'E' > f\nx\nE":  "'/usr/bin/cat' <<<'x' >'f'",
		"sed -i s/a/b/ a.txt":  `'/usr/bin/sed' '-i' 's/a/b/' 'a.txt'`,
		"sed -i s/a/b/e a.txt": ``,
		"rm a":                 ``,
		"echo x > $X":          ``,
		"make > out":           ``,
	} {
		if r := read(line); r.Command.Script != script {
			t.Errorf("%q: script %q, want %q: %s", line, r.Command.Script, script, show(r))
		}
	}
}
