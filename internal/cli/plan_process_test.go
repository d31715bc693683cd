//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answerHost replies to the next can_use_tool and returns its request.
func (d *driven) answerHost(response string) map[string]any {
	d.t.Helper()
	q := d.kind("control_request")
	r, _ := q["request"].(map[string]any)
	d.send(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
		q["request_id"], response))
	return r
}

// A host approves a plan, or sends it back, and the mode that it names follows.
func TestAHostApprovesAPlan(t *testing.T) {
	for name, tc := range map[string]struct{ response, mode, told string }{
		"as it is":    {`{"behavior":"allow"}`, "default", "the mode is default"},
		"with a mode": {`{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}`, "acceptEdits", "the mode is acceptEdits"},
		"changed": {
			`{"behavior":"allow","updatedInput":{"plan":"# Other"}}`, "default",
			"this is the plan now:\n\n# Other",
		},
		"sent back":         {`{"behavior":"deny","message":"shorter"}`, "plan", "The user says: shorter"},
		"with a wrong mode": {`{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"yolo","destination":"session"}]}`, "default", "the mode is default"},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, "reply\n  call ExitPlanMode {\"plan\": \"# Greet\\n\\n1. Say hello\"}\nreply\n  say Done.\n",
				"--permission-mode", "plan", "--permission-prompt-tool", "stdio")
			if _, text := d.ask(`{"subtype":"initialize","planModeInstructions":"Plan in verse."}`); text != "" {
				t.Fatal(text)
			}
			d.send(said("greet", "1"))
			r := d.answerHost(tc.response)
			in, _ := r["input"].(map[string]any)
			path, _ := in["planFilePath"].(string)
			if r["tool_name"] != "ExitPlanMode" || in["plan"] != "# Greet\n\n1. Say hello" || !filepath.IsAbs(path) {
				t.Errorf("%v", r)
			}
			if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), "# Greet") && name != "changed" {
				t.Errorf("%q %v", b, err)
			}
			d.kind("result")
			if got := strings.Join(toolResults(d.seen), "\n"); !strings.Contains(got, tc.told) {
				t.Errorf("%q", got)
			}
			if !strings.Contains(string(d.srv.Requests()[0].Body), "Plan in verse.") {
				t.Error("the instructions of the host are not in the request")
			}
			d.send(said("/mode", "2"))
			if got := fmt.Sprint(d.kind("result")); tc.mode != "" && !strings.Contains(got, tc.mode) {
				t.Errorf("%s", got)
			}
			d.end()
		})
	}
}

// A host answers questions with answers in the input, as the Agent SDK does.
func TestAHostAnswersQuestions(t *testing.T) {
	questions := `{"questions": [{"question": "Which colour?", "header": "Colour", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]}, {"question": "Which sizes?", "multiSelect": true, "options": [{"label": "S"}, {"label": "L"}]}]}`
	for name, tc := range map[string]struct{ response, want string }{
		"answers": {`{"behavior":"allow","updatedInput":{"questions":[],"answers":{"Which colour?":"Blue","Which sizes?":["S","L"],"Another?":"x"}}}`, "Which colour?\n→ Blue\n\nWhich sizes?\n→ S, L\n"},
		"one answer": {
			`{"behavior":"allow","updatedInput":{"answers":{"Which colour?":"mauve"}}}`,
			"Which colour?\n→ mauve\n\nWhich sizes?\n→ (no answer)\n",
		},
		"no answers": {`{"behavior":"allow","updatedInput":` + questions + `}`, "the user did not answer"},
		"refused":    {`{"behavior":"deny","message":"decide yourself"}`, "The user says: decide yourself"},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, "reply\n  call AskUserQuestion "+questions+"\nreply\n  say Done.\n", "--permission-prompt-tool",
				"stdio", "--permission-mode", "acceptEdits")
			d.send(said("ask me", "1"))
			r := d.answerHost(tc.response)
			if got, err := json.Marshal(r["input"]); r["tool_name"] != "AskUserQuestion" || err != nil ||
				!strings.Contains(string(got), `"multiSelect":true`) || strings.Contains(string(got), "answers") {
				t.Errorf("%v %s", r, got)
			}
			d.kind("result")
			if got := strings.Join(toolResults(d.seen), "\n"); !strings.Contains(got, tc.want) {
				t.Errorf("%q", got)
			}
			d.end()
		})
	}
}
