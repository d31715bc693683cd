//go:build unix

package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

const agentScript = `
reply
  when result="no output"
  say Waited.
reply
  when contains="has finished"
  say Woken.
reply
  when result="works in the background"
  say Launched.
reply
  when contains="wait for it"
  call Bash {"command":"echo $$ >wait.pid; until [ -e go ]; do sleep 0.01; done"}
reply
  when contains="launch"
  call Task {"description":"wait","prompt":"wait for it","run_in_background":true}
`

// With stream-json input the host gets another turn, and its result, when an agent has ended in the background.
func TestAnAgentInTheBackgroundWakesAStream(t *testing.T) {
	d := drive(t, agentScript, "--dangerously-skip-permissions")
	d.send(said("launch", "u1"))
	if r := d.kind("result"); r["result"] != "Launched." {
		t.Errorf("%v", r)
	}
	d.write("go", "")
	if n := d.kind("task_notification"); n["status"] != "completed" {
		t.Errorf("%v", n)
	}
	if r := d.kind("result"); r["result"] != "Woken." {
		t.Errorf("%v", r)
	}
	d.end()
}

// After kill -9 the session names the agents that were at work, and the model can resume one by its id.
func TestAKilledRunNamesItsAgentsAtWork(t *testing.T) {
	d := drive(t, `
reply
  when result="Carried on"
  say All done.
reply
  when contains="was at work when lathe ended" turn=2
  capture ID from=users match="The agent ([0-9a-f-]{36})"
  call Task {"description":"on","prompt":"carry on","resume":"${ID}"}
reply
  when contains="carry on"
  say Carried on.
`+agentScript, "--dangerously-skip-permissions")
	d.send(said("launch", "u1"))
	d.kind("result")
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	out, stderr, code := d.once("--continue", "--verbose", "--output-format", "stream-json", "and now?")
	id := regexp.MustCompile(`The agent ([0-9a-f-]{36}) `).FindStringSubmatch(out)
	if id == nil || !strings.Contains(out, `"agentId":"`+id[1]+`"`) {
		t.Errorf("the agent %q was not resumed: %s", id, out)
	}
	if code != 0 || !strings.Contains(out, "agents were at work when this session ended") || !strings.Contains(out,
		"general-purpose (wait, ") || !strings.Contains(out, `"text":"Carried on."`) || !strings.Contains(out,
		`"result":"All done."`) {
		t.Errorf("%d %s %s", code, out, stderr)
	}
}
