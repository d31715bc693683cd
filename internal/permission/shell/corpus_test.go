package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// TestCasesOfAFile reads JSON lines with id, kind "command", input and expect (allow-readonly, ask, deny) from
// testdata/cases.jsonl, and from the file that LATHE_CASES names.
func TestCasesOfAFile(t *testing.T) {
	tryCases(t, "testdata/cases.jsonl")
	if name := os.Getenv("LATHE_CASES"); name != "" {
		tryCases(t, name)
	}
}

func tryCases(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c struct {
			ID, Kind, Input, Expect string
			Tier                    int
		}
		if json.Unmarshal(lines.Bytes(), &c) != nil || c.Kind != "command" {
			continue
		}
		r := read(c.Input)
		switch got := verdict(r); {
		case got == c.Expect:
		case c.Expect == "ask" && got == "deny", c.Tier == 2:
			t.Logf("%s %.90q: expected %s, got %s", c.ID, c.Input, c.Expect, got)
		default:
			t.Errorf("%s %.90q: expected %s, got %s: %s %+v %+v", c.ID, c.Input, c.Expect, got, r.Command.Class,
				r.Command.Findings, r.Command.Parts)
		}
	}
}

func verdict(r Result) string {
	switch {
	case denied(r):
		return "deny"
	case approved(r):
		return "allow-readonly"
	}
	return "ask"
}
