package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/fleet"
)

// Kind is the kind of the fleet's jobs that are trials.
const Kind = "bench"

// Trial is one attempt of an agent at a task: the data of a job.
type Trial struct {
	Task   Task   `json:"task"`
	Agent  string `json:"agent"` // lathe, oracle, nop, or a command
	Model  string `json:"model,omitempty"`
	N      int    `json:"n"`      // from 1
	Runner string `json:"runner"` // folder, docker or podman
	Dir    string `json:"dir"`    // of its results: JOB/TRIAL
}

// Score is what came of a trial: the data of a job's outcome, and its result.json.
type Score struct {
	Task     string             `json:"task"`
	Agent    string             `json:"agent"`
	Model    string             `json:"model,omitempty"`
	N        int                `json:"n"`
	Reward   float64            `json:"reward"`
	Rewards  map[string]float64 `json:"rewards,omitempty"` // each that the tests wrote
	Error    string             `json:"error,omitempty"`
	CostUSD  float64            `json:"cost_usd"`
	Steps    int                `json:"steps"`
	Seconds  float64            `json:"seconds"` // of the agent
	Category string             `json:"category,omitempty"`
}

// Runner runs trials as jobs of the fleet.
type Runner struct {
	Sessions *fleet.Sessions
	Cache    string // a folder that trials share, for the caches of compilers
}

// Work runs a trial.
func (r *Runner) Work(ctx context.Context, t *fleet.Task) (out fleet.Outcome, err error) {
	var trial Trial
	if err := json.Unmarshal(t.Job.Data, &trial); err != nil {
		return out, err
	}
	run := &run{Runner: *r, Trial: trial, job: t, app: filepath.Join(t.Dir, "app")}
	sessions := *r.Sessions
	run.Sessions = &sessions
	if sessions.Settings, err = r.settings(trial.Task.Dir); err != nil {
		return out, err
	}
	if err := run.clear(); err != nil {
		return out, err
	}
	begun := time.Now()
	s := Score{
		Task: trial.Task.Name, Agent: trial.Agent, Model: trial.Model, N: trial.N, Category: trial.Task.Category,
	}
	out, err = run.run(ctx, &s)
	if ctx.Err() != nil {
		return out, err
	}
	if s.Seconds == 0 {
		s.Seconds = time.Since(begun).Seconds()
	}
	s.CostUSD, s.Steps = out.CostUSD, out.Steps
	if err != nil {
		s.Error, out.Failed = err.Error(), err.Error()
	}
	if out.Data, err = json.Marshal(s); err != nil {
		return out, err
	}
	return out, run.keep(s, out)
}

// settings let trials share caches, and hide the tasks from the agent.
func (r *Runner) settings(task string) (string, error) {
	if err := os.MkdirAll(r.Cache, 0o700); err != nil {
		return "", err
	}
	s := map[string]any{"sandbox": map[string]any{"filesystem": map[string]any{"allowWrite": []string{r.Cache}}}}
	if task != "" {
		hidden := filepath.Dir(task)
		s["permissions"] = map[string]any{"deny": []string{"Read(/" + hidden + "/**)"}}
	}
	b, err := json.Marshal(s)
	return string(b), err
}

// run is one trial at work.
type run struct {
	Runner
	Trial
	job *fleet.Task
	app string // the folder that the agent works in
}

// clear makes the folders of the trial; what an earlier try left is gone.
func (r *run) clear() error {
	var errs []error
	for _, dir := range []string{r.app, r.sub("tests"), r.sub("solution"), r.sub("logs")} {
		errs = append(errs, os.RemoveAll(dir))
	}
	for _, dir := range []string{r.app, r.sub("logs/verifier"), r.sub("logs/agent"), r.sub("logs/artifacts")} {
		errs = append(errs, os.MkdirAll(dir, 0o755))
	}
	return errors.Join(errs...)
}

func (r *run) sub(name string) string { return filepath.Join(r.job.Dir, name) }

func (r *run) run(ctx context.Context, s *Score) (fleet.Outcome, error) {
	if r.Trial.Runner != "folder" {
		return r.contained(ctx, s)
	}
	if r.Task.Format == SWEBench {
		return fleet.Outcome{}, errors.New("a row of SWE-bench needs its container: --runner docker or podman")
	}
	if missing := Missing(r.Task); len(missing) > 0 {
		return fleet.Outcome{}, fmt.Errorf("%s is not here", strings.Join(missing, ", "))
	}
	env := filepath.Join(r.Task.Dir, "environment")
	if r.Task.Format == TerminalBench1 {
		env = r.Task.Dir
	}
	if err := copyTree(env, r.app, r.outside); err != nil {
		return fleet.Outcome{}, err
	}
	begun := time.Now()
	limit, cancel := context.WithTimeout(ctx, r.Task.AgentTime)
	out, err := r.agent(limit)
	late := limit.Err() != nil && ctx.Err() == nil
	cancel()
	s.Seconds = time.Since(begun).Seconds()
	if err != nil && !late {
		return out, fmt.Errorf("the agent: %w", err)
	}
	out.Failed = "" // the tests decide
	return out, r.verify(ctx, s)
}

// Missing names the programs that a task needs and this machine lacks.
func Missing(t Task) (out []string) {
	for _, p := range t.Needs {
		if _, err := exec.LookPath(p); err != nil {
			out = append(out, p)
		}
	}
	return out
}

// outside are the files of a task's environment that are not in the agent's folder.
func (r *run) outside(name string) bool {
	if r.Task.Format == TerminalBench1 {
		return slices.Contains([]string{
			"task.yaml", "Dockerfile", "docker-compose.yaml", "run-tests.sh", "tests", "solution.sh", "solution.yaml",
		}, name)
	}
	return name == "Dockerfile" || strings.HasPrefix(name, "docker-compose")
}

// agent has the agent work on the task.
func (r *run) agent(ctx context.Context) (fleet.Outcome, error) {
	switch r.Agent {
	case "nop":
		return fleet.Outcome{}, nil
	case "oracle":
		return fleet.Outcome{}, r.oracle(ctx)
	case "lathe":
		r.job.Job.Prompt, r.job.Job.Model = r.Task.Instruction, r.Model
		return r.Sessions.Converse(ctx, r.job, r.app)
	}
	code, text, err := r.Sessions.Confined(ctx, r.app, false, append(r.environ(), "LATHE_BENCH_INSTRUCTION="+r.Task.Instruction,
		"LATHE_BENCH_MODEL="+r.Model), "sh", "-c", r.Agent)
	if writeErr := os.WriteFile(r.sub("logs/agent/output.txt"), []byte(text), 0o644); writeErr != nil {
		return fleet.Outcome{}, writeErr
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("the command ended with exit code %d: %s", code, text)
	}
	return fleet.Outcome{Answer: text}, err
}

// oracle runs the task's own solution.
func (r *run) oracle(ctx context.Context) error {
	from, script := filepath.Join(r.Task.Dir, "solution"), "solve.sh"
	if r.Task.Format == TerminalBench1 {
		from, script = r.Task.Dir, "solution.sh"
	}
	if err := copyTree(from, r.sub("solution"), nil); err != nil {
		return err
	}
	if err := r.relocate("solution"); err != nil {
		return err
	}
	code, text, err := r.script(ctx, "solution/"+script)
	if err == nil && code != 0 {
		err = fmt.Errorf("the solution ended with exit code %d: %s", code, text)
	}
	return err
}

// script runs a script of the task in the agent's folder, in the sandbox.
func (r *run) script(ctx context.Context, path string) (int, string, error) {
	args := append([]string{"env"}, r.environ()...) // the sandbox has an environment of its own
	return r.Sessions.Confined(ctx, r.job.Dir, false, nil, append(args, "sh", "-c", `cd app && exec bash "../$0"`, path)...)
}

func (r *run) environ() []string {
	var own []string
	for _, name := range []string{"RUSTUP_HOME", "CARGO_HOME", "GOROOT"} { // where toolchains are
		if v := os.Getenv(name); v != "" {
			own = append(own, name+"="+v)
		}
	}
	return append(own,
		"GOCACHE="+filepath.Join(r.Cache, "go-build"), "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOPROXY=off",
		"TEST_DIR="+r.sub("tests"), "PYTHONDONTWRITEBYTECODE=1")
}

// verify runs the tests and reads the reward.
func (r *run) verify(ctx context.Context, s *Score) error {
	script := "tests/test.sh"
	if err := copyTree(filepath.Join(r.Task.Dir, "tests"), r.sub("tests"), nil); err != nil {
		return err
	}
	if r.Task.Format == TerminalBench1 {
		script = "tests/run-tests.sh"
		if err := copyFile(filepath.Join(r.Task.Dir, "run-tests.sh"), r.sub(script), 0o755); err != nil {
			return err
		}
	}
	if err := r.relocate("tests"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Task.TestTime)
	defer cancel()
	code, text, err := r.script(ctx, script)
	if writeErr := os.WriteFile(r.sub("logs/verifier/output.txt"), []byte(text), 0o644); writeErr != nil {
		return writeErr
	}
	if err != nil {
		return fmt.Errorf("the tests: %w", err)
	}
	if r.Task.Format == TerminalBench1 { // its exit code is the result
		if code == 0 {
			s.Reward = 1
		}
		return nil
	}
	return readReward(r.sub("logs/verifier"), s)
}

// readReward reads what the tests wrote.
func readReward(dir string, s *Score) error {
	if b, err := os.ReadFile(filepath.Join(dir, "reward.json")); err == nil {
		if err := json.Unmarshal(b, &s.Rewards); err != nil {
			return fmt.Errorf("reward.json: %w", err)
		}
		v, ok := s.Rewards["reward"]
		if !ok {
			return errors.New("reward.json has no reward")
		}
		s.Reward = v
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "reward.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the tests wrote no reward")
	}
	if err != nil {
		return err
	}
	s.Reward, err = strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
	return err
}

// places are the paths of a container that scripts name.
var places = regexp.MustCompile(`(^|[\s"'=:;(\x60])/(app|tests|logs|solution)(/|\b)`)

// relocate has the scripts of a folder name the trial's folders in place of a container's.
func (r *run) relocate(name string) error {
	return filepath.WalkDir(r.sub(name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".sh" && ext != ".py" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, places.ReplaceAll(b, []byte("${1}"+r.job.Dir+"/${2}${3}")), 0o755)
	})
}

// copyTree copies the files of a folder. A folder that is missing is empty.
func copyTree(from, to string, skip func(name string) bool) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == from {
			return nil
		}
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if skip != nil && skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, filepath.Join(to, rel)))
		case !info.Mode().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(to, rel), info.Mode().Perm())
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, mode|0o600)
}

// keep writes the results as Harbor lays them out.
func (r *run) keep(s Score, out fleet.Outcome) error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"agent", "verifier"} {
		if err := copyTree(r.sub("logs/"+name), filepath.Join(r.Dir, name), nil); err != nil {
			return err
		}
	}
	if out.Files.Log != "" {
		if err := writeTrajectory(out.Files.Log, filepath.Join(r.Dir, "agent", "trajectory.json"), out); err != nil {
			return err
		}
	}
	var errs []error
	errs = append(errs, writeJSON(filepath.Join(r.Dir, "config.json"), r.Trial),
		writeJSON(filepath.Join(r.Dir, "result.json"), s))
	if s.Error != "" {
		errs = append(errs, os.WriteFile(filepath.Join(r.Dir, "exception.txt"), []byte(s.Error+"\n"), 0o644))
	}
	return errors.Join(errs...)
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
