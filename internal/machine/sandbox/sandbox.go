// Package sandbox starts child processes and makes sure that nothing of them is left behind.
//
// The words: a [Spec] describes a program to start; a [Runner] starts it; a [Proc] is the running leader with its
// tree, which is the leader and everything that came from it, also processes that left its group (setsid,
// double fork); an [Exit] says how it ended.
//
// Promises:
//
//   - A child has no terminal: it is the leader of a new session, and its standard input is the null
//     device unless the Spec gives one. It inherits no descriptor but the three standard ones.
//   - When the leader ends, the context is cancelled or the Runner is closed, the whole tree is ended, unless the
//     Spec says that processes may outlive the leader (a daemon that was asked for): SIGTERM, a grace, SIGKILL. On
//     Linux the tree is found through a subreaper, the session, the output pipe and a marker in the environment, so
//     that a daemon is found too unless it gave up all of these. On other Unix systems the tree is
//     the process group; on Windows it is a job object.
//   - When lathe itself is killed, the kernel kills the leader (Linux), and a small shell that was started
//     with the first command kills the rest; on Windows the job object does both.
//   - Wait returns when the leader has ended and the tree is gone. It never waits for a grandchild that
//     keeps the output open.
//   - The environment is cleaned ([CleanEnv]) unless the Spec gives one.
//   - With a [Confinement] the child and all that it starts run inside that boundary (package confine), or nothing
//     starts.
package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// Spec describes a program to start. Argv must not be empty; Argv[0] is found along PATH when it has no slash.
type Spec struct {
	Argv  []string
	Dir   string    // working folder; empty means lathe's own
	Env   []string  // nil means CleanEnv of lathe's own environment
	Stdin io.Reader // nil means the null device
	// nil means the null device; one with Flush is flushed at the end; equal to Stderr means one pipe, so that the order
	// is kept
	Stdout io.Writer
	Stderr io.Writer
	Grace  time.Duration // from SIGTERM to SIGKILL; 0 means 700 ms
	Leave  bool          // processes may outlive the leader and lathe; not on Windows

	Confine *Confinement // nil: not confined
	// the program only reads files and prints: without a Confine of its own, Runner.Readers confines it
	Reads bool
}

// Confinement is the boundary around a child.
type Confinement struct {
	Policy  confine.Policy
	Support confine.Support // the tier that enforces it; without it the child does not start
	// Proxy serves the connections that the child makes to confine.ProxyAddr, with Policy.Proxy, until the listener is
	// closed. pid is the process at the top of the child's tree.
	Proxy func(l net.Listener, pid int)
	// Local gets sockets of the child's network, with Policy.Local, and is called in a goroutine. They are its own.
	Local func(sockets []int, pid int)
	// Watch is called before the start, and its result with the child when that runs, or with nil if it does not start;
	// nil: neither.
	Watch func() (started func(*Proc))
}

// environ sets the child's variables for its temporary folder and proxy.
func (c *Confinement) environ() map[string]string {
	env := map[string]string{}
	if c.Support.Tier == confine.Full {
		env["TMPDIR"] = "/tmp"
	} else if c.Policy.Temp != "" {
		env["TMPDIR"] = c.Policy.Temp
	}
	if c.Policy.Proxy && c.Support.Tier == confine.Full {
		for _, name := range [...]string{
			"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "YARN_HTTP_PROXY",
			"YARN_HTTPS_PROXY",
		} {
			env[name] = "http://" + confine.ProxyAddr
		}
		env["ALL_PROXY"], env["all_proxy"] = "socks5h://"+confine.ProxyAddr, "socks5h://"+confine.ProxyAddr
		env["NO_PROXY"], env["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
		env["RSYNC_PROXY"], env["NODE_USE_ENV_PROXY"], env["ELECTRON_GET_USE_PROXY"] = confine.ProxyAddr, "1", "1"
	}
	return env
}

// confined reports whether the child is confined.
func (s Spec) confined() bool { return s.Confine != nil && s.Confine.Policy.Confined() }

// Exit is how a command ended.
type Exit struct {
	Code      int    // 0 to 255; 128+n when signal n ended it; -1 when it could not be waited for
	Signal    string // name of the signal that ended the leader ("killed"), or empty
	Cancelled bool   // the context or the Runner ended it, not the leader itself
	Ended     int    // processes that outlived the leader and were ended
	Left      []int  // with Spec.Leave: pids of those that stay, as far as that can be told (Linux)
	Alive     int    // processes that even SIGKILL did not end within two seconds
	Duration  time.Duration
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("sandbox: lathe is shutting down, no process is started")

// Runner starts processes. It is safe for concurrent use. Close it before lathe exits.
type Runner struct {
	// Readers confines children with Spec.Reads, by their working folder; nil, or a nil result: not confined. Set it
	// before the first child. Its error is that of Start: such a child does not run without the boundary.
	Readers func(dir string) (*Confinement, error)

	mu      sync.Mutex
	closed  bool
	procs   map[*Proc]struct{}
	spawner spawner
	stems   confine.Stems
	reaper  reaper
}

// New returns a Runner. It starts nothing by itself.
func New() *Runner {
	r := &Runner{procs: map[*Proc]struct{}{}}
	r.stems.Fork = r.spawner.do
	return r
}

// Run starts spec and waits. The error is that of starting, or the cause of ctx when that ended it; a
// command that ended with another code than 0 is not an error.
func (r *Runner) Run(ctx context.Context, spec Spec) (Exit, error) {
	p, err := r.Start(ctx, spec)
	if err != nil {
		return Exit{Code: -1}, err
	}
	exit := p.Wait()
	if exit.Cancelled && ctx.Err() != nil {
		return exit, context.Cause(ctx)
	}
	return exit, nil
}

// Close ends every tree, waits until they are gone and lets nothing new start. It may be called twice.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	all := make([]*Proc, 0, len(r.procs))
	for p := range r.procs {
		all = append(all, p)
	}
	r.mu.Unlock()
	for _, p := range all {
		p.stop()
	}
	for _, p := range all {
		<-p.done
	}
	r.stems.Close()
	r.spawner.close()
	r.reaper.close()
}

// add keeps p until forget, or refuses when the Runner is closed.
func (r *Runner) add(p *Proc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.procs[p] = struct{}{}
	return nil
}

func (r *Runner) forget(p *Proc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.procs, p)
}
