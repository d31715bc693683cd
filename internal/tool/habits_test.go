package tool_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/tool"
)

// TestCallsInTheMannerOfOtherAgentsAreUnderstood: calls that models make from the tools of other agents, written from
// the public descriptions of those tools: maker, name, input, and the tool and input that are meant. Where the last is
// "schema" the call does not fit, so that its error shows the model the schema.
func TestCallsInTheMannerOfOtherAgentsAreUnderstood(t *testing.T) {
	data, err := os.ReadFile("testdata/calls.tsv")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	canonical := tool.Carried(tool.Catalogue().Canonical)
	n := 0
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			t.Fatalf("%q", line)
		}
		n++
		name, input := canonical(f[1], []byte(f[2]))
		if input == nil {
			input = []byte(f[2])
		}
		if name != f[3] {
			t.Errorf("%s %s %s: %s, want %s", f[0], f[1], f[2], name, f[3])
			continue
		}
		var got any
		if err := json.Unmarshal(input, &got); err != nil {
			t.Errorf("%s %s: %v", f[1], input, err)
			continue
		}
		schema, err := agent.InputSchema(b.tool(name).Spec())
		if err != nil {
			t.Fatal(err)
		}
		err = schema.Validate(got)
		if f[4] == "schema" {
			if err == nil {
				t.Errorf("%s %s: %s fits %s", f[1], f[2], input, name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %s does not fit %s: %v", f[1], f[2], input, name, err)
		}
		var want any
		if err := json.Unmarshal([]byte(f[4]), &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if f[4] != "{}" && !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s:\n got %s\nwant %s", f[1], f[2], input, f[4])
		}
	}
	if n < 370 {
		t.Errorf("only %d calls", n)
	}
}

func TestCallsThatAreRightStayAsTheyAre(t *testing.T) {
	canonical := tool.Carried(tool.Catalogue().Canonical)
	for _, c := range [][2]string{
		{"Bash", `{"command":"apply the thing"}`},
		{"Bash", `{"command":"cd dir && ls"}`},
		{"Bash", `{"command":"echo apply_patch <<EOF | sh"}`},
		{"Edit", `{"file_path":"a","old_string":"\"command\"","new_string":"SEARCH"}`},
		{"Write", `{"file_path":"a","content":"{\"command\": [1], \"explanation\": 1}"}`},
		{"Read", `{"file_path":"start_line","offset":1}`},
		{"Grep", `{"pattern":"view_range"}`},
		{"TodoWrite", `{"todos":[{"content":"plan","status":"pending"}]}`},
		{"Unknown", `{"command":["a"]}`},
		{"Bash", `{"":[]}`},
		{"Edit", `{"command":`},
	} {
		if name, input := canonical(c[0], []byte(c[1])); name != c[0] || input != nil && !sameJSON(input, c[1]) {
			t.Errorf("%s %s became %s %s", c[0], c[1], name, input)
		}
	}
}

func sameJSON(a []byte, b string) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// FuzzHabits: no input makes it panic, and broken JSON is never touched.
func FuzzHabits(f *testing.F) {
	f.Add("shell", `{"command":["bash","-lc","cd a && apply_patch <<'EOF'\nx\nEOF"]}`)
	f.Add("str_replace_editor", `{"command":"view","path":"a","view_range":[1,2]}`)
	f.Add("sh", `{"":[]}`)
	f.Add("apply_diff", `{"path":"a","diff":"<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE"}`)
	canonical := tool.Carried(tool.Catalogue().Canonical)
	f.Fuzz(func(t *testing.T, name, input string) {
		_, got := canonical(name, []byte(input))
		if got != nil && (!json.Valid([]byte(input)) || !json.Valid(got)) {
			t.Errorf("%q became %q", input, got)
		}
	})
}
