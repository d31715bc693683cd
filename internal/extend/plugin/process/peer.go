package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Bounds of a process's life.
const (
	startLimit  = 10 * time.Second
	callLimit   = 5 * time.Second
	firstPause  = time.Second // before it is started again; doubles
	longest     = time.Minute
	steady      = time.Minute // after so long a life the pause is short again
	mostSlow    = 3           // calls in a row that end by their time, then the process is ended
	maxError    = 2000        // bytes of an error, and of a note
	mostChatter = 10_000      // messages in a second that no one asked for
	shutGrace   = 500 * time.Millisecond
)

// Process is one program. It is safe for concurrent use.
type Process struct {
	spec Spec
	set  *Set

	mu       sync.Mutex
	conn     *live
	starting chan struct{} // not nil: it is being started, closed when that is over
	tried    bool
	ended    bool      // closed for good
	fails    int       // in a row
	after    time.Time // it is not started before
	why      error     // why it is not up
	status   string

	dropped atomic.Int64
	outputs sync.Map // the function that takes the live output of a call, by its id
}

// live is one run of the program.
type live struct {
	*jsonrpc.Conn
	pipe  *pipe
	began time.Time
	pid   int
	about *about
	slow  atomic.Int32

	second  int64 // of chatter; only the reader of the connection touches both
	chatter int
}

func newProcess(s *Set, spec Spec) *Process { return &Process{set: s, spec: spec} }

// Name is the name of the process.
func (p *Process) Name() string { return p.spec.Name }

// Origin says in words where it is declared.
func (p *Process) Origin() string { return p.spec.Origin }

// State describes the process in a few words; foreign text.
func (p *Process) State() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := "not started"
	switch {
	case p.conn != nil:
		text = "running"
	case p.starting != nil:
		text = "starting"
	case p.why != nil:
		text = "failed: " + p.why.Error()
	}
	if n := p.dropped.Load(); n > 0 {
		text += fmt.Sprintf(", %d events dropped", n)
	}
	return text
}

// Dropped counts the events that the process did not take.
func (p *Process) Dropped() int64 { return p.dropped.Load() }

func (p *Process) about() *about {
	if l := p.up(); l != nil {
		return l.about
	}
	return nil
}

func (p *Process) up() *live {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn
}

// kick begins a start where one is due, and reports a first one that is under way.
func (p *Process) kick() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil || p.ended {
		return false
	}
	if p.starting == nil && !p.set.o.Clock().Before(p.after) {
		first = !p.tried
		p.tried, p.starting = true, make(chan struct{})
		go p.start(p.starting)
	}
	return first
}

// settled waits until a start is over.
func (p *Process) settled(ctx context.Context) {
	p.mu.Lock()
	starting := p.starting
	p.mu.Unlock()
	if starting == nil {
		return
	}
	select {
	case <-starting:
	case <-ctx.Done():
	}
}

func (p *Process) start(over chan struct{}) {
	defer close(over)
	l, err := p.launch()
	if err == nil {
		p.set.declare(p, l.about) // before anybody sees its tools
	}
	p.mu.Lock()
	p.starting = nil
	if err == nil && p.ended {
		err = errors.New("it was ended")
	}
	if err != nil {
		p.failed(err)
	} else {
		p.conn, p.why = l, nil
	}
	p.mu.Unlock()
	if err != nil {
		if l != nil {
			_ = l.Close()
		}
		p.set.note(fmt.Sprintf("the process %s is not used: %v", p.spec.Name, err))
		return
	}
	p.set.version.Add(1)
	go p.bound(l, l.pid)
	go p.watch(l)
}

// failed counts an end and sets the pause. The lock is held.
func (p *Process) failed(err error) {
	p.fails++
	p.after = p.set.o.Clock().Add(min(firstPause<<min(p.fails-1, 10), longest))
	p.why = err
}

// watch waits for the end of a run.
func (p *Process) watch(l *live) {
	<-l.Done()
	_ = l.Close()
	p.mu.Lock()
	p.conn, p.status = nil, ""
	if p.set.o.Clock().Sub(l.began) >= steady {
		p.fails = 0
	}
	p.failed(l.Err())
	ended, pause := p.ended, p.after.Sub(p.set.o.Clock())
	p.mu.Unlock()
	p.set.version.Add(1)
	p.set.statusChanged()
	if !ended {
		p.set.note(fmt.Sprintf("the process %s ended (%v); its features are off, and it is started again in %v at the "+
			"earliest", p.spec.Name, l.Err(), pause.Round(time.Second)))
	}
}

// launch starts the program and asks it to initialize.
func (p *Process) launch() (*live, error) {
	o := &p.set.o
	spec, done, err := p.prepare()
	if err != nil {
		return nil, err
	}
	child, err := o.Runner.StartPiped(context.Background(), spec)
	if err != nil {
		done()
		return nil, err
	}
	l := &live{began: o.Clock(), pid: child.Pid()}
	l.pipe = newPipe(child.Out, child.In, func() { child.Shut(shutGrace); done() })
	l.Conn = jsonrpc.New(l.pipe, jsonrpc.Handler{
		Request: func(_ context.Context, method string, _ json.RawMessage) (any, *jsonrpc.Error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.NoMethod, Message: "lathe answers no requests of processes: " + method}
		},
		Notify: func(method string, params json.RawMessage) { p.notified(l, method, params) },
		Odd:    func(string) { p.chatters(l) },
		Cancel: func(n int64) (string, any) { return NotifyCancel, CancelParams{ID: n} },
	})
	limit := cmp.Or(time.Duration(p.spec.Start)*time.Millisecond, startLimit)
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit,
		fmt.Errorf("it did not answer initialize within %v", limit))
	defer cancel()
	var res InitializeResult
	if err := l.Call(ctx, MethodInitialize, InitializeParams{
		Protocol: Version, Lathe: o.Lathe, Cwd: o.Dir,
		Data: p.spec.Data,
	}, &res, nil); err != nil {
		_ = l.Close()
		err = short{err}
		if text := strings.TrimSpace(spec.Stderr.(*tail).text()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, err
	}
	var notes []string
	l.about, notes = read(res)
	for _, n := range notes {
		p.set.note("the process " + p.spec.Name + ": " + n)
	}
	return l, nil
}

// prepare makes the command, its environment and its boundary.
func (p *Process) prepare() (spec sandbox.Spec, done func(), err error) {
	o, done := &p.set.o, func() {}
	argv := append([]string{p.spec.Command}, p.spec.Args...)
	if !filepath.IsAbs(argv[0]) && strings.ContainsRune(argv[0], '/') {
		argv[0] = filepath.Join(p.spec.Dir, argv[0])
	}
	spec = sandbox.Spec{Argv: argv, Dir: o.Dir, Env: o.Environ(p.spec.Foreign), Stderr: &tail{}}
	if p.spec.Environ != nil {
		spec.Env = p.spec.Environ(spec.Env)
	}
	spec.Env = slices.Clip(spec.Env)
	for name, value := range p.spec.Env {
		spec.Env = append(spec.Env, name+"="+value)
	}
	if p.spec.Foreign && o.Confine != nil {
		if spec.Confine, done, err = o.Confine(); err != nil {
			return spec, nil, err
		}
	}
	return spec, done, nil
}

// Call asks a process that is up, within a time; 0 is that of its declaration.
func (p *Process) Call(ctx context.Context, method string, params, result any, limit time.Duration) error {
	l := p.up()
	if l == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("the process %s is not running: %w", p.spec.Name, cmp.Or(p.why, errNotStarted))
	}
	limit = cmp.Or(limit, time.Duration(p.spec.Timeout)*time.Millisecond, callLimit)
	late := fmt.Errorf("it did not answer %s within %v", method, limit)
	timed, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	err := l.Call(timed, method, params, result, nil)
	switch {
	case err == nil:
		l.slow.Store(0)
		return nil
	case errors.Is(err, late) && l.slow.Add(1) >= mostSlow:
		go l.end(fmt.Errorf("%d calls in a row had no answer", mostSlow))
	}
	return fmt.Errorf("the process %s: %w", p.spec.Name, short{err})
}

// short is an error with the words of a process, which may be many.
type short struct{ error }

func (s short) Error() string { return cut(s.error.Error(), maxError) }
func (s short) Unwrap() error { return s.error }

var errNotStarted = errors.New("it was not started yet")

// end ends a run for a reason.
func (l *live) end(why error) {
	l.pipe.fail(why)
	_ = l.pipe.Close() // the reader ends with the reason
}

func (p *Process) close(why error) {
	p.mu.Lock()
	p.ended, p.why = true, why
	l, starting := p.conn, p.starting
	p.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
	if starting != nil {
		<-starting
	}
}

// notified takes a notification of the process.
func (p *Process) notified(l *live, method string, params json.RawMessage) {
	p.chatters(l)
	switch method {
	case NotifyStatus:
		var m StatusParams
		if json.Unmarshal(params, &m) == nil {
			p.setStatus(m.Text)
		}
	case NotifyLog:
		var m LogParams
		if json.Unmarshal(params, &m) == nil && m.Text != "" {
			p.set.note("the process " + p.spec.Name + ": " + cut(m.Text, 500))
		}
	case NotifyOutput:
		var m OutputParams
		if json.Unmarshal(params, &m) == nil {
			if f, ok := p.outputs.Load(m.CallID); ok {
				f.(func(string))(m.Text)
			}
		}
	}
}

// chatters counts a message that no one asked for, and ends a process that floods.
func (p *Process) chatters(l *live) {
	now := p.set.o.Clock().Unix()
	if now != l.second {
		l.second, l.chatter = now, 0
	}
	if l.chatter++; l.chatter == mostChatter {
		go l.end(fmt.Errorf("it sent %d messages in a second that nobody asked for", mostChatter))
	}
}

const maxStatus = 80 // characters

func (p *Process) setStatus(text string) {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), "\n")
	if utf8.RuneCountInString(line) > maxStatus {
		line = string([]rune(line)[:maxStatus])
	}
	p.mu.Lock()
	changed := p.status != line
	p.status = line
	p.mu.Unlock()
	if changed {
		p.set.statusChanged()
	}
}

func (p *Process) statusText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (s *Set) statusChanged() {
	if f := s.changed.Load(); f != nil {
		(*f)()
	}
}

// send hands an event to the process, or drops it.
func (p *Process) send(l *live, line []byte) {
	if len(line) > maxEvent || !l.pipe.offer(line) {
		p.dropped.Add(1)
	}
}

// cut shortens a text to n bytes.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// tail keeps the end of a process's error output.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const maxTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-maxTail):]...)
	t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-maxTail):]...)
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.kept, []byte("\uFFFD")))
}
