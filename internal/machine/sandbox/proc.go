package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

const (
	defaultGrace  = 700 * time.Millisecond // so that a turn that is interrupted ends within a second
	leftoverGrace = 500 * time.Millisecond // for processes that outlive a command that ended by itself
	drainLimit    = 200 * time.Millisecond // for output that a process out of our reach keeps open
)

// Proc is a started command.
type Proc struct {
	runner  *Runner
	cmd     *exec.Cmd
	tree    tree
	grace   time.Duration
	leave   bool
	started time.Time
	outputs []*output
	input   *os.File // our end of the standard input; nil when the Spec gave a file or nothing
	source  io.Reader
	stopped chan struct{}
	once    sync.Once
	done    chan struct{}
	exit    Exit

	child  *confine.Child // nil: not confined
	proxy  func(net.Listener, int)
	local  func([]int, int)
	listen net.Listener
}

// Start starts spec. When ctx is done the tree is ended. Wait need not be called for that.
func (r *Runner) Start(ctx context.Context, spec Spec) (*Proc, error) {
	if len(spec.Argv) == 0 {
		return nil, errors.New("sandbox: nothing to start: the command is empty")
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if spec.Reads && spec.Confine == nil && r.Readers != nil {
		var err error
		if spec.Confine, err = r.Readers(spec.Dir); err != nil {
			return nil, startError(spec, err)
		}
	}
	if spec.Leave && !canLeave {
		return nil, errors.New("sandbox: a process cannot outlive lathe on this system")
	}
	p := &Proc{runner: r, grace: spec.Grace, leave: spec.Leave, stopped: make(chan struct{}), done: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = defaultGrace
	}
	closeAfter, err := p.build(spec)
	defer func() {
		for _, f := range closeAfter {
			f.Close()
		}
	}()
	if err == nil {
		err = p.confine(spec)
	}
	if err != nil {
		p.closeOutputs()
		return nil, err
	}
	started := func(*Proc) {}
	if spec.confined() && spec.Confine.Watch != nil {
		started = spec.Confine.Watch()
	}
	if err := r.launch(ctx, p); err != nil {
		started(nil)
		p.closeOutputs()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, startError(spec, err)
	}
	for _, o := range p.outputs {
		go o.copy()
	}
	if p.input != nil {
		go p.feed()
	}
	go p.supervise(ctx)
	started(p)
	return p, nil
}

// Cover makes protected and masked paths of a confined child so again: see confine.Child. Its error is
// [os.ErrProcessDone] if the child has ended.
func (p *Proc) Cover(protect, mask []string) error {
	if p.child == nil {
		return nil
	}
	return p.child.Cover(p.cmd, protect, mask)
}

// launch forks. The Proc is registered first, so that Close cannot miss it.
func (r *Runner) launch(ctx context.Context, p *Proc) error {
	if err := r.add(p); err != nil {
		return err
	}
	p.started = time.Now()
	err := p.tree.start(p.cmd, p.begin)
	if err == nil {
		err = p.entered(ctx)
	}
	if err != nil {
		r.forget(p)
		close(p.done)
		return err
	}
	r.reaper.add(&p.tree)
	return nil
}

// begin starts the process, in its sandbox if there is one.
func (p *Proc) begin() error {
	if p.child != nil {
		return p.child.Start(p.cmd, &p.runner.stems)
	}
	return p.runner.spawner.do(p.cmd.Start)
}

// confine makes the command start in its sandbox.
func (p *Proc) confine(spec Spec) error {
	if !spec.confined() {
		return nil
	}
	p.cmd.Env = Overlay(p.cmd.Env, spec.Confine.environ())
	policy := spec.Confine.Policy
	policy.Leave = spec.Leave
	child, err := confine.Wrap(p.cmd, &policy, spec.Confine.Support)
	if err != nil {
		return startError(spec, err)
	}
	p.child, p.proxy, p.local = child, spec.Confine.Proxy, spec.Confine.Local
	return nil
}

// entered waits until a confined command has started, or reaps the child that failed to start it. It ends with ctx and
// the Runner.
func (p *Proc) entered(ctx context.Context) error {
	if p.child == nil {
		return nil
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		case <-p.stopped:
		}
		_ = p.cmd.Process.Kill() // as long as its sandbox is set up, this is the whole tree
	}()
	l, err := p.child.Started()
	if err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.tree.close()
		return err
	}
	if p.listen = l; l != nil && p.proxy != nil {
		go p.proxy(l, p.child.Top(p.cmd.Process.Pid))
	}
	if p.local != nil {
		if sockets := p.child.Local(); len(sockets) > 0 {
			go p.local(sockets, p.child.Top(p.cmd.Process.Pid))
		}
	}
	return nil
}

// startError names the program that could not be started, the reason and the next move.
func startError(spec Spec, err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	if spec.Dir != "" {
		if fi, serr := os.Stat(spec.Dir); serr != nil || !fi.IsDir() {
			return fmt.Errorf("cannot start %s: the working folder %s is not there: %w", spec.Argv[0], spec.Dir, err)
		}
	}
	if errors.Is(err, syscall.E2BIG) {
		return fmt.Errorf("cannot start %s: its arguments and environment are too long for this system: %w", spec.Argv[0],
			err)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("cannot start %s: it is not installed or not on PATH: %w", spec.Argv[0], err)
	}
	return fmt.Errorf("cannot start %s: %w", spec.Argv[0], err)
}

// build fills p.cmd; the files it returns belong to the child and are closed here after the start.
func (p *Proc) build(spec Spec) (closeAfter []io.Closer, err error) {
	p.cmd = exec.Command(spec.Argv[0], spec.Argv[1:]...)
	if p.cmd.Err != nil {
		return nil, startError(spec, p.cmd.Err)
	}
	p.cmd.Dir = spec.Dir
	env := spec.Env
	if env == nil {
		env = CleanEnv(os.Environ(), Options{})
	}
	p.cmd.Env = p.tree.env(env, spec.Dir)
	if closeAfter, err = p.reader(spec.Stdin, closeAfter); err != nil {
		return closeAfter, err
	}
	stdout, closeAfter, err := p.writer(spec.Stdout, closeAfter)
	if err != nil {
		return closeAfter, err
	}
	p.cmd.Stdout = stdout
	if spec.Stderr != nil && same(spec.Stdout, spec.Stderr) {
		p.cmd.Stderr = stdout
		return closeAfter, nil
	}
	p.cmd.Stderr, closeAfter, err = p.writer(spec.Stderr, closeAfter)
	return closeAfter, err
}

// reader gives the child a file that r is copied to. os/exec's own copy would make Wait wait for r, which
// may never end.
func (p *Proc) reader(r io.Reader, closeAfter []io.Closer) ([]io.Closer, error) {
	if f, ok := r.(*os.File); ok || r == nil {
		if ok {
			p.cmd.Stdin = f
		}
		return closeAfter, nil
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return closeAfter, fmt.Errorf("sandbox: no pipe for the input: %w", err)
	}
	p.cmd.Stdin, p.input, p.source = pr, pw, r
	return append(closeAfter, pr), nil
}

// feed ends with the source or when the child no longer reads.
func (p *Proc) feed() {
	_, _ = io.Copy(p.input, p.source)
	p.input.Close()
}

func same(a, b io.Writer) (eq bool) {
	defer func() { _ = recover() }() // uncomparable writers are different ones
	return a == b
}

// writer gives the child a file that leads to w. Our own pipe instead of os/exec's lets the reader be
// stopped when the tree is gone and somebody still holds the other end.
func (p *Proc) writer(w io.Writer, closeAfter []io.Closer) (io.Writer, []io.Closer, error) {
	if w == nil {
		return nil, closeAfter, nil
	}
	if f, ok := w.(*os.File); ok {
		return f, closeAfter, nil
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, closeAfter, fmt.Errorf("sandbox: no pipe for the output: %w", err)
	}
	p.tree.watch(pr)
	p.outputs = append(p.outputs, &output{r: pr, w: w, done: make(chan struct{})})
	return pw, append(closeAfter, pw), nil
}

func (p *Proc) closeOutputs() {
	p.release()
	if p.input != nil {
		p.input.Close()
	}
	for _, o := range p.outputs {
		o.r.Close()
	}
}

// release closes lathe's side of the sandbox.
func (p *Proc) release() {
	if p.listen != nil {
		p.listen.Close()
	}
	if p.child != nil {
		p.child.Close()
	}
}

// output copies one pipe to one writer.
type output struct {
	r    *os.File
	w    io.Writer
	done chan struct{}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// copy reads to the end of the pipe or to the deadline that drain sets. A writer that fails stops the
// output, and with it sooner or later the child (SIGPIPE).
func (o *output) copy() {
	defer close(o.done)
	defer o.r.Close()
	if w, ok := o.w.(interface{ Flush() error }); ok {
		defer func() { _ = w.Flush() }() // a writer that fails has failed its reader already
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		n, err := o.r.Read(*buf)
		if n > 0 {
			if _, werr := o.w.Write((*buf)[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drain waits for the end of the output, but only shortly when a process out of reach keeps it open.
func (o *output) drain() {
	if o.r.SetReadDeadline(time.Now().Add(drainLimit)) != nil {
		o.r.Close()
	}
	<-o.done
}

// Pid is the process id of the leader.
func (p *Proc) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the tree is gone and all output was delivered.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Wait waits for Done.
func (p *Proc) Wait() Exit {
	<-p.done
	return p.exit
}

// End ends the tree and waits until it is gone.
func (p *Proc) End() Exit {
	p.stop()
	return p.Wait()
}

func (p *Proc) stop() { p.once.Do(func() { close(p.stopped) }) }

// supervise sees the command to its end.
func (p *Proc) supervise(ctx context.Context) {
	defer close(p.done)
	defer p.runner.forget(p)
	exited := make(chan struct{})
	stays := false // the sandbox's first process, which is the leader
	go func() {
		defer close(exited)
		if p.leave && p.child != nil {
			if stays = p.child.Ended(); stays {
				return
			}
		}
		p.tree.waitLeader()
	}()
	select {
	case <-exited:
		if p.leave {
			p.exit.Left = p.tree.survivors()
			break
		}
		p.exit.Ended, p.exit.Alive = p.tree.leftovers(leftoverGrace)
	case <-ctx.Done():
		p.cancel(exited)
	case <-p.stopped:
		p.cancel(exited)
	}
	select {
	case <-exited:
		if stays {
			p.ended()
			go func() { _ = p.cmd.Wait() }() // it ends with the last process that was left
		} else {
			p.status(p.cmd.Wait())
		}
	default: // not even SIGKILL ended the leader; it is left to init
		p.exit.Code = -1
	}
	p.runner.reaper.drop(&p.tree)
	p.tree.close()
	p.release()
	if p.input != nil {
		p.input.Close()
	}
	for _, o := range p.outputs {
		o.drain()
	}
	p.exit.Duration = time.Since(p.started)
}

// cancel ends a tree whose leader still runs.
func (p *Proc) cancel(exited <-chan struct{}) {
	p.exit.Cancelled = true
	_, p.exit.Alive = p.tree.end(p.grace)
	select {
	case <-exited:
	case <-time.After(drainLimit):
	}
}

// ended reads the end of a command whose sandbox stays.
func (p *Proc) ended() {
	ws, _, _ := p.child.Status()
	p.exit.Code = ws.ExitStatus()
	if ws.Signaled() {
		p.exit.Code, p.exit.Signal = 128+int(ws.Signal()), ws.Signal().String()
	}
}

// status reads the leader's end.
func (p *Proc) status(err error) {
	st := p.cmd.ProcessState
	if st == nil {
		p.exit.Code = -1
		return
	}
	_ = err // says no more than the state does
	ws, ok := st.Sys().(syscall.WaitStatus)
	p.exit.Code = st.ExitCode()
	if p.child != nil {
		if inner, left, known := p.child.Status(); known { // the leader was the sandbox's first process
			ws, p.exit.Ended, p.exit.Code = inner, left, inner.ExitStatus()
		}
	}
	if ok && ws.Signaled() {
		p.exit.Code = 128 + int(ws.Signal())
		p.exit.Signal = ws.Signal().String()
	}
}
