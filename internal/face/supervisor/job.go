// Package supervisor keeps the session processes of a user: it starts them, finds them, starts those again that
// crashed, and holds no conversation.
//
// The words: a job is a session that has, had or will have its own process; that process writes the job's file while it
// lives, and the supervisor does when it died. The supervisor is one process for each user and state folder,
// started when it is needed; it ends when no job has a process.
//
// Promises:
//
//   - Sockets and files are the user's alone. Processes that a session started are turned away.
//   - A supervisor that was killed or replaced finds its processes again by the files of their jobs, and takes their
//     environments from them. No file holds an environment.
//   - A process that crashed is started again, in the mode it had. After three crashes within ten minutes the job has
//     failed.
package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

// State is what a job does.
type State string

// States of a job.
const (
	Working State = "working"
	Blocked State = "blocked" // see Job.WaitingFor
	Done    State = "done"    // nothing runs; a prompt goes on with it
	Failed  State = "failed"
	Stopped State = "stopped" // by the user
)

// Job is a session with a process of its own. The first nine fields are those of Claude Code's agents --json.
type Job struct {
	ID         string    `json:"id"`
	Name       string    `json:"name,omitempty"`
	Kind       string    `json:"kind"`          // background or interactive
	PID        int       `json:"pid,omitempty"` // 0: it has no process
	CWD        string    `json:"cwd"`
	State      State     `json:"state"`
	WaitingFor string    `json:"waitingFor,omitempty"` // permission, answer, sandbox, login
	StartedAt  time.Time `json:"startedAt"`
	SessionID  string    `json:"sessionId,omitempty"`

	Activity string    `json:"activity,omitempty"` // one line: what it does, or why it failed
	Changed  time.Time `json:"changed"`            // when State became what it is
	Args     []string  `json:"args,omitempty"`     // of its command line, without the prompt
	Prompt   string    `json:"prompt,omitempty"`   // the first one
	Mode     string    `json:"mode,omitempty"`     // the permission mode it is in
	Protocol int       `json:"protocol,omitempty"` // the version of the port that it speaks
	Lathe    string    `json:"lathe,omitempty"`    // its version of lathe
	Crashes  []Crash   `json:"crashes,omitempty"`

	Failure   *Failure `json:"failure,omitempty"`   // why its process could not begin
	Schedules string   `json:"schedules,omitempty"` // the file of its session's schedules, which wake it
}

// Crash is a process of a job that died.
type Crash struct {
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// Failure is why a session could not begin.
type Failure struct {
	Code    int    `json:"code"` // of the process
	Text    string `json:"text"`
	NoKey   bool   `json:"noKey,omitempty"`   // no model is set up
	Session string `json:"session,omitempty"` // that another process has open
}

func (f *Failure) Error() string { return f.Text }

// Live reports whether the job has a process, as far as its file says.
func (j Job) Live() bool { return j.PID > 0 }

// Place is where jobs, sockets and logs are.
type Place struct {
	Jobs    string // a folder for each job
	Sockets string // a folder that is the user's alone
}

// At returns the place for a state folder. The runtime folder ($XDG_RUNTIME_DIR) may be empty.
func At(state, runtime string) Place {
	p := Place{Jobs: filepath.Join(state, "jobs")}
	for _, dir := range []string{
		runtimeDir(runtime, state), filepath.Join(state, "run"),
		filepath.Join(os.TempDir(), fmt.Sprintf("lathe-%d", os.Getuid()), shortSum(state)),
	} {
		if p.Sockets = dir; dir != "" && len(filepath.Join(dir, "12345678.sock")) <= longestSocket {
			break
		}
	}
	return p
}

func runtimeDir(runtime, state string) string {
	if !filepath.IsAbs(runtime) {
		return ""
	}
	return filepath.Join(runtime, "lathe", shortSum(state))
}

// Socket is the path of a job's socket.
func (p Place) Socket(id string) string { return filepath.Join(p.Sockets, id+".sock") }

func (p Place) supervisor() string { return filepath.Join(p.Sockets, "supervisor.sock") }

// Folder is the folder of a job.
func (p Place) Folder(id string) string { return filepath.Join(p.Jobs, id) }

func (p Place) file(id string) string { return filepath.Join(p.Folder(id), "state.json") }

// LogFile is where a job's process writes what goes wrong.
func (p Place) LogFile(id string) string { return filepath.Join(p.Folder(id), "worker.log") }

// Write keeps a job. Its fields that this version does not know survive.
func (p Place) Write(j Job) error {
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if b, err = withUnknown(b, p.file(j.ID)); err != nil {
		return err
	}
	if err := os.MkdirAll(p.Folder(j.ID), 0o700); err != nil {
		return fmt.Errorf("the job cannot be kept: %w", err)
	}
	return atomicfile.Write(p.file(j.ID), append(b, '\n'), 0o600)
}

// withUnknown adds the fields that only the file has.
func withUnknown(b []byte, path string) ([]byte, error) {
	old, err := os.ReadFile(path)
	if err != nil {
		return b, nil // it is new
	}
	var was, now map[string]json.RawMessage
	var known Job
	if json.Unmarshal(old, &was) != nil || json.Unmarshal(old, &known) != nil {
		return b, nil // it is damaged, and written afresh
	}
	if err := json.Unmarshal(b, &now); err != nil {
		return nil, err
	}
	for name, value := range was {
		if !slices.Contains(jobFields, name) {
			now[name] = value
		}
	}
	return json.Marshal(now)
}

// Read returns a job.
func (p Place) Read(id string) (j Job, err error) {
	b, err := os.ReadFile(p.file(id))
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil {
		return Job{}, fmt.Errorf("the job %s cannot be read: %w", id, err)
	}
	return j, nil
}

// List returns all jobs, the newest first. A job whose process is gone has none. Files that cannot be read are in the
// error; the others are returned.
func (p Place) List() ([]Job, error) {
	entries, err := os.ReadDir(p.Jobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Job
	var errs []error
	for _, e := range entries {
		j, err := p.Read(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is being made: a face puts its files there first
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if j.PID > 0 && !alive(j.PID) {
			j.PID = 0
		}
		out = append(out, j)
	}
	slices.SortFunc(out, func(a, b Job) int { return b.StartedAt.Compare(a.StartedAt) })
	return out, errors.Join(errs...)
}

// Find returns the job that a word means: its id, the beginning of that or of the session's, or a part of its name.
func (p Place) Find(word string) (Job, error) {
	all, err := p.List()
	word = strings.ToLower(word)
	for _, fits := range []func(Job) bool{
		func(j Job) bool { return j.ID == word || j.SessionID == word },
		func(j Job) bool { return strings.HasPrefix(j.ID, word) || strings.HasPrefix(j.SessionID, word) },
		func(j Job) bool { return strings.Contains(strings.ToLower(j.Name), word) },
	} {
		var found []Job
		for _, j := range all {
			if word != "" && fits(j) {
				found = append(found, j)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			var names []string
			for _, j := range found {
				names = append(names, j.ID+" "+j.Name)
			}
			return Job{}, fmt.Errorf("%q fits %d sessions: %s", word, len(found), strings.Join(names, ", "))
		}
	}
	if err == nil {
		err = errors.New("lathe ps lists them")
	}
	return Job{}, fmt.Errorf("no session in the background is called %q: %w", word, err)
}

// Remove forgets a job. Its session stays.
func (p Place) Remove(id string) error {
	return errors.Join(os.RemoveAll(p.Folder(id)), ignoreMissing(os.Remove(p.Socket(id))))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
