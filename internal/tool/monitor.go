package tool

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files/watch"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed monitor.md
var monitorDescription string

type monitorInput struct {
	Command     string `json:"command,omitempty"`
	Path        string `json:"path,omitempty" jsonschema:"Instead of a command: a file whose changes are the lines"`
	Description string `json:"description,omitempty" jsonschema:"What is watched, in a few words"`
	Timeout     int64  `json:"timeout_ms,omitempty" jsonschema:"It ends then; default: with the session" limits:"minimum=1"`
}

// MonitorName is the tool whose commands and files speak to the model.
const MonitorName = "Monitor"

// The command of a call is one of Bash, which is decided on by itself.
var monitorTool = call.Declaration{
	Name: MonitorName, Input: schemaOf[monitorInput](),
	Params: map[string]string{"path": "file file_path filename", "timeout_ms": "timeout"}, Ignored: "persistent",
	Deferred: true, Accesses: call.Typed(monitorAccesses),
}

func monitorAccesses(in monitorInput, at call.Place) ([]permission.Access, error) {
	if in.Path == "" {
		return call.SessionOnly(MonitorName), nil
	}
	return pathAccess(permission.Read, in.Path, at)
}

// monitors is what Monitor uses.
type monitors struct {
	*Files
	*Jobs
	invoke invoker
}

func newMonitor(env *monitors) agent.Tool {
	return newTool(monitorTool, monitorDescription, func(_ context.Context, c llm.ToolCall, in monitorInput) (*agent.Plan,
		error,
	) {
		if (in.Command == "") == (in.Path == "") {
			return nil, errors.New("give either a command or a path")
		}
		accesses, err := monitorAccesses(in, env.place())
		if err != nil {
			return nil, err
		}
		plan := &agent.Plan{Accesses: accesses, Title: cmp.Or(in.Description, in.Command, in.Path)}
		if in.Command != "" {
			plan.Run = func(ctx context.Context) (*agent.Result, error) { return env.command(ctx, in) }
			return plan, nil
		}
		p, err := env.resolve(in.Path)
		if err != nil {
			return nil, err
		}
		plan.Run = func(context.Context) (*agent.Result, error) { return env.file(c.ID, p.Real, in) }
		return plan, nil
	})
}

// command starts the command as a call of Bash, with its rules and questions, and listens to it.
func (m *monitors) command(ctx context.Context, in monitorInput) (*agent.Result, error) {
	if m.invoke == nil {
		return nil, errors.New("no command can be started here; use Bash with run_in_background")
	}
	raw, err := json.Marshal(bashInput{Command: in.Command, Description: in.Description, Background: true})
	if err != nil {
		return nil, err
	}
	for _, r := range m.invoke(ctx, []llm.ToolCall{{Name: BashName, Input: raw}}) {
		if r.IsError {
			return &agent.Result{Parts: r.Parts, IsError: true, Title: in.Command}, nil
		}
		if s := m.Background.ofCall(r.CallID); s != nil {
			m.Background.listen(s, in.Description)
			return m.result(s, in), nil
		}
	}
	return nil, errors.New("the command did not start in the background")
}

// file watches a file until it is ended as a command in the background is.
func (m *monitors) file(callID, path string, in monitorInput) (*agent.Result, error) {
	if err := m.Background.room(); err != nil {
		return nil, err
	}
	spool, err := m.blobWriter(context.Background(), callID+".txt")
	if err != nil {
		return nil, err
	}
	own, cancel := context.WithCancelCause(context.Background())
	s := &shellRun{
		callID: callID, owner: m.Owner, command: "watch " + path, dir: m.Dir.Get(), started: time.Now(), cancel: cancel,
		cause: func() error { return context.Cause(own) }, status: ShellRunning, spool: spool,
	}
	w := watch.New(watch.Options{Changed: func(batch []watch.Event) {
		for _, e := range batch {
			if e.Path == path {
				_, _ = fmt.Fprintf(s, "%s %s\n", e.Op, e.Path) // what cannot be kept is reported with the output
			}
		}
	}})
	w.FollowAlone(path)
	m.Background.adopt(s, func() sandbox.Exit {
		<-own.Done()
		return sandbox.Exit{Cancelled: true, Duration: time.Since(s.started)}
	}, w.Close)
	m.Background.listen(s, in.Description)
	return m.result(s, in), nil
}

func (m *monitors) result(s *shellRun, in monitorInput) *agent.Result {
	text := fmt.Sprintf("Monitoring, with ID: %s. You are told of each line; end it with TaskStop.", s.id)
	if in.Timeout > 0 {
		wait := time.Duration(in.Timeout) * time.Millisecond
		time.AfterFunc(wait, func() { s.cancel(errShellKilled) }) // of one that has ended, nothing happens
		text += fmt.Sprintf(" It ends after %s.", wait)
	}
	r := agent.TextResult(text)
	r.Title = cmp.Or(in.Description, s.command)
	r.View = event.Command{Command: s.command, Dir: s.dir, Background: s.id}
	r.Meta = map[string]any{"taskId": s.id, "backgroundTaskId": s.id}
	return r
}

// Bounds of the lines that wait for the model.
const (
	mostHeard = 200 // lines; older ones are dropped and counted
	lineHeard = 500 // characters of a line
)

// follower holds the lines of a command that the model was not told.
type follower struct {
	about   string
	plain   plainText
	part    []byte
	lines   []string
	dropped int
}

// add takes output, and reports whether the first line came that waits.
func (f *follower) add(p []byte) bool {
	before := len(f.lines)
	f.part = f.plain.add(f.part, p)
	for {
		i := slices.Index(f.part, '\n')
		if i < 0 && len(f.part) <= partial {
			return before == 0 && len(f.lines) > 0
		}
		if i < 0 {
			i = len(f.part) - 1
		}
		line := strings.TrimRight(string(f.part[:i]), "\r")
		f.part = f.part[i+1:]
		if r := []rune(line); len(r) > lineHeard {
			line = string(r[:lineHeard]) + "…"
		}
		if strings.TrimSpace(line) != "" {
			f.lines = append(f.lines, line)
		}
		if over := len(f.lines) - mostHeard; over > 0 {
			f.lines, f.dropped = f.lines[over:], f.dropped+over
		}
	}
}

// take returns the lines that wait, for the model.
func (f *follower) take(id string) string {
	if f == nil || len(f.lines) == 0 {
		return ""
	}
	head := "Monitor " + id
	if f.about != "" {
		head += " (" + f.about + ")"
	}
	if f.dropped > 0 {
		head += fmt.Sprintf(", after %d earlier lines", f.dropped)
	}
	text := head + ":\n" + strings.Join(f.lines, "\n")
	f.lines, f.dropped = nil, 0
	return text
}

// Heard sets the function that is called, from another goroutine, when a line of a monitor waits for the model.
func (b *Background) Heard(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = f
}

// ofCall returns the command that a call started, or nil.
func (b *Background) ofCall(id string) *shellRun {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.shells {
		if s.callID == id {
			return s
		}
	}
	return nil
}

// listen tells the model of the lines of a command, from its first one on.
func (b *Background) listen(s *shellRun, about string) {
	b.mu.Lock()
	heard := b.heard
	b.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow = &follower{about: about}
	s.hear = func(p []byte) {
		if s.follow.add(p) && heard != nil {
			go heard()
		}
	}
	so, n := make([]byte, s.size), 0 // what cannot be read of it is said by TaskOutput
	if s.status == ShellRunning {
		n, _ = s.spool.ReadAt(so, 0)
	} else if f, err := os.Open(s.path); err == nil {
		n, _ = f.ReadAt(so, 0)
		_ = f.Close()
	}
	s.hear(so[:n])
}
