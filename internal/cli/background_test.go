//go:build unix

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheEndOfABackgroundCommandIsWrittenBetweenTwoTurns(t *testing.T) {
	d := drive(t, `
reply
  call Bash {"command":"cat gate","run_in_background":true,"description":"wait"}
reply
  say First.
reply
  say Second.
`, "--dangerously-skip-permissions")
	d.fifo("gate")
	d.send(said("start it", "1"))
	d.kind("task_started")
	if r := d.kind("result"); r["result"] != "First." {
		t.Errorf("got %v", r)
	}
	d.write("gate", "open\n")
	if m := d.kind("task_notification"); m["status"] != "completed" {
		t.Errorf("got %v", m)
	}
	if m := d.kind("background_tasks_changed"); len(m["tasks"].([]any)) != 0 {
		t.Errorf("got %v", m)
	}
	d.send(said("go on", "2"))
	if r := d.kind("result"); r["result"] != "Second." {
		t.Errorf("got %v", r)
	}
	d.end()
	all, _ := json.Marshal(d.seen)
	if n := strings.Count(string(all), "task_notification"); n != 1 {
		t.Errorf("the end was written %d times", n)
	}
}
