package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The options of the TypeScript Agent SDK: testdata/sdk/options.txt has their names, docs/headless.md lathe's support
// of each, and testdata/sdk/options.mjs tries them.

func sdkOptions(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/sdk/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

var optionRow = regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)` \\| (works|refused|without effect)(?:: [^|]+)? \\|$")

// documentedOptions reads the table of the page.
func documentedOptions(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../docs/headless.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n## Options of the Agent SDK\n")
	if !ok {
		t.Fatal("docs/headless.md has no table of the options")
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	rows := map[string]string{}
	for _, m := range optionRow.FindAllStringSubmatch(rest, -1) {
		if rows[m[1]] != "" {
			t.Errorf("docs/headless.md: %s has two rows", m[1])
		}
		rows[m[1]] = m[2]
	}
	if n := strings.Count(rest, "\n| `"); n != len(rows) {
		t.Errorf("docs/headless.md: %d of %d rows are in the form of the table", len(rows), n)
	}
	return rows
}

func TestTheHeadlessPageNamesTheOptionsOfTheSDK(t *testing.T) {
	rows, names := documentedOptions(t), sdkOptions(t)
	for _, name := range names {
		if rows[name] == "" {
			t.Errorf("docs/headless.md: the option %s has no row", name)
		}
	}
	for name := range rows {
		if !slices.Contains(names, name) {
			t.Errorf("docs/headless.md: the SDK has no option %s", name)
		}
	}
	script, err := os.ReadFile("testdata/sdk/options.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^  ` + name + `: `).Match(script) {
			t.Errorf("testdata/sdk/options.mjs does not try %s", name)
		}
	}
}

var typeField = regexp.MustCompile(`(?m)^    ([a-zA-Z]+)\?:`)

func TestTheOptionsOfTheSDKDoWhatThePageSays(t *testing.T) {
	sdk := os.Getenv("LATHE_AGENT_SDK")
	node, err := exec.LookPath("node")
	if sdk == "" || err != nil {
		t.Skip("needs node and the SDK: npm i @anthropic-ai/claude-agent-sdk, and " +
			"LATHE_AGENT_SDK=.../node_modules/@anthropic-ai/claude-agent-sdk")
	}
	types, err := os.ReadFile(filepath.Join(sdk, "sdk.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(string(types), "\r\n", "\n"), "\nexport declare type Options = {\n")
	body, _, _ = strings.Cut(body, "\n};")
	var names []string
	for _, m := range typeField.FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	if want := sdkOptions(t); !slices.Equal(names, want) {
		t.Errorf("the SDK's options changed; write them to testdata/sdk/options.txt:\n%s", strings.Join(names, "\n"))
	}
	c := exec.Command(node, "testdata/sdk/options.mjs", buildLathe(t), sdk)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rows, tried := documentedOptions(t), map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var r struct{ Option, Outcome, Detail string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		tried[r.Option] = true
		if r.Outcome != rows[r.Option] {
			t.Errorf("%s: %s (%s), and the page says %q", r.Option, r.Outcome, r.Detail, rows[r.Option])
		}
	}
	for _, name := range names {
		if !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}
