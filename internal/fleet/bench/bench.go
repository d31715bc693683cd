// Package bench measures agents on tasks, on the engine of the fleet.
//
// The words: a task is a folder in Harbor's format (https://harborframework.com/docs/tasks, schema 1.0 to 1.4), one of
// Terminal-Bench 1, or a row of SWE-bench; a suite is a folder of tasks or a file of rows; a trial is one attempt of an
// agent at a task; its reward is the number that the task's tests wrote.
//
// Promises:
//
//   - The agent sees neither tests nor solution: they come into the trial's folder after it has ended.
//   - A reward that is missing is an error, never 0.
//   - The same command goes on where it stopped: a trial that has a result is not run again, and errors are.
package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v4"
)

// Formats of tasks.
const (
	Harbor         = "harbor"
	TerminalBench1 = "terminal-bench-1"
	SWEBench       = "swe-bench"
)

// Task is one task of a suite.
type Task struct {
	Name        string        `json:"name"` // of its folder, or the instance's id
	Dir         string        `json:"dir,omitempty"`
	Format      string        `json:"format"`
	Instruction string        `json:"instruction"`
	Image       string        `json:"image,omitempty"`    // a container's; empty: built from Dockerfile
	Workdir     string        `json:"workdir,omitempty"`  // in the container
	AgentTime   time.Duration `json:"agent_time"`         // limit
	TestTime    time.Duration `json:"test_time"`          // limit
	Category    string        `json:"category,omitempty"` // of the metadata
	Keywords    []string      `json:"keywords,omitempty"`
	Needs       []string      `json:"needs,omitempty"` // programs, for the runner without containers
	Unknown     []string      `json:"unknown,omitempty"`
	Row         *Row          `json:"row,omitempty"`
}

// Row is a row of SWE-bench.
type Row struct {
	ID         string   `json:"instance_id"`
	Repo       string   `json:"repo"`
	Base       string   `json:"base_commit"`
	Problem    string   `json:"problem_statement"`
	Patch      string   `json:"patch"`
	TestPatch  string   `json:"test_patch"`
	FailToPass listText `json:"FAIL_TO_PASS"`
	PassToPass listText `json:"PASS_TO_PASS"`
	Image      string   `json:"image_name,omitempty"`
	TestCmd    string   `json:"test_cmd,omitempty"`
}

// listText is a list, or a text that holds one as JSON.
type listText []string

// UnmarshalJSON reads both forms.
func (l *listText) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		b = []byte(text)
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// config is a task.toml, in the spellings of all versions.
type config struct {
	Metadata struct {
		Category string   `toml:"category"`
		Tags     []string `toml:"tags"`
		Needs    []string `toml:"needs"`
	} `toml:"metadata"`
	Task struct {
		Keywords []string `toml:"keywords"`
	} `toml:"task"`
	Agent struct {
		Timeout float64 `toml:"timeout_sec"`
	} `toml:"agent"`
	Verifier struct {
		Timeout float64 `toml:"timeout_sec"`
	} `toml:"verifier"`
	Environment struct {
		Image   string `toml:"docker_image"`
		Workdir string `toml:"workdir"`
	} `toml:"environment"`
	Steps []struct {
		Name string `toml:"name"`
	} `toml:"steps"`
}

// knownKeys are the tables that Harbor defines; others are reported.
var knownKeys = []string{
	"version", "schema_version", "task", "metadata", "agent", "verifier", "solution", "environment", "artifacts", "steps",
	"multi_step_reward_strategy", "source",
}

// Load reads a suite: a folder of tasks, one task, or a file of SWE-bench rows.
func Load(path string) ([]Task, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return loadRows(path)
	}
	if t, err := loadTask(path); !errors.Is(err, errNoTask) {
		return []Task{t}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []Task
	for _, e := range entries {
		t, err := loadTask(filepath.Join(path, e.Name()))
		if errors.Is(err, errNoTask) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no task: neither task.toml nor task.yaml", path)
	}
	return out, nil
}

var errNoTask = errors.New("no task")

func loadTask(dir string) (Task, error) {
	if b, err := os.ReadFile(filepath.Join(dir, "task.toml")); err == nil {
		return harborTask(dir, b)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "task.yaml")); err == nil {
		return oldTask(dir, b)
	}
	return Task{}, errNoTask
}

func seconds(s, otherwise float64) time.Duration {
	if s == 0 {
		s = otherwise
	}
	return time.Duration(s * float64(time.Second))
}

func harborTask(dir string, b []byte) (t Task, err error) {
	var c config
	if err := toml.Unmarshal(b, &c); err != nil {
		return t, err
	}
	var all map[string]any
	if err := toml.Unmarshal(b, &all); err != nil {
		return t, err
	}
	if len(c.Steps) > 0 {
		return t, errors.New("tasks of several steps are not supported")
	}
	t = Task{
		Name: filepath.Base(dir), Dir: dir, Format: Harbor, Image: c.Environment.Image, Workdir: c.Environment.Workdir,
		AgentTime: seconds(c.Agent.Timeout, 600), TestTime: seconds(c.Verifier.Timeout, 600), Category: c.Metadata.Category,
		Keywords: append(c.Task.Keywords, c.Metadata.Tags...), Needs: c.Metadata.Needs,
	}
	for k := range all {
		if !slices.Contains(knownKeys, k) {
			t.Unknown = append(t.Unknown, k)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "instruction.md"))
	t.Instruction = withoutCanary(string(text))
	return t, err
}

var canary = regexp.MustCompile(`(?i)canary`)

// withoutCanary drops the leading lines that mark a task for searches.
func withoutCanary(s string) string {
	for {
		line, rest, ok := strings.Cut(s, "\n")
		if !ok || strings.TrimSpace(line) != "" && !canary.MatchString(line) {
			return s
		}
		s = rest
	}
}

func oldTask(dir string, b []byte) (t Task, err error) {
	var c struct {
		Instruction string   `yaml:"instruction"`
		Category    string   `yaml:"category"`
		Tags        []string `yaml:"tags"`
		Agent       float64  `yaml:"max_agent_timeout_sec"`
		Test        float64  `yaml:"max_test_timeout_sec"`
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		return t, err
	}
	return Task{
		Name: filepath.Base(dir), Dir: dir, Format: TerminalBench1, Instruction: withoutCanary(c.Instruction),
		AgentTime: seconds(c.Agent, 360), TestTime: seconds(c.Test, 60), Category: c.Category, Keywords: c.Tags,
	}, nil
}

func loadRows(path string) ([]Task, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Task
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var r Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if r.ID == "" || r.Base == "" {
			return nil, fmt.Errorf("%s:%d is no row of SWE-bench: instance_id or base_commit is missing", path, n)
		}
		image := r.Image
		if image == "" {
			image = "docker.io/swebench/sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(r.ID), "__", "_1776_") + ":latest"
		}
		out = append(out, Task{
			Name: r.ID, Format: SWEBench, Instruction: r.Problem, Image: image, Workdir: "/testbed", AgentTime: time.Hour,
			TestTime: 30 * time.Minute, Row: &r,
		})
	}
	return out, lines.Err()
}
