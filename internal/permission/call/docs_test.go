package call_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// examples are the lines of the fenced blocks of one kind in the documentation.
func examples(t *testing.T, kind string) (out []string) {
	t.Helper()
	b, err := os.ReadFile("../../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	in := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "```"+kind:
			in = true
		case line == "```":
			in = false
		case in:
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		t.Fatalf("docs/permissions.md has no block %q", kind)
	}
	return out
}

func TestTheDecisionsOfTheDocumentation(t *testing.T) {
	for _, line := range examples(t, "decisions") {
		i := strings.LastIndex(line, " => ")
		if i < 0 {
			t.Fatalf("%q has no decision", line)
		}
		m := machine()
		req, err := m.Request("Bash", object("command", line[:i]), call.Fixture{})
		if err != nil {
			t.Fatal(err)
		}
		if d := m.Policy(nil).Decide(req); string(d.Effect) != line[i+4:] {
			t.Errorf("%s, but it is %s: %s", line, d.Effect, d.Reason)
		}
	}
}

func TestTheRulesOfTheDocumentation(t *testing.T) {
	for _, line := range examples(t, "rules") {
		i := strings.LastIndex(line, " => ")
		effect, rest, _ := strings.Cut(line[:max(i, 0)], " ")
		text, subject, ok := strings.Cut(rest, " : ")
		if !ok {
			t.Fatalf("%q is not of the form: effect rule : subject => match", line)
		}
		m := machine()
		r, err := permission.ParseRule(tools, text, permission.Effect(effect), permission.Source{Base: m.Dir})
		got := false
		if err == nil {
			req, err := m.Subject(r, subject)
			if err != nil {
				t.Fatal(err)
			}
			got = m.Policy(nil).Matches(r, req)
		}
		if want := line[i+4:] == "match"; got != want {
			t.Errorf("%s: %v (%v)", line, got, err)
		}
	}
}
