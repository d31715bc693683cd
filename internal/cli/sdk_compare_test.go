package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a host sees of lathe and of Claude Code: testdata/sdk/compare.mjs asks either, testdata/sdk/claude.jsonl has
// Claude Code's answers, and docs/headless.md names the differences.

const claudeAnswers = "testdata/sdk/claude.jsonl"

// answersOf reads the facts of each case, by "case.fact".
func answersOf(t *testing.T, lines []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range bytes.Lines(lines) {
		var c struct {
			Case  string
			Facts map[string]any
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for name, value := range c.Facts {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			out[c.Case+"."+name] = string(text)
		}
	}
	return out
}

var differenceRow = regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| [^|]+ \\| [^|]+ \\|$")

// documentedDifferences reads the table of the page.
func documentedDifferences(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("../../docs/headless.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n## Differences that a host sees\n")
	if !ok {
		t.Fatal("docs/headless.md has no table of the differences")
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	rows := map[string]bool{}
	for _, m := range differenceRow.FindAllStringSubmatch(rest, -1) {
		rows[m[1]] = true
	}
	if n := strings.Count(rest, "\n| `"); n != len(rows) {
		t.Errorf("docs/headless.md: %d of %d rows are in the form of the table", len(rows), n)
	}
	return rows
}

func claudeFacts(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(claudeAnswers)
	if err != nil {
		t.Fatal(err)
	}
	return answersOf(t, b)
}

func TestTheHeadlessPageNamesAnswersThatTheScriptAsksFor(t *testing.T) {
	facts := claudeFacts(t)
	for name := range documentedDifferences(t) {
		if _, ok := facts[name]; !ok {
			t.Errorf("docs/headless.md: the script asks for no %s", name)
		}
	}
}

func TestAHostSeesTheDocumentedDifferences(t *testing.T) {
	sdk := os.Getenv("LATHE_AGENT_SDK")
	node, err := exec.LookPath("node")
	if sdk == "" || err != nil {
		t.Skip("needs node and the SDK: npm i @anthropic-ai/claude-agent-sdk zod, and " +
			"LATHE_AGENT_SDK=.../node_modules/@anthropic-ai/claude-agent-sdk")
	}
	ask := func(program string) []byte {
		c := exec.Command(node, "--no-warnings", "testdata/sdk/compare.mjs", program, sdk)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return out
	}
	if *update {
		claude, err := filepath.Glob(sdk + "-*/claude")
		if err != nil || len(claude) == 0 {
			t.Fatalf("no Claude Code beside %s: %v", sdk, err)
		}
		if err := os.WriteFile(claudeAnswers, ask(claude[0]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, got, rows := claudeFacts(t), answersOf(t, ask(buildLathe(t))), documentedDifferences(t)
	for name, value := range want {
		switch differs := got[name] != value; {
		case differs && !rows[name]:
			t.Errorf("%s: Claude Code answers %s, lathe %s, and the page does not say so", name, value,
				cmp.Or(got[name], "nothing"))
		case !differs && rows[name]:
			t.Errorf("%s is equal (%s), and the page has it among the differences", name, value)
		}
	}
	for name, value := range got {
		if _, ok := want[name]; !ok && !rows[name] {
			t.Errorf("%s: lathe answers %s, Claude Code nothing", name, value)
		}
	}
}
