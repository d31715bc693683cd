package bench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSuitesOfEveryFormatAreRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "new", "task.toml"),
		"schema_version = \"1.4\"\n[agent]\ntimeout_sec = 12.5\n[environment]\ndocker_image = \"x:1\"\n[other]\na = 1\n")
	write(t, filepath.Join(dir, "new", "instruction.md"), "<!-- canary GUID 1 -->\n\nDo it.\n")
	write(t, filepath.Join(dir, "old", "task.yaml"), "instruction: Do that.\nmax_agent_timeout_sec: 20\n")
	tasks, err := Load(dir)
	if err != nil || len(tasks) != 2 {
		t.Fatalf("%v %d", err, len(tasks))
	}
	if n := tasks[0]; n.Instruction != "Do it.\n" || n.AgentTime.Seconds() != 12.5 || n.TestTime.Minutes() != 10 ||
		n.Image != "x:1" || strings.Join(n.Unknown, "") != "other" {
		t.Errorf("%+v", n)
	}
	if o := tasks[1]; o.Format != TerminalBench1 || o.AgentTime.Seconds() != 20 {
		t.Errorf("%+v", o)
	}
	rows := filepath.Join(dir, "rows.jsonl")
	write(t, rows, `{"instance_id":"a__b-1","base_commit":"c","problem_statement":"p","FAIL_TO_PASS":"[\"t1\"]","PASS_TO_PASS":[]}`)
	tasks, err = Load(rows)
	if err != nil || len(tasks) != 1 || tasks[0].Row.FailToPass[0] != "t1" || !strings.Contains(tasks[0].Image, "a_1776_b-1") {
		t.Errorf("%v %+v", err, tasks)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty folder is a suite")
	}
}

func TestAMissingRewardIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := readReward(dir, &Score{}); err == nil {
		t.Error("no error")
	}
	write(t, filepath.Join(dir, "reward.txt"), "0.5\n")
	var s Score
	if err := readReward(dir, &s); err != nil || s.Reward != 0.5 {
		t.Error(err, s.Reward)
	}
	write(t, filepath.Join(dir, "reward.json"), `{"reward": 1, "style": 0.3}`)
	if err := readReward(dir, &s); err != nil || s.Reward != 1 || s.Rewards["style"] != 0.3 {
		t.Error(err, s)
	}
}

func TestScriptsNameTheFoldersOfTheirTrial(t *testing.T) {
	in := "cp /tests/a.py /app/ && (cd /app; x) > \"/logs/verifier/reward.txt\" /application ./app $x/app"
	got := places.ReplaceAllString(in, "${1}/T/${2}${3}")
	want := "cp /T/tests/a.py /T/app/ && (cd /T/app; x) > \"/T/logs/verifier/reward.txt\" /application ./app $x/app"
	if got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

func TestPassAtK(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		want    float64
	}{{5, 0, 1, 0}, {5, 5, 1, 1}, {5, 2, 1, 0.4}, {5, 1, 5, 1}, {4, 2, 2, 5.0 / 6}} {
		if got := PassAt(c.n, c.c, c.k); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestAReportComparesSettingsOverTheirTasks(t *testing.T) {
	var scores []Score
	for _, name := range []string{"a", "b", "c", "d"} {
		for n := range 2 {
			scores = append(scores, Score{Task: name, Agent: "x", N: n + 1, Reward: 0, CostUSD: 1})
			s := Score{Task: name, Agent: "y", N: n + 1, Reward: 1, CostUSD: 2}
			if name == "d" {
				s.Error = "no network"
			}
			scores = append(scores, s)
		}
	}
	r := NewReport("suite", scores, []int{1, 2})
	x, y := r.Settings[0], r.Settings[1]
	if x.Reward.Value != 0 || x.Total != 8 || y.Reward.Value != 1 || y.Errors != 2 || y.Trials != 8 ||
		y.Pass[2].Value != 1 {
		t.Errorf("%+v\n%+v", x, y)
	}
	if c := r.Comparison[0]; c.Tasks != 3 || c.Better != 3 || c.Reward.Low != 1 {
		t.Errorf("%+v", c)
	}
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil || !strings.Contains(b.String(), "no network") {
		t.Errorf("%v %s", err, &b)
	}
}

func TestIntervalsHoldTheirValue(t *testing.T) {
	i := bootstrap([]float64{0, 1, 1, 0, 1, 1, 1, 0, 1, 1})
	if i.Value != 0.7 || i.Low > 0.5 || i.Low < 0.3 || i.High < 0.9 || i.High > 1 {
		t.Errorf("%+v", i)
	}
}

func TestTheSuiteOfLatheHasFortyCompleteTasks(t *testing.T) {
	tasks, err := Load("../../../bench")
	if err != nil || len(tasks) != 40 {
		t.Fatalf("%v %d", err, len(tasks))
	}
	for _, task := range tasks {
		if len(task.Unknown) > 0 || task.Category == "" || len(task.Instruction) < 40 {
			t.Errorf("%+v", task)
		}
		for _, file := range []string{"tests/test.sh", "solution/solve.sh", "environment/Dockerfile"} {
			if _, err := os.Stat(filepath.Join(task.Dir, file)); err != nil {
				t.Error(err)
			}
		}
	}
}
