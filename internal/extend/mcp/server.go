package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth"
	"github.com/lathe-dev/lathe/internal/extend/mcp/remote"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

const (
	startTimeout = 30 * time.Second // MCP_TIMEOUT
	idleTimeout  = 30 * time.Minute // of a call of a local server without progress
	remoteIdle   = 5 * time.Minute
	firstWait    = time.Second // before a crashed server starts again; doubles
	longestWait  = time.Minute
)

// server is one server of a set.
type server struct {
	set   *Set
	only  *View // the session of the agent that it is for alone; nil: all sessions
	entry entry.Entry
	log   *log
	file  string // keeps its tools; empty: nothing is kept

	authOnce sync.Once
	login    *oauth.Client // see auth

	mu       sync.Mutex
	disabled bool
	state    State
	err      error
	client   *client.Client
	inbox    *hostTransport // of a server in the host's process
	dynamic  bool           // set over the control protocol
	starting *start         // in progress
	failures int            // crashes and failed starts since the last answer
	retryAt  time.Time
	known    bool // there is an accepted list
	accepted accepted
	recalled bool // accepted was read from its file
	listed   []*listed
	withheld []string
	tokens   int
	proposed []client.Tool // the list that waits for the user
	callers  map[*View]int // the sessions that wait for the server, and how often

	hidden hidden
	tasks  ownTasks
	asking atomic.Int32 // questions of the server that wait for an answer

	pages map[string]chan struct{} // that the user opened, by the ids of their elicitations

	resources bool // it has, or had in an earlier run
	handshake bool // it wants the handshake first, or did in an earlier run
	offer     offer

	relisting, stale bool
}

// start is one attempt to connect.
type start struct {
	done   chan struct{}
	client *client.Client
	err    error
}

func (v *server) isKnown() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known || v.disabled
}

var errDisabled = errors.New("the server is disabled")

// connect returns the connection, and starts the server where there is none. Callers that come meanwhile share the
// attempt.
func (v *server) connect(ctx context.Context) (*client.Client, error) {
	v.mu.Lock()
	if v.disabled {
		v.mu.Unlock()
		return nil, errDisabled
	}
	if v.client != nil && v.client.Err() == nil {
		defer v.mu.Unlock()
		return v.client, nil
	}
	if v.starting == nil {
		if wait := time.Until(v.retryAt); wait > 0 {
			defer v.mu.Unlock()
			return nil, fmt.Errorf("it failed %d times and is not started again for %s; the last error: %w", v.failures,
				wait.Round(time.Second), v.err)
		}
		a := &start{done: make(chan struct{})}
		if !v.set.spawn(func() { v.start(a) }) {
			defer v.mu.Unlock()
			return nil, sandbox.ErrClosed
		}
		v.starting = a
	}
	attempt := v.starting
	v.mu.Unlock()
	select {
	case <-attempt.done:
		return attempt.client, attempt.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// start runs one attempt; it belongs to the set and not to the call that wanted it.
func (v *server) start(a *start) {
	timeout := v.limit(startTimeout)
	ctx, cancel := context.WithTimeoutCause(v.set.life, timeout,
		fmt.Errorf("it did not answer within %s; MCP_TIMEOUT sets the time in milliseconds", timeout))
	defer cancel()
	v.mu.Lock()
	handshake := v.handshake
	v.mu.Unlock()
	c, err := v.dial(ctx)
	var tools []client.Tool
	if err == nil {
		if tools, err = c.Tools(ctx); err != nil {
			_ = c.Close() // the first error says more
		}
	}
	v.mu.Lock()
	v.starting = nil
	if err == nil && v.disabled {
		err = errDisabled
		defer c.Close()
	}
	if err != nil {
		err = v.hidden.plain(err)
		v.failed(err)
		a.err = fmt.Errorf("the MCP server %s did not start: %w", v.entry.Name, err)
		v.mu.Unlock()
		close(a.done)
		return
	}
	v.client, v.state, v.err, a.client = c, Connected, nil, c
	has := c.Has.Resources != nil
	differs := has != v.resources
	v.resources = has
	changed := v.take(tools)
	if differs || handshake != v.handshake {
		v.keep()
	}
	v.mu.Unlock()
	v.forgetResources()
	close(a.done)
	v.set.spawn(func() {
		ctx, cancel := context.WithTimeout(v.set.life, timeout)
		defer cancel()
		v.learn(ctx, c)
	})
	changed = changed || differs
	v.set.spawn(func() { v.watch(c) })
	if changed {
		v.set.version.Add(1)
		v.set.spawn(v.askChanges)
	}
}

func (v *server) isDisabled() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.disabled
}

// failed notes a crash or failed start. The first one after an answer is followed by an attempt at once.
func (v *server) failed(err error) {
	v.client, v.err, v.state = nil, v.hidden.plain(err), Failed
	if _, ok := errors.AsType[*remote.AuthError](err); ok {
		v.state = NeedsAuth
	}
	v.failures++
	v.tasks.forget()
	if v.failures > 1 {
		v.retryAt = time.Now().Add(min(firstWait<<min(v.failures-2, 10), longestWait))
	}
	v.log.note("failed: " + err.Error())
}

// watch notes the end of a connection.
func (v *server) watch(c *client.Client) {
	select {
	case <-c.Done():
	case <-v.set.life.Done():
		return
	}
	err := c.Err()
	_ = c.Close() // it has ended
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.client == c && !errors.Is(err, jsonrpc.ErrClosed) {
		v.failed(err)
	}
}

// shut ends the server; a later call starts it again.
func (v *server) shut() {
	v.mu.Lock()
	c := v.client
	v.client = nil
	if v.state == Connected {
		v.state = ""
	}
	v.mu.Unlock()
	v.tasks.forget()
	if c != nil {
		_ = c.Close() // a server that does not end in order is ended
	}
}

// dial makes the connection. A program that ends when it is asked for its versions is started again and gets the
// handshake, also in later runs.
func (v *server) dial(ctx context.Context) (*client.Client, error) {
	v.mu.Lock()
	// both are older than the versions without one
	known := v.handshake || v.entry.Type == entry.SSE || v.entry.Type == entry.SDK
	v.mu.Unlock()
	c, err := v.dialAs(ctx, known)
	if v.entry.Type != entry.Stdio || !errors.Is(err, client.ErrProbed) || ctx.Err() != nil {
		return c, err
	}
	if c, err = v.dialAs(ctx, true); err == nil {
		v.mu.Lock()
		v.handshake = true
		v.mu.Unlock()
	}
	return c, err
}

func (v *server) dialAs(ctx context.Context, handshake bool) (*client.Client, error) {
	t, err := v.transport(ctx)
	if err != nil {
		return nil, err
	}
	return client.Connect(ctx, t, client.Options{
		Handshake: handshake,
		Info:      client.Info{Name: "lathe", Title: "lathe", Version: cmp.Or(v.set.o.Version, "0")}, Log: v.log.note,
		Logged:  v.logged,
		Request: v.serve, Offers: v.offers(), Updated: v.updated, Completed: v.completed,
		Changed: func(kind string) {
			if kind == "resources" {
				v.forgetResources()
				return
			}
			v.set.spawn(v.relist)
		},
	})
}

func (v *server) transport(ctx context.Context) (jsonrpc.Transport, error) {
	switch v.entry.Type {
	case entry.Stdio:
		return v.process(ctx)
	case entry.SDK:
		return v.host()
	}
	return v.remote(ctx)
}

// relistPause is the shortest time between two readings of a list that its server keeps changing.
const relistPause = time.Second

// relist reads the lists of tools and prompts again, after the server announced a change. Announcements that come
// meanwhile lead to one more reading.
func (v *server) relist() {
	v.mu.Lock()
	v.stale = true
	if v.relisting {
		v.mu.Unlock()
		return
	}
	v.relisting = true
	v.mu.Unlock()
	for v.relistOnce() {
		select {
		case <-time.After(relistPause):
		case <-v.set.life.Done():
		}
	}
}

// relistOnce reports whether there may be another change to read.
func (v *server) relistOnce() bool {
	v.mu.Lock()
	c := v.client
	if c == nil || !v.stale || v.set.life.Err() != nil {
		v.relisting = false
		v.mu.Unlock()
		return false
	}
	v.stale = false
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(v.set.life, startTimeout)
	defer cancel()
	tools, err := c.Tools(ctx)
	if err != nil {
		v.log.note("the changed list of tools cannot be read: " + err.Error()) // the old list stays
		return true
	}
	v.mu.Lock()
	changed := v.take(tools)
	v.mu.Unlock()
	if changed {
		v.set.version.Add(1)
		v.set.spawn(v.askChanges)
	}
	v.learn(ctx, c)
	return true
}

// call calls a tool. The timeout is that of the entry or MCP_TOOL_TIMEOUT; a call without any sign of progress ends
// earlier.
func (v *server) call(ctx context.Context, tool string, input json.RawMessage, progress func(jsonrpc.Progress)) (
	*client.Result, error,
) {
	c, err := v.connect(ctx)
	if err != nil {
		return nil, err
	}
	offered := v.offered(tool)
	if offered == nil {
		return nil, v.notOffered(tool)
	}
	limit := 28 * time.Hour
	if ms, err := strconv.Atoi(v.set.variable("MCP_TOOL_TIMEOUT")); err == nil && ms > 0 {
		limit = time.Duration(ms) * time.Millisecond
	}
	limit = entry.Timeout(v.entry.TimeoutMs, limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the call took longer than %s and was cancelled",
		limit))
	defer cancel()
	idle := idleTimeout
	if v.entry.Type != entry.Stdio {
		idle = remoteIdle
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := v.whenIdle(idle, stop)
	defer timer.Stop()
	alive := func(p jsonrpc.Progress) {
		timer.Reset(idle)
		progress(p)
	}
	r, err := c.CallTool(ctx, *offered, input, alive)
	if need, ok := asked(err); ok {
		timer.Stop() // the user has all the time
		if err = v.openAll(ctx, need); err == nil {
			timer.Reset(idle)
			r, err = c.CallTool(ctx, *offered, input, alive)
		}
	}
	if err == nil {
		v.mu.Lock()
		v.failures, v.retryAt = 0, time.Time{}
		v.mu.Unlock()
	}
	err = v.hidden.plain(err)
	v.noteRefusal(err)
	return r, err
}

// whenIdle ends a call that showed no sign of progress for a time in which the server asked no one anything.
func (v *server) whenIdle(idle time.Duration, stop context.CancelCauseFunc) *time.Timer {
	var timer *time.Timer
	made := make(chan struct{})
	timer = time.AfterFunc(idle, func() {
		<-made
		if v.asking.Load() > 0 { // the user has all the time
			timer.Reset(idle)
			return
		}
		stop(fmt.Errorf("the server gave no sign of progress for %s; the call was cancelled", idle))
	})
	close(made)
	return timer
}

func (v *server) status() Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := Status{
		Name: v.entry.Name, Scope: string(v.entry.Scope), File: v.entry.File, What: v.entry.Describe(),
		Effects: v.entry.Effects(), State: cmp.Or(v.state, Pending), Withheld: v.withheld, Tokens: v.tokens,
	}
	if v.entry.Plugin != nil {
		out.Shown = v.entry.Plugin.Shown
	}
	if v.disabled {
		out.State = Disabled
	}
	if v.err != nil && (out.State == Failed || out.State == NeedsAuth) {
		out.Err = v.err.Error()
	}
	if v.client != nil {
		out.Server, out.Protocol = v.client.Server, v.client.Version
	}
	for _, l := range v.listed {
		out.Tools = append(out.Tools, l.tool.Name)
	}
	return out
}
