package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// Bounds of the background commands of one session.
const (
	mostBackground = 16  // commands at once
	mostEnded      = 100 // commands that ended and are remembered
)

var (
	errShellKilled = errors.New("the command was ended on request")
	errShellClosed = errors.New("the session was closed")
)

// ShellStatus is the state of a background command.
type ShellStatus string

// Statuses. Failed is every end with an exit code other than 0 that nobody asked for.
const (
	ShellRunning   ShellStatus = "running"
	ShellCompleted ShellStatus = "completed"
	ShellFailed    ShellStatus = "failed"
	ShellKilled    ShellStatus = "killed"
)

// BackgroundShell is a command in the background as it was at one moment.
type BackgroundShell struct {
	ID       string // "bash_1"
	CallID   string // of the call that started it
	Command  string
	Dir      string
	Started  time.Time
	Duration time.Duration // so far, or until it ended
	Status   ShellStatus
	ExitCode int
	Size     int64  // bytes of output
	Output   string // the file with all of the output; empty while it runs
}

// Background holds the commands of a session that run beside the conversation: started with
// run_in_background, or sent there while they ran (Detach). Their output goes to blobs of the session and
// takes no memory. It is safe for concurrent use; the Envs of a session and its subagents share one.
type Background struct {
	mu     sync.Mutex
	count  int
	shells []*shellRun // in the order of their start
	fore   []*foreground
	closed bool
	ends   sync.WaitGroup
	notify func(BackgroundShell)
	heard  func() // see Heard
}

// foreground is a command that a call waits for.
type foreground struct {
	callID string
	owner  string
	leave  chan struct{} // closed to send it to the background
}

// NewBackground makes an empty Background.
func NewBackground() *Background { return &Background{} }

// Notify sets the function called on every start and end, from another goroutine each time.
func (b *Background) Notify(f func(BackgroundShell)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notify = f
}

// List returns the commands in the order of their start: those that run, and the last ones that ended.
func (b *Background) List() []BackgroundShell {
	b.mu.Lock()
	shells := slices.Clone(b.shells)
	b.mu.Unlock()
	out := make([]BackgroundShell, len(shells))
	for i, s := range shells {
		out[i] = s.state()
	}
	return out
}

// Running counts the commands that run.
func (b *Background) Running() int {
	n := 0
	for _, s := range b.List() {
		if s.Status == ShellRunning {
			n++
		}
	}
	return n
}

// Kill ends a command with everything it started, waits until it is gone and returns how it ended. For one
// that has ended already that is all.
func (b *Background) Kill(ctx context.Context, id string) (BackgroundShell, error) {
	s, err := b.find(id)
	if err != nil {
		return BackgroundShell{}, err
	}
	s.cancel(errShellKilled)
	select {
	case <-s.ended:
		return s.state(), nil
	case <-ctx.Done():
		return s.state(), ctx.Err()
	}
}

// Waiting names the calls of an agent (see Env.Owner) that wait for a command and could be sent to the background.
func (b *Background) Waiting(owner string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for _, f := range b.fore {
		if f.owner == owner {
			ids = append(ids, f.callID)
		}
	}
	return ids
}

// Detach sends the command of a call to the background: the call returns at once with the id of the shell and
// the output so far. False when no such call waits for a command, or there are too many in the background.
func (b *Background) Detach(callID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := false
	b.fore = slices.DeleteFunc(b.fore, func(f *foreground) bool {
		if f.callID != callID || b.full() {
			return false
		}
		close(f.leave)
		done = true
		return true
	})
	return done
}

// Wait waits until no command runs, or ctx ends.
func (b *Background) Wait(ctx context.Context) {
	for {
		var running *shellRun
		b.mu.Lock()
		for _, s := range b.shells {
			if s.running() {
				running = s
			}
		}
		b.mu.Unlock()
		if running == nil {
			return
		}
		select {
		case <-running.ended:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all commands, waits until they are gone and their output is kept, and lets none start.
func (b *Background) Close() error {
	b.mu.Lock()
	b.closed = true
	for _, s := range b.shells {
		s.cancel(errShellClosed)
	}
	b.mu.Unlock()
	b.ends.Wait()
	return nil
}

// news says what the monitors of an agent heard, and which of its commands have ended, since the model was last told.
func (b *Background) news(owner string) []string {
	b.mu.Lock()
	shells := slices.Clone(b.shells)
	b.mu.Unlock()
	var out []string
	for _, s := range shells {
		if !s.ownedBy(owner) {
			continue
		}
		s.mu.Lock()
		lines := s.follow.take(s.id)
		s.mu.Unlock()
		if lines != "" {
			out = append(out, prompt.Sanitize(lines))
		}
		if s.tellEnd() {
			out = append(out, "In the background: "+s.state().String())
		}
	}
	return out
}

// HandOver gives the commands of an agent that ends to the one that started it.
func (b *Background) HandOver(from, to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.shells {
		if s.ownedBy(from) {
			s.mu.Lock()
			s.owner = to
			s.mu.Unlock()
		}
	}
}

func (s *shellRun) ownedBy(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner == owner
}

// tellEnd reports, once, that the command has ended.
func (s *shellRun) tellEnd() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told || s.status == ShellRunning {
		return false
	}
	s.told = true
	return true
}

// full reports whether no more may run. The lock is held.
func (b *Background) full() bool {
	n := 0
	for _, s := range b.shells {
		if s.running() {
			n++
		}
	}
	return n >= mostBackground
}

// room says why no command may start in the background, or nil.
func (b *Background) room() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return errShellClosed
	case b.full():
		return fmt.Errorf("%d commands run in the background already; end one with TaskStop first", mostBackground)
	}
	return nil
}

// wait registers a call that waits for its command.
func (b *Background) wait(callID, owner string) *foreground {
	f := &foreground{callID, owner, make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fore = append(b.fore, f)
	return f
}

func (b *Background) done(f *foreground) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fore = slices.DeleteFunc(b.fore, func(o *foreground) bool { return o == f })
}

// find returns the command with an id.
func (b *Background) find(id string) (*shellRun, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var known []string
	for _, s := range b.shells {
		if s.id == strings.TrimSpace(id) {
			return s, nil
		}
		known = append(known, s.id)
	}
	if len(known) == 0 {
		return nil, noShell{fmt.Errorf("there is no background command %q: none was started since the session was opened, "+
			"and those from before ended then. Start it again with run_in_background if it is needed", id)}
	}
	return nil, noShell{fmt.Errorf("there is no background command %q; there are %s", id,
		strings.Join(known[max(0, len(known)-10):], ", "))}
}

// ErrNoShell means that no command in the background has an id.
var ErrNoShell = errors.New("there is no such background command")

// noShell is ErrNoShell in words for the model.
type noShell struct{ error }

func (noShell) Is(err error) bool { return err == ErrNoShell }

// adopt takes over a command that has started, and waits for its end. after runs then.
func (b *Background) adopt(s *shellRun, wait func() sandbox.Exit, after func()) {
	s.ended = make(chan struct{})
	b.mu.Lock()
	b.count++
	s.id = fmt.Sprintf("bash_%d", b.count)
	b.shells = append(b.shells, s)
	b.forget()
	b.ends.Add(1)
	if b.closed {
		s.cancel(errShellClosed)
	}
	b.mu.Unlock()
	b.tell(s)
	go func() {
		defer b.ends.Done()
		s.end(wait())
		after()
		close(s.ended)
		b.tell(s)
	}()
}

// forget drops the oldest commands that ended, beyond those that are remembered. The lock is held.
func (b *Background) forget() {
	over := -mostEnded
	for _, s := range b.shells {
		if !s.running() {
			over++
		}
	}
	b.shells = slices.DeleteFunc(b.shells, func(s *shellRun) bool {
		if over <= 0 || s.running() {
			return false
		}
		over--
		return true
	})
}

func (b *Background) tell(s *shellRun) {
	b.mu.Lock()
	f := b.notify
	b.mu.Unlock()
	if f != nil {
		f(s.state())
	}
}

// shellRun is one command in the background.
type shellRun struct {
	id, callID, command, dir string

	started time.Time
	cancel  context.CancelCauseFunc
	cause   func() error // why it was cancelled
	flood   int64
	ended   chan struct{} // closed when the output is kept

	mu     sync.Mutex
	owner  string // see Env.Owner
	spool  BlobWriter
	size   int64 // bytes written to the spool
	came   int64 // bytes of output, also those that were not kept
	fault  error // of the spool
	status ShellStatus
	exit   sandbox.Exit
	path   string // of the output, when it has ended
	follow *follower
	hear   func([]byte) // gives output to follow; nil: it is no monitor

	told    bool       // the model knows that it has ended
	reading sync.Mutex // one reads at a time, and nobody while the spool becomes a blob
	read    int64      // bytes that were shown to the model
}

func (s *shellRun) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == ShellRunning
}

func (s *shellRun) state() BackgroundShell {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := BackgroundShell{
		ID: s.id, CallID: s.callID, Command: s.command, Dir: s.dir, Started: s.started, Duration: s.exit.Duration,
		Status: s.status, ExitCode: s.exit.Code, Size: s.size, Output: s.path,
	}
	if s.status == ShellRunning {
		out.Duration = time.Since(s.started)
	}
	return out
}

// Write takes output. When it cannot be kept the command goes on, and the loss is reported.
func (s *shellRun) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := p[:min(int64(len(p)), max(0, bashKept-s.size))]; s.fault == nil && len(kept) > 0 {
		if _, s.fault = s.spool.Write(kept); s.fault == nil {
			s.size += int64(len(kept))
		}
	}
	if s.hear != nil {
		s.hear(p)
	}
	if s.came += int64(len(p)); s.flood > 0 && s.came > s.flood {
		s.cancel(errBashFlood)
	}
	return len(p), nil
}

// end takes in how the command ended.
func (s *shellRun) end(exit sandbox.Exit) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exit = exit
	if s.fault == nil {
		s.path, s.fault = s.spool.Commit()
	}
	_ = s.spool.Close() // drops it only when it could not be kept
	switch cause := s.cause(); {
	case exit.Cancelled && (errors.Is(cause, errShellKilled) || errors.Is(cause, errShellClosed)):
		s.status = ShellKilled
	case exit.Cancelled || exit.Code != 0:
		s.status = ShellFailed
	default:
		s.status = ShellCompleted
	}
}

// readAt reads the output so far, from the spool or, after the end, from the file it became.
func (s *shellRun) readAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	spool, path, ended := s.spool, s.path, s.status != ShellRunning
	s.mu.Unlock()
	if !ended {
		return spool.ReadAt(p, off)
	}
	if path == "" {
		return 0, errors.New("the output could not be kept")
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(p, off)
}
