//go:build unix

package cli_test

import (
	"encoding/json"
	"math"
	"os/exec"
	"strconv"
	"testing"
)

const autoScript = `
reply
  when system="You decide whether"
  say ALLOW: the user asked for it
reply
  call Bash {"command":"touch made"}
final
  say Done.
`

// autoTurn runs one turn in the mode auto and returns the costs of the conversation's model and of the small one.
func autoTurn(t *testing.T, flags ...string) (d *driven, result map[string]any, main, small float64) {
	t.Helper()
	d = drive(t, autoScript, append([]string{"--sandbox", "off", "--permission-mode", "auto", "--small-model", "claude-haiku-4-5"},
		flags...)...)
	d.send(said("make it", "1"))
	result = d.kind("result")
	for name, u := range result["modelUsage"].(map[string]any) {
		cost := u.(map[string]any)["costUSD"].(float64)
		if name == "claude-haiku-4-5" {
			small += cost
		} else {
			main += cost
		}
	}
	return d, result, main, small
}

func TestTheClassifierCountsTowardsCostAndBudget(t *testing.T) {
	d, r, main, small := autoTurn(t)
	d.end()
	if total := r["total_cost_usd"].(float64); small <= 0 || math.Abs(main+small-total) > 1e-9 {
		t.Errorf("%g and %g are not %g", main, small, total)
	}
	c := exec.Command(d.cmd.Path, "session", "list", "--json")
	c.Dir, c.Env = d.dir, d.cmd.Env
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var listed []struct {
		Cost float64 `json:"cost_usd"`
	}
	if err := json.Unmarshal(out, &listed); err != nil || len(listed) != 1 || math.Abs(listed[0].Cost-main-small) > 1e-9 {
		t.Errorf("the list is not of %g: %v\n%s", main+small, err, out)
	}

	d, _, main, small = autoTurn(t, "--max-turns", "1")
	_ = d.in.Close()
	_ = d.cmd.Wait() // exit code 1: it ran out of turns
	budget := strconv.FormatFloat(main+small/2, 'f', -1, 64)
	d, r, _, _ = autoTurn(t, "--max-budget-usd", budget)
	_ = d.in.Close()
	_ = d.cmd.Wait()
	if r["subtype"] != "error_max_budget_usd" || len(d.srv.Requests()) != 2 {
		t.Errorf("with %s: %v after %d requests", budget, r["subtype"], len(d.srv.Requests()))
	}
}
