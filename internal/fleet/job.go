package fleet

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/store/schedule"
)

// Priorities is the number of priorities. Jobs of 9 come first.
const Priorities = 10

// Defaults of a job.
const (
	defaultPriority = 5
	defaultTries    = 3
	defaultTimeout  = time.Hour
	mostAttempts    = 10
)

// Job is one piece of work. Its JSON is a line of the file that is submitted.
type Job struct {
	ID       string   `json:"id,omitempty"`   // letters, digits, _ and -; empty: one is made
	Name     string   `json:"name,omitempty"` // for people; empty: the first words of the prompt
	Repo     string   `json:"repo,omitempty"` // a folder, a git URL or a bundle; empty: an empty folder
	Rev      string   `json:"rev,omitempty"`  // of the repository; empty: its HEAD
	Prompt   string   `json:"prompt,omitempty"`
	Model    string   `json:"model,omitempty"`
	Mode     string   `json:"mode,omitempty"`    // a permission mode; empty: acceptEdits
	Sandbox  string   `json:"sandbox,omitempty"` // "off": commands are not confined; empty: the sandbox is required
	Check    string   `json:"check,omitempty"`   // a command that must succeed on the work, in the sandbox
	Attempts int      `json:"attempts,omitempty"`
	Priority *int     `json:"priority,omitempty"` // 0 to 9; nil: 5
	After    []string `json:"after,omitempty"`    // ids of jobs that must be done before
	Tries    int      `json:"tries,omitempty"`    // until it is parked; 0: 3
	Timeout  Duration `json:"timeout,omitempty"`  // of one try; 0: an hour
	Budget   float64  `json:"budget_usd,omitempty"`

	NotBefore time.Time `json:"not_before,omitzero"`
	Schedule  string    `json:"schedule,omitempty"` // cron's five fields, @every 1h, ...: a job is made at each time

	Kind string          `json:"kind,omitempty"` // of the program that runs it; empty: a session
	Data json.RawMessage `json:"data,omitempty"` // for that program
}

// Duration is a time.Duration that JSON writes as "10m"; a number is seconds.
type Duration time.Duration

// MarshalJSON writes the text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads a text or a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var seconds float64
	if json.Unmarshal(b, &seconds) == nil {
		*d = Duration(seconds * float64(time.Second))
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	*d = Duration(v)
	return err
}

// NewID makes an id: twelve letters and digits.
func NewID() string { return strings.ToLower(rand.Text()[:12]) }

// complete fills in what is missing, and refuses what cannot be.
func (j *Job) complete() error {
	j.ID = cmp.Or(j.ID, NewID())
	switch {
	case !plainName.MatchString(j.ID):
		return fmt.Errorf("the id %q may have letters, digits, _ and -, 64 at most", j.ID)
	case j.Prompt == "" && j.Kind == "":
		return errors.New("the prompt is missing")
	case j.priority() < 0 || j.priority() >= Priorities:
		return fmt.Errorf("the priority %d is not from 0 to 9", j.priority())
	case j.Attempts < 0 || j.Attempts > mostAttempts:
		return fmt.Errorf("attempts: %d is not from 1 to %d", j.Attempts, mostAttempts)
	case j.Budget < 0 || j.Timeout < 0 || j.Tries < 0:
		return errors.New("budget_usd, timeout and tries cannot be negative")
	case j.Sandbox != "" && j.Sandbox != "off":
		return fmt.Errorf(`sandbox is "off" or left out, not %q`, j.Sandbox)
	case j.Schedule != "" && len(j.After) > 0:
		return errors.New("a job with a schedule cannot wait for others")
	}
	if j.Schedule != "" {
		if _, err := schedule.Parse(j.Schedule); err != nil {
			return fmt.Errorf("schedule: %w", err)
		}
	}
	if j.Name == "" {
		j.Name = firstWords(j.Prompt)
	}
	return nil
}

func firstWords(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > 50 {
		return string(r[:49]) + "…"
	}
	return s
}

func (j *Job) priority() int {
	if j.Priority == nil {
		return defaultPriority
	}
	return *j.Priority
}

func (j *Job) tries() int             { return cmp.Or(j.Tries, defaultTries) }
func (j *Job) timeout() time.Duration { return cmp.Or(time.Duration(j.Timeout), defaultTimeout) }

// State is what became of a job.
type State string

// States of a job.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"    // the agent, its check or a limit ended it
	Cancelled State = "cancelled" // by a person, or since a job before it is not done
	Parked    State = "parked"    // every try failed for a reason outside of it; lathe fleet retry goes on
)

// Over says that a job will not run any more by itself.
func (s State) Over() bool { return s != Queued && s != Running }

// Record says where a job is.
type Record struct {
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	State    State     `json:"state"`
	Priority int       `json:"priority"`
	Tries    int       `json:"tries,omitempty"`
	Run      string    `json:"run,omitempty"`    // of the newest try
	Worker   string    `json:"worker,omitempty"` // that has or had it
	Host     string    `json:"host,omitempty"`   // of that worker
	Session  string    `json:"session,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	CostUSD  float64   `json:"cost_usd,omitempty"`

	seq uint64
}

// Blob is a file in the object store.
type Blob struct {
	Name   string `json:"name"`
	Size   uint64 `json:"size"`
	SHA256 string `json:"sha256"`
}

// Result is what a job left behind.
type Result struct {
	Job     string    `json:"job"`
	Run     string    `json:"run"`
	Worker  string    `json:"worker"`
	State   State     `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Outcome
	Log        *Blob `json:"log,omitempty"`        // events, a JSON line each
	Transcript *Blob `json:"transcript,omitempty"` // the session's own log
	Patch      *Blob `json:"patch,omitempty"`      // of what changed, for git apply
}

// Outcome is what a try came to, before its files are stored.
type Outcome struct {
	Answer  string          `json:"answer,omitempty"` // the agent's last words
	Session string          `json:"session,omitempty"`
	Model   string          `json:"model,omitempty"`
	Base    string          `json:"base,omitempty"` // the commit that the patch is for
	Repo    string          `json:"repo,omitempty"`
	CostUSD float64         `json:"cost_usd"`
	Steps   int             `json:"steps,omitempty"`
	Input   int             `json:"input_tokens,omitempty"`
	Cached  int             `json:"cached_tokens,omitempty"`
	Output  int             `json:"output_tokens,omitempty"`
	Check   *Check          `json:"check,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"` // of a job with a kind

	Failed string `json:"-"` // why the job failed; empty: it is done
	Files  Files  `json:"-"`
}

// Files are what a try leaves behind, as paths; empty ones are missing.
type Files struct{ Log, Transcript, Patch string }

// Check is a run of a job's check command.
type Check struct {
	Command string `json:"command"`
	Code    int    `json:"code"`
	Output  string `json:"output,omitempty"` // its end
}
