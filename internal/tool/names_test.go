package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/tool"
)

func TestOtherSpellingsOfToolsAreKnown(t *testing.T) {
	for given, want := range map[string]string{
		"read": "Read", "READ": "Read", "read_file": "Read", "ReadFile": "Read", "list_files": "Read", "write_file": "Write",
		"edit_file": "Edit", "str_replace": "Edit", "grep_search": "Grep", "run_shell": "Bash", "shell": "Bash",
		"bash":  "Bash",
		"Agent": "Task", "Question": "AskUserQuestion", "apply_patch": "ApplyPatch", "BashOutput": "TaskOutput",
		"KillShell": "TaskStop", "todo_write": "TodoWrite",
		"web_fetch": "WebFetch", "mcp__grep__search": "mcp__grep__search", "MyTool": "MyTool", "": "",
	} {
		if got, _ := tool.Catalogue().Canonical(given, nil); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func TestOtherSpellingsOfParametersAreMended(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{
			"Edit", `{"filePath":"a","oldString":"x","newString":"y","replaceAll":"true"}`,
			`{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}`,
		},
		{"str_replace", `{"path":"a","old_str":"x","new_str":"y"}`, `{"file_path":"a","old_string":"x","new_string":"y"}`},
		{"Read", `{"file_path":"a","offset":"10","limit":5.0}`, `{"file_path":"a","offset":10,"limit":5}`},
		{"Read", `{"file_path":"a","offset":null}`, `{"file_path":"a"}`},
		{"list_files", `{}`, `{"file_path":"."}`},
		{"Grep", `{"pattern":"x","context":2}`, `{"pattern":"x","-C":2}`},
		{"Grep", `{"query":"x","include":"*.go","A":2,"-i":"false"}`, `{"pattern":"x","glob":"*.go","-A":2,"-i":false}`},
		{"TodoWrite", `{"todos":"[{\"content\":\"x\"}]"}`, `{"todos":[{"content":"x"}]}`},
		// Right, ambiguous or broken input stays.
		{"Read", `{"file_path":"a"}`, ``},
		{"Read", `{"file_path":"a","path":"b"}`, ``},
		{"Read", `{"file_path":"a","offset":"ten"}`, ``},
		{"Read", `{"file_path":"a`, ``},
		{"Read", `[1]`, ``},
		{"Write", `{"file_path":"a","content":"10"}`, ``},
		{"Other", `{"filePath":"a"}`, ``},
	} {
		_, got := tool.Catalogue().Canonical(c.tool, []byte(c.input))
		if c.want == "" {
			if got != nil {
				t.Errorf("%s %s was changed to %s", c.tool, c.input, got)
			}
			continue
		}
		var g, w map[string]any
		if err := json.Unmarshal(got, &g); err != nil {
			t.Errorf("%s %s gave %q: %v", c.tool, c.input, got, err)
			continue
		}
		if err := json.Unmarshal([]byte(c.want), &w); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(w, g); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.tool, c.input, d)
		}
	}
}

func TestTheNearestToolIsNamed(t *testing.T) {
	for given, want := range map[string]string{
		"Gerp": "Grep", "Raed": "Read", "Bsh": "Bash", "frobnicate": "",
		"shell": "Bash", "Nope": "", "Lo": "", "WebFecth": "WebFetch", "NotebookRead": "", "TodoRead": "", "Agnet": "Task",
	} {
		if got := tool.Catalogue().Nearest(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// TestEveryRowOfTheTableIsUnderstood tries each name and each parameter that the declarations have other spellings for,
// in camel case and with hyphens too.
func TestEveryRowOfTheTableIsUnderstood(t *testing.T) {
	names, params := 0, 0
	for _, d := range tool.Declarations() {
		for _, alias := range d.Aliases {
			for _, given := range []string{alias, strings.ToUpper(alias), camel(alias)} {
				names++
				if got, _ := tool.Catalogue().Canonical(given, nil); got != d.Name {
					t.Errorf("%q is %q, want %q", given, got, d.Name)
				}
			}
		}
		var schema struct {
			Properties map[string]struct {
				Type string            `json:"type"`
				Enum []json.RawMessage `json:"enum"`
			} `json:"properties"`
		}
		if len(d.InputSchema()) == 0 {
			continue // it comes with the session, or is no tool that a model calls
		}
		if err := json.Unmarshal(d.InputSchema(), &schema); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		for param, spellings := range d.Params {
			value, ok := map[string]string{
				"string": `"x"`, "integer": "3", "number": "3", "boolean": "true", "array": `["x"]`,
				"object": `{}`,
			}[schema.Properties[param].Type]
			if one := schema.Properties[param].Enum; len(one) > 0 {
				value, ok = string(one[0]), true
			}
			if _, own := schema.Properties[param]; !own && d.Mend != nil {
				continue // Mend alone knows it
			}
			if !ok {
				t.Errorf("%s has no parameter %s with a type", d.Name, param)
				continue
			}
			for _, alias := range strings.Fields(spellings) {
				for _, given := range []string{alias, camel(alias)} {
					params++
					_, mended := tool.Catalogue().Canonical(d.Name, fmt.Appendf(nil, `{%q:%s}`, given, value))
					var got map[string]json.RawMessage
					if err := json.Unmarshal(mended, &got); err != nil || string(got[param]) != value {
						t.Errorf("%s: %s is %s, want %s", d.Name, given, mended, param)
					}
				}
			}
		}
	}
	if names < 150 || params < 80 {
		t.Errorf("only %d names and %d parameters", names, params)
	}
}

// camel is a name in camel case.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
