package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// Methods of a supervisor.
const (
	methodStart    = "job/start"   // Start -> Job
	methodWake     = "job/wake"    // Named -> Job: it has a process then
	methodStop     = "job/stop"    // Named -> Job: its process has ended
	methodRespawn  = "job/respawn" // Named -> Job: it has another process
	methodRemove   = "job/remove"  // Named -> {}
	methodJobs     = "jobs"        // {} -> Jobs
	methodSchedule = "schedule"    // Scheduled -> Schedule
	methodShutdown = "shutdown"    // {} -> {}: all processes have ended, after their step
)

// Methods of a session process, for its supervisor.
const (
	MethodEnviron = "process/environ" // {} -> Environ
	MethodStop    = "process/stop"    // {} -> {}: the turn is ended, and the process ends
)

// MethodMessage is for the process of another session: Letter -> Taken.
const MethodMessage = "process/message"

// MethodLeave asks a session process what becomes of it when the face that asks is gone: Leave -> Left.
const MethodLeave = "process/leave"

// Leave says how a person leaves the session.
type Leave struct {
	Stay bool `json:"stay,omitempty"` // it is to go on in the background
}

// Left says what becomes of the session.
type Left struct {
	Stays   bool   `json:"stays,omitempty"`   // it goes on; else its process ends, and its job is off the list
	Session string `json:"session,omitempty"` // its id, if it has messages
}

// Letter is a message of one session to another.
type Letter struct {
	From string `json:"from"`           // the sender's job
	Name string `json:"name,omitempty"` // of its session
	Mode string `json:"mode,omitempty"` // the permission mode that it is in
	Text string `json:"text"`
}

// Taken says what became of a letter: accepted, held or known.
type Taken struct {
	State string `json:"state"`
}

// Environ is an environment, as os.Environ has it.
type Environ struct {
	Environ []string `json:"environ"`
}

// Start describes a new job. Its process gets the environment of the face.
type Start struct {
	ID      string   `json:"id,omitempty"` // of the job, eight digits of a UUID; empty: one is made
	Name    string   `json:"name,omitempty"`
	Kind    string   `json:"kind"`
	CWD     string   `json:"cwd"`
	Args    []string `json:"args,omitempty"`
	Prompt  string   `json:"prompt,omitempty"`
	Environ []string `json:"environ"`
}

// Named names a job. Environ replaces the environment of its process, and Args the arguments of one that is started
// afresh; nil: those that it had.
type Named struct {
	ID      string   `json:"id"`
	Environ []string `json:"environ,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// Jobs lists the jobs.
type Jobs struct {
	PID  int   `json:"pid"` // of the supervisor
	Jobs []Job `json:"jobs"`
}

// Client speaks with the supervisor.
type Client struct{ conn *port.Client }

// ErrNone is returned where no supervisor runs.
var ErrNone = errors.New("no supervisor runs")

// Dial connects to the supervisor that runs.
func (p Place) Dial(ctx context.Context) (*Client, error) {
	c, err := port.Dial(ctx, p.supervisor(), port.Face{Kind: "supervisor"})
	for _, none := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF} {
		if errors.Is(err, none) { // it is gone, or goes at this moment
			return nil, ErrNone
		}
	}
	if err != nil {
		return nil, err
	}
	return &Client{c}, nil
}

// startWait is how long a supervisor may take to start.
const startWait = 10 * time.Second

// Ensure connects to the supervisor, which start starts if none runs.
func (p Place) Ensure(ctx context.Context, start func() error) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	c, err := p.Dial(ctx)
	if !errors.Is(err, ErrNone) {
		return c, err
	}
	if err := start(); err != nil {
		return nil, fmt.Errorf("the supervisor cannot be started: %w", err)
	}
	for {
		c, err := p.Dial(ctx)
		if !errors.Is(err, ErrNone) {
			return c, err
		}
		select {
		case <-time.After(3 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("the supervisor does not answer; its log is %s", p.supervisorLog())
		}
	}
}

// Close ends the connection.
func (c *Client) Close() { _ = c.conn.Close() }

// Start begins a job.
func (c *Client) Start(ctx context.Context, s Start) (j Job, err error) {
	err = c.conn.Call(ctx, methodStart, s, &j)
	return j, err
}

// Wake returns a job that has a process.
func (c *Client) Wake(ctx context.Context, n Named) (j Job, err error) {
	err = c.conn.Call(ctx, methodWake, n, &j)
	return j, err
}

// Stop ends the process of a job, after its step.
func (c *Client) Stop(ctx context.Context, id string) (j Job, err error) {
	err = c.conn.Call(ctx, methodStop, Named{ID: id}, &j)
	return j, err
}

// Respawn replaces the process of a job.
func (c *Client) Respawn(ctx context.Context, n Named) (j Job, err error) {
	err = c.conn.Call(ctx, methodRespawn, n, &j)
	return j, err
}

// Remove ends a job and forgets it.
func (c *Client) Remove(ctx context.Context, id string) error {
	return c.conn.Call(ctx, methodRemove, Named{ID: id}, nil)
}

// Jobs lists the jobs.
func (c *Client) Jobs(ctx context.Context) (out Jobs, err error) {
	err = c.conn.Call(ctx, methodJobs, struct{}{}, &out)
	return out, err
}

// Shutdown ends all processes, after their step, and the supervisor.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.conn.Call(ctx, methodShutdown, struct{}{}, nil)
}

// Refuse turns away processes that a session started: they answer no questions and start no sessions. The process of
// another session is port.ErrPeer.
func (p Place) Refuse(pid int) error {
	jobs, _ := p.List() // those that can be read
	session := func(pid int) bool {
		return pid == os.Getpid() || slices.ContainsFunc(jobs, func(j Job) bool { return j.PID == pid })
	}
	below, err := port.DescendsFrom(pid, func(above int) bool { return above != pid && session(above) })
	switch {
	case err != nil:
		return fmt.Errorf("%w: who connects cannot be found out: %w", port.ErrRefused, err)
	case below || pid == os.Getpid():
		return fmt.Errorf("%w: it runs in a session", port.ErrRefused)
	case session(pid):
		return port.ErrPeer
	}
	return nil
}

func (p Place) listen() (net.Listener, error) { return port.Listen(p.supervisor()) }
