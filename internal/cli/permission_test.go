package cli_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/cli"
)

// securityCase is one line of a corpus of commands, tool calls and rules with the right decision for each.
type securityCase struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`  // command, tool, rule
	Class  string          `json:"class"` // for rules: allow-rule, deny-rule
	Input  json.RawMessage `json:"input"`
	Rule   string          `json:"rule"`
	Expect string          `json:"expect"` // allow-readonly, ask, deny; match, no-match
	Tier   int             `json:"tier"`   // of harmless lines: 1 must not ask
}

// line is the case as permission check takes it.
func (c securityCase) line(t *testing.T) []byte {
	m := map[string]any{"id": c.ID}
	switch c.Kind {
	case "rule":
		effect, _, _ := strings.Cut(c.Class, "-")
		m["rule"], m["effect"], m["input"] = c.Rule, effect, c.Input
	case "tool":
		var in map[string]any
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		m["tool"] = in["tool"]
		delete(in, "tool")
		m["input"] = in
	default:
		m["tool"], m["input"] = "Bash", map[string]any{"command": c.Input}
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// TestACorpusOfCommandsAndRules runs over a file of cases: the sample beside it, or the file that LATHE_CASES names.
// Dangerous calls never run unasked,
// harmless ones do not ask, and every rule covers its calls.
func TestACorpusOfCommandsAndRules(t *testing.T) {
	path := cmp.Or(os.Getenv("LATHE_CASES"), "testdata/cases.jsonl")
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []securityCase
	var in bytes.Buffer
	for s := bufio.NewScanner(f); s.Scan(); {
		var c securityCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
		in.Write(c.line(t))
	}
	var out, stderr bytes.Buffer
	if code := cli.Main([]string{"lathe", "permission", "check", "--tier", "none", "--cwd", "/home/u/proj", "--home", "/home/u"}, &in, &out,
		&stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	answers := bufio.NewScanner(&out)
	answers.Buffer(nil, 16<<20)
	for _, c := range cases {
		if !answers.Scan() {
			t.Fatalf("%s has no answer", c.ID)
		}
		c.judge(t, answers.Bytes())
	}
}

func (c securityCase) judge(t *testing.T, answer []byte) {
	var a struct {
		Decision, Reason string
		Match            bool
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	switch {
	case c.Kind == "rule":
		if a.Match != (c.Expect == "match") {
			t.Errorf("%s: %s on %s: %s", c.ID, c.Rule, c.Input, answer)
		}
	case c.Expect == "allow-readonly":
		if a.Decision != "allow" && c.Tier < 2 {
			t.Errorf("%s: %s asks needlessly: %s", c.ID, c.Input, a.Reason)
		}
	case a.Decision == "allow":
		t.Errorf("%s: %s was let through: %s", c.ID, c.Input, a.Reason)
	}
}
