//go:build linux

package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/fleet/bench"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// TestTheOraclePassesAndWhoDoesNothingFails runs some tasks of lathe's suite; the long form runs all of them.
func TestTheOraclePassesAndWhoDoesNothingFails(t *testing.T) {
	m := newMachine(t, writes())
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("RUSTUP_HOME") == "" {
		m.environ = append(m.environ, "RUSTUP_HOME="+filepath.Join(home, ".rustup"))
	}
	suite, err := filepath.Abs("../../../bench")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"bench", "run", suite, "--agent", "oracle", "--agent", "nop", "--json", "-o", filepath.Join(m.home, "out")}
	if os.Getenv("LATHE_FLEET_LONG") == "" {
		args = append(args, "--task", "git-*,sh-*,py-fix-*")
	}
	for range 2 { // the second time nothing is left to do
		var rep bench.Report
		if err := json.Unmarshal([]byte(m.must(args...)), &rep); err != nil {
			t.Fatal(err)
		}
		for _, s := range rep.Trials {
			if want := map[string]float64{"oracle": 1}[s.Agent]; s.Reward != want || s.Error != "" {
				t.Errorf("%+v", s)
			}
		}
		for _, s := range rep.Skipped {
			t.Logf("skipped: %s", s)
		}
	}
}

func TestAnAgentsTrialHasATrajectory(t *testing.T) {
	call := llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "git clone -q -b main history.bundle r && cat r/a"}))
	end := llmtest.Say(llmtest.Text("I looked."))
	script := llmtest.Replies(call)
	script.Final = &end
	m := newMachine(t, script)
	suite, err := filepath.Abs("../../../bench/git-recover")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(m.home, "out")
	var rep bench.Report
	text := m.must("bench", "run", suite, "--json", "-o", out)
	if err := json.Unmarshal([]byte(text), &rep); err != nil || rep.Trials[0].Reward != 0 || rep.Trials[0].Steps != 2 {
		t.Fatalf("%v %s", err, text)
	}
	files, err := filepath.Glob(filepath.Join(out, "*", "agent", "trajectory.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ATIF-`, `"function_name": "Bash"`, `"observation"`, `"I looked."`, `"prompt_tokens"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in\n%s", want, b)
		}
	}
}
