package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Sessions runs jobs as session processes of this machine's user, which lathe ps lists and lathe attach opens.
type Sessions struct {
	Lathe string // the program
	Place supervisor.Place
	Repos string // the folder of copies of repositories
	// Settings are more settings of the sessions and of the sandbox, as JSON.
	Settings string
}

// Work runs one try of a job.
func (s *Sessions) Work(ctx context.Context, t *Task) (Outcome, error) {
	if t.Job.Attempts > 1 {
		return s.best(ctx, t)
	}
	space, err := s.space(ctx, t)
	if err != nil {
		return Outcome{}, err
	}
	out, err := s.Converse(ctx, t, space.dir)
	if err != nil {
		return out, err
	}
	return s.conclude(ctx, t, space, out)
}

// conclude runs the check command on the work, and keeps what changed.
func (s *Sessions) conclude(ctx context.Context, t *Task, space *space, out Outcome) (Outcome, error) {
	out.Repo, out.Base = t.Job.Repo, space.base
	if t.Job.Check != "" && out.Failed == "" {
		c, err := s.check(ctx, t, space.dir)
		if err != nil {
			return out, err
		}
		if out.Check = c; c.Code != 0 {
			out.Failed = fmt.Sprintf("the check failed with exit code %d", c.Code)
		}
	}
	var err error
	out.Files.Patch, err = space.patch(ctx)
	return out, err
}

// Converse has a session work on the prompt of a job in a folder. A session of an earlier try on this machine goes on
// where it stopped.
func (s *Sessions) Converse(ctx context.Context, t *Task, dir string) (out Outcome, err error) {
	door := supervisor.Door{Place: s.Place, Face: port.Face{Kind: "script", Name: "lathe-fleet"}}
	super, err := s.Place.Ensure(ctx, s.spawn)
	if err != nil {
		return out, err
	}
	defer super.Close()
	j, err := s.start(ctx, super, t, dir)
	if err != nil {
		return out, err
	}
	l := &listener{task: t, pid: func() int { return pidOf(s.Place, j.ID) }, sandboxed: t.Job.Sandbox != "off"}
	l.file, err = os.OpenFile(filepath.Join(t.Dir, "events.jsonl"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return out, err
	}
	defer l.file.Close()
	err = l.listen(ctx, door, j.ID)
	out = l.out
	out.Files.Log = l.file.Name()
	if l.path != "" {
		out.Files.Transcript = filepath.Join(l.path, "log.jsonl")
	}
	if cause := context.Cause(ctx); errors.Is(cause, errDrained) || errors.Is(cause, errLost) {
		_, stopErr := super.Stop(context.WithoutCancel(ctx), j.ID) // it can be resumed here
		return out, errors.Join(err, stopErr)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return out, errors.Join(err, super.Remove(end, j.ID))
}

// spawn starts the supervisor by the program lathe.
func (s *Sessions) spawn() error {
	cmd := command(context.Background(), s.Lathe, "daemon", "run")
	cmd.Dir = "/"
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it outlives its jobs
	return nil
}

func pidOf(p supervisor.Place, id string) int {
	j, err := p.Read(id)
	if err != nil {
		return 0
	}
	return j.PID
}

// start finds the process of an earlier try, resumes its session, or begins one.
func (s *Sessions) start(ctx context.Context, super *supervisor.Client, t *Task, dir string) (supervisor.Job, error) {
	jobs, _ := s.Place.List() // those that can be read
	for _, j := range jobs {
		if j.CWD != dir { // no other session works in the folder
			continue
		}
		j, err := super.Wake(ctx, supervisor.Named{ID: j.ID, Environ: os.Environ()})
		if err == nil {
			return j, nil
		}
		t.worker.Log("%s: its session does not go on: %v", t.Job.ID, err)
	}
	args := []string{
		"--permission-mode=" + cmp.Or(t.Job.Mode, "acceptEdits"),
		"--sandbox=" + cmp.Or(t.Job.Sandbox, "workspace"),
	}
	if t.Job.Model != "" {
		args = append(args, "--model="+t.Job.Model)
	}
	if s.Settings != "" {
		args = append(args, "--settings="+s.Settings)
	}
	if t.Job.Budget > 0 {
		args = append(args, fmt.Sprintf("--max-budget-usd=%g", t.Job.Budget))
	}
	j, err := super.Start(ctx, supervisor.Start{
		Name: "fleet " + t.Job.ID, Kind: "background", CWD: dir, Args: args, Prompt: t.Job.Prompt, Environ: os.Environ(),
	})
	if err != nil {
		return j, fmt.Errorf("the session cannot be started: %w", err)
	}
	return j, nil
}

// listener follows the session of a job to its end.
type listener struct {
	task      *Task
	file      *os.File
	pid       func() int
	sandboxed bool

	out   Outcome
	path  string // the session's folder
	own   string // the session's id
	ended bool   // its turn has
	stop  error  // why it was interrupted
}

// listen follows the session, and interrupts it when ctx ends.
func (l *listener) listen(ctx context.Context, door supervisor.Door, id string) error {
	free := context.WithoutCancel(ctx)
	s, err := door.Stay(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	events, err := s.Attach(ctx, port.From{Gather: port.Rarely})
	if err != nil {
		return err
	}
	defer func() { events.Close() }()
	for {
		e, err := events.Next(ctx)
		switch {
		case ctx.Err() != nil:
			resume(l.pid())
			once, cancel := context.WithTimeout(free, 5*time.Second)
			defer cancel()
			return errors.Join(context.Cause(ctx), s.Interrupt(once, ""))
		case errors.Is(err, port.ErrResync):
			events.Close()
			if events, err = s.Attach(ctx, port.From{Gather: port.Rarely}); err != nil {
				return err
			}
			continue
		case errors.Is(err, io.EOF):
			return errors.New("the session was closed")
		case err != nil:
			return err
		}
		over, err := l.take(ctx, s, e)
		if over || err != nil {
			return err
		}
	}
}

// take handles one event, and reports whether the job's turn is over.
func (l *listener) take(ctx context.Context, s port.Session, e event.Event) (over bool, err error) {
	l.record(e)
	switch b := e.Body.(type) {
	case event.Opened:
		l.path, l.own, l.out.Session = b.Path, b.Session, b.Session
		for _, h := range b.History {
			l.read(h)
		}
		return false, nil
	case event.Asked:
		return false, refuse(ctx, s, e.Session, b)
	case event.Status:
		l.out.Model = b.Model
		if l.sandboxed && b.Sandbox != "sandboxed" && b.Sandbox != "landlock" {
			return false, errors.New(`there is no sandbox on this machine; "sandbox": "off" lets a job run without`)
		}
	case event.State:
		return l.ended && b.Doing == event.Idle, nil
	}
	if e.Session != l.own || len(e.Agent) > 0 {
		return false, l.cost(ctx, s, e.Body)
	}
	l.read(e.Body)
	return false, l.cost(ctx, s, e.Body)
}

// read takes what the outcome says of the conversation.
func (l *listener) read(b event.Body) {
	switch b := b.(type) {
	case event.PartDone:
		if t, ok := b.Part.(llm.Text); ok {
			l.out.Answer = t.Text
		}
	case event.TurnStart:
		l.ended = false
	case event.TurnEnd:
		l.ended = true
		l.out.Steps += b.Steps
		l.out.CostUSD += b.CostUSD
		l.out.Input += b.Usage.Prompt()
		l.out.Cached += b.Usage.CacheRead
		l.out.Output += b.Usage.Output
		l.out.Failed = l.why(b)
	}
}

func (l *listener) why(b event.TurnEnd) string {
	switch {
	case l.stop != nil:
		return l.stop.Error()
	case b.Reason == event.EndCompleted:
		return ""
	case b.Err != "":
		return b.Err
	}
	return "its turn ended: " + string(b.Reason)
}

// cost counts requests and money for the whole fleet. A session that is over the rate is stopped until the next minute.
func (l *listener) cost(ctx context.Context, s port.Session, b event.Body) error {
	switch b := b.(type) {
	case event.StepStart:
		wait, err := l.task.Request(ctx, cmp.Or(l.task.Job.Model, b.Model))
		if err != nil || wait == 0 {
			return err
		}
		pause(l.pid())
		defer resume(l.pid())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	case event.StepEnd:
		err := l.task.Spent(ctx, b.CostUSD)
		if !errors.Is(err, errBudget) {
			return err
		}
		l.stop = err
		return s.Interrupt(ctx, "")
	}
	return nil
}

// record keeps an event, and publishes it for who follows the job.
func (l *listener) record(e event.Event) {
	switch e.Body.(type) {
	case event.Delta, event.ToolOutput, event.Status, event.PartReady:
		return
	}
	b, err := event.MarshalEvent(e)
	if err != nil {
		return // of a kind that has no form
	}
	_, _ = l.file.Write(append(slices.Clip(b), '\n')) // the transcript is complete without it
	l.task.Emit(b)
}

// refuse answers a question: there is no person.
func refuse(ctx context.Context, s port.Session, session string, a event.Asked) error {
	answer := event.Answer{Choice: event.ChoiceNo, Text: "No person is here to answer. Go on without."}
	if a.Question.Permission == nil {
		answer = event.Answer{Canceled: true}
	}
	err := s.Answer(ctx, port.Answer{Session: session, ID: a.ID, Answer: answer})
	if err != nil && strings.Contains(err.Error(), "answer") {
		return nil // another face answered
	}
	return err
}
