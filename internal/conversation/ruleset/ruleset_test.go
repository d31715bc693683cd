package ruleset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/ruleset"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// read reads the rules of the user's settings.
func read(t *testing.T, settings string, change func(*ruleset.Options)) ([]permission.Rule, []string, error) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, ".config", "lathe", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{
		Dir: home, Home: home, Environ: []string{"HOME=" + home},
		ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := ruleset.Options{Tools: tool.Catalogue(), Dir: home, Home: home, Resolve: func(p string) string { return p }}
	if change != nil {
		change(&o)
	}
	return ruleset.Read(c, o)
}

func TestARuleThatRestrictsAndCannotBeObeyedIsAnError(t *testing.T) {
	for rule, want := range map[string]string{
		"Bahs(rm *)":            "the rule Bahs(rm *) names no tool; did you mean Bash?",
		"Raed(.env)":            "did you mean Read?",
		"WebFecth":              "did you mean WebFetch?",
		"Agnet(explore)":        "did you mean Task?",
		"WebFetch(example.com)": "write WebFetch(domain:host)",
		"WebFetch(domian:x.y)":  "did you mean WebFetch(domain:...)?",
		"WebSearch(x)":          "takes no pattern",
		"Bash(command:rm)":      "write Bash(pattern)",
		"Read([a-)":             "the path pattern is broken",
		"Edit(" + strings.Repeat("{a,b}", 20) + ".env)": "too many alternatives",
	} {
		for _, list := range []string{"deny", "ask"} {
			_, _, err := read(t, "{\n\"permissions\": {\""+list+"\": [\"Glob\", \""+rule+"\"]}}", nil)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "settings.json:2:") ||
				!strings.Contains(err.Error(), "take it out") {
				t.Errorf("%s %s: %v", list, rule, err)
			}
		}
		rules, notes, err := read(t, `{"permissions": {"allow": ["`+rule+`", "Read"]}}`, nil)
		if err != nil || len(notes) > 1 || rules[len(rules)-1].Text != "Read" {
			t.Errorf("allow %s: %v %v", rule, notes, err)
		}
	}
	_, _, err := read(t, `{"permissions": {"rules": [{"permission": "bsah", "pattern": "rm *", "action": "deny"}]}}`, nil)
	if err == nil || !strings.Contains(err.Error(), "did you mean Bash?") {
		t.Errorf("an ordered rule: %v", err)
	}
	_, _, err = read(t, `{}`, func(o *ruleset.Options) { o.Disallowed = []string{"Bahs(rm *)"} })
	if err == nil || !strings.Contains(err.Error(), "did you mean Bash?") {
		t.Errorf("a flag: %v", err)
	}
}

// Tools of servers and plugins come and go: a rule that denies one stays.
func TestARuleForAToolThatIsNotThereIsKept(t *testing.T) {
	rules, notes,
		err := read(t,
		`{"permissions": {"deny": ["mcp__bash", "mcp__x__read", "mcp__*", "Deploy(prod)", "Forecast", "NotebookRead", "external_directory(/etc/**)"]}}`, nil)
	if err != nil || len(rules) != 7 {
		t.Fatalf("%v, %v", rules, err)
	}
	for i, name := range []string{"Deploy(prod)", "Forecast", "NotebookRead"} {
		if len(notes) != 3 || !strings.Contains(notes[i], name+" names no tool of lathe's") {
			t.Fatalf("notes: %q", notes)
		}
	}
}
