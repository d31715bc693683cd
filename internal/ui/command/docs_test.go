package command

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/commands.md")

func TestTheDocumentListsTheCommands(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "commands.md")
	if *update {
		if err := os.WriteFile(file, []byte(Document()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil || string(b) != Document() {
		t.Errorf("%s is out of date (%v): go test ./internal/ui/command -update", file, err)
	}
}

func TestEveryCommandIsWhole(t *testing.T) {
	groups := []string{groupConversation, groupSessions, groupModel, groupRules, groupLathe}
	seen := map[string]bool{}
	for _, c := range All() {
		if c.Name == "" || c.Help == "" || c.Run == nil || !slices.Contains(groups, c.Group) {
			t.Errorf("%q: incomplete", c.Name)
		}
		if strings.HasSuffix(c.Help, ".") || strings.ContainsAny(c.Help, "\n") || len(c.Help) > 90 {
			t.Errorf("%s: the help is a line without a full stop", c.Name)
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if seen[name] {
				t.Errorf("%s: two commands have this name", name)
			}
			seen[name] = true
			if n, _, ok := Parse("/" + name); !ok || n != name {
				t.Errorf("%s cannot be typed", name)
			}
		}
	}
}

func TestOnlyASlashAndANameIsACommand(t *testing.T) {
	for text, want := range map[string]string{
		"/model": "model|", " /model  opus 4\n": "model|opus 4", "/a\nb": "a|b", "/mcp__x__y z": "mcp__x__y|z",
		"/front:test": "front:test|",
		"/usr/bin":    "", "/": "", "/ x": "", "model": "", "/a.b": "", "//x": "", "/é": "",
	} {
		got := ""
		if name, args, ok := Parse(text); ok {
			got = name + "|" + args
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCompletionRanksByFitThenByUse(t *testing.T) {
	names := func(typed string, score func(string) float64) (out []string) {
		for _, c := range Complete(typed, nil, score, 0) {
			out = append(out, c.Text)
		}
		return out
	}
	if got := names("", nil); len(got) < 25 || got[0] != "new" || slices.Contains(got, "rename-session") {
		t.Errorf("%v", got)
	}
	if got := names("mode", nil); got[0] != "mode" || got[1] != "model" {
		t.Errorf("%v", got)
	}
	used := func(name string) float64 { return map[string]float64{"resume": 2}[name] }
	if got := names("re", used); got[0] != "resume" {
		t.Errorf("%v", got)
	}
	if got := names("exit", nil); len(got) == 0 || got[0] != "quit" {
		t.Errorf("an alias is not found: %v", got)
	}
	if got := names("zzz", nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := Complete("mod", nil, nil, 1); len(got) != 1 || !slices.Equal(got[0].Marks, []int{0, 1, 2}) {
		t.Errorf("%+v", got)
	}
}

func TestAnUnknownNameTellsTheNearOnes(t *testing.T) {
	if got := Unknown("resum").Error(); !strings.Contains(got, "/resume") {
		t.Errorf("%s", got)
	}
}

func TestForeignTextStaysItself(t *testing.T) {
	for in, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`": "`` ` ``", "": "(none)", "a\nb": "`a b`"} {
		if got := code(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := fenced("", "x\n```\ny"); !strings.HasPrefix(got, "````\n") {
		t.Errorf("%q", got)
	}
}

func TestRulesAreReadWithTheirPlace(t *testing.T) {
	for in, want := range map[string]ruleRow{
		"allow Bash(go test *)":           {Effect: "allow", Text: "Bash(go test *)", Scope: "local"},
		"deny Bash(rm *) in user":         {Effect: "deny", Text: "Bash(rm *)", Scope: "user"},
		"ask Bash(echo a in b)":           {Effect: "ask", Text: "Bash(echo a in b)", Scope: "local"},
		"allow WebFetch in session":       {Effect: "allow", Text: "WebFetch", Scope: "session"},
		"deny Bash(x in user) in project": {Effect: "deny", Text: "Bash(x in user)", Scope: "project"},
	} {
		if got, err := readRule(in); err != nil || got != want {
			t.Errorf("%q: %+v %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "allow", "permit Bash", "allow Bash in mars"} {
		if _, err := readRule(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
