//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The hooks of a host that protect fail closed: without their answer nothing happens that they could refuse.
func TestACallbackThatFailsRefusesWhatItGuards(t *testing.T) {
	const model = "reply\n  call Write {\"file_path\":\"made\",\"content\":\"x\"}\nfinal\n  say Done.\n"
	const late, guards = "did not end within 50ms", "gave no valid answer: "
	for name, c := range map[string]struct {
		event, answer, why string
		made               bool
		requests           int
		onFailure          string // of the matcher; empty: left out
	}{
		"a call, too late": {"PreToolUse", "", guards + "it " + late, false, 2, ""},
		"a call, an exception": {"PreToolUse", `"subtype":"error","error":"it threw"`, guards +
			"the host: it threw", false, 2, ""},
		"a call, an answer in no form": {"PreToolUse", `"subtype":"success","response":{"decision":"perhaps"}`, guards +
			`the decision "perhaps"`, false, 2, ""},
		"a question for permission":       {"PermissionRequest", "", guards + "it " + late, false, 2, ""},
		"a prompt":                        {"UserPromptSubmit", "", guards + "it " + late, false, 0, ""},
		"the work after a batch of calls": {"PostToolBatch", "", guards + "it " + late, true, 1, ""},
		// its refusal would be more work
		"the end of a turn":               {"Stop", "", "decides nothing: it " + late, true, 2, ""},
		"a call, where the host wants it": {"PreToolUse", "", "decides nothing: it " + late, true, 2, "continue"},
		"a call, where the host says so":  {"PreToolUse", "", guards + "it " + late, false, 2, "block"},
	} {
		t.Run(name, func(t *testing.T) {
			mode, timeout := "acceptEdits", "600"
			if c.event == "PermissionRequest" {
				mode = "default"
			}
			if c.answer == "" {
				timeout = "0.05"
			}
			d := drive(t, model, "--permission-prompt-tool", "stdio", "--permission-mode", mode)
			more := ""
			if c.onFailure != "" {
				more = fmt.Sprintf(`,"onFailure":%q`, c.onFailure)
			}
			answer,
				err := d.ask(
				fmt.Sprintf(`{"subtype":"initialize","hooks":{%q:[{"matcher":"Write","hookCallbackIds":["h"],"timeout":%s%s}]}}`,
					c.event, timeout, more))
			if err != "" || answer["hook_on_failure_supported"] != true {
				t.Fatal(err, answer)
			}
			d.send(said("make it", "one"))
			q := d.kind("control_request")
			if r, _ := q["request"].(map[string]any); r["subtype"] != "hook_callback" {
				t.Fatalf("%v", r)
			}
			if c.answer != "" {
				d.send(fmt.Sprintf(`{"type":"control_response","response":{"request_id":%q,%s}}`, q["request_id"], c.answer))
			}
			d.until("result", func(m map[string]any) bool {
				if m["type"] == "control_request" {
					t.Fatalf("the host was asked: %v", m)
				}
				return m["type"] == "result"
			})
			if _, err := os.Stat(filepath.Join(d.dir, "made")); (err == nil) != c.made {
				t.Errorf("the file: %v", err)
			}
			if text := fmt.Sprint(d.seen); !strings.Contains(text, c.why) {
				t.Errorf("%s", text)
			}
			if n := len(d.srv.Requests()); n != c.requests {
				t.Errorf("%d requests", n)
			}
			if c.event == "PreToolUse" && !c.made && !strings.Contains(string(d.srv.Requests()[1].Body), c.why[:len(guards)]) {
				t.Errorf("the model does not learn why: %s", d.srv.Requests()[1].Body)
			}
			d.end()
		})
	}
}

// A newer host may register hooks of events that lathe does not have: the query goes on, the others run, and a warning
// names the event.
func TestHooksOfUnknownEventsAreLeftOut(t *testing.T) {
	d := drive(t, "final\n  say Done.\n")
	_,
		err := d.ask(
		`{"subtype":"initialize","hooks":{"PreSkillShellCommand":[{"hookCallbackIds":["a"]}],"PreModelSwitch":[{"hookCallbackIds":["b"]}],"UserPromptSubmit":[{"hookCallbackIds":["c"]}]}}`)
	if err != "" {
		t.Fatal(err)
	}
	d.send(said("hello", "one"))
	q := d.kind("control_request")
	d.send(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{}}}`,
		q["request_id"]))
	if r := d.kind("result"); r["result"] != "Done." || fmt.Sprint(q["request"].(map[string]any)["callback_id"]) != "c" {
		t.Errorf("%v %v", r, q)
	}
	for _, name := range []string{"PreSkillShellCommand", "PreModelSwitch"} {
		if !slices.ContainsFunc(d.seen, func(m map[string]any) bool {
			return m["subtype"] == "informational" && m["level"] == "warning" && strings.Contains(fmt.Sprint(m["content"]), name)
		}) {
			t.Errorf("no warning names %s: %v", name, d.seen)
		}
	}
	d.end()
}
