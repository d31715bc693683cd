package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Seat is what a session does for its servers.
type Seat struct {
	Blob   func(ctx context.Context, name string, data []byte) (string, error) // keeps data with the session
	Ask    func(ctx context.Context, q event.Question) (event.Answer, error)   // nil: no one answers
	Notice func(text string)                                                   // warns the user; foreign text. May be nil
	// the first step waits for servers that are not known
	Waits bool

	// Elicit lets hooks answer a question in the user's place, and Elicited replace the user's answer: an action, and the
	// content with accept; ok is false where they do not. nil: there are no hooks.
	Elicit, Elicited func(ctx context.Context, server string, fields map[string]any) (action string,
		content json.RawMessage, ok bool)

	// Notify runs the hooks of notifications, by the type that Claude Code has for one. nil: there are none.
	Notify func(ctx context.Context, kind, text string)

	// the servers of the agent's own, asked for before each step; nil: there are none
	Own   func() []entry.Own
	Roots func() []string // the working folders; nil: that of the set
	// makes foreign text safe to send; nil: it is sent as it is
	Clean    func(text string) string
	Messages func() []llm.Message // of the conversation
	// changes whenever Messages does otherwise than to grow
	Revision func() int
	Model    func() llm.ModelInfo // that the conversation uses
	// by id, the small one for ""; answers requests of servers. Nil: none does
	Models func(ctx context.Context, id string) (llm.Model, error)
	Count  func(purpose string, m llm.ModelInfo, usage llm.Usage) // takes the cost of such a request
}

// View is a session's use of the set. It is safe for concurrent use.
type View struct {
	set  *Set
	seat Seat

	own    atomic.Pointer[[]*server] // of the agent alone; see takeOwn
	ownOf  []entry.Own               // that own was made of; takeOwn alone uses it
	mu     sync.Mutex
	tools  map[use]agent.Tool
	first  map[string]bool // the tools that are sent, once the first step has begun
	begun  bool            // first is settled
	settle bool            // by the next call of Tools

	forResources []agent.Tool
	watching     map[watched]*client.Client // subscriptions
	changed      []watched                  // resources that changed since the last step
	told         map[string]bool            // servers whose instructions the conversation has; nil: not looked yet
	toldAt       int                        // revision of the conversation that told belongs to
	toldBytes    int
	sampled      map[string]int  // tokens that a server's requests used
	maySample    map[string]bool // servers that the user allowed requests in this session
}

// use is a tool and whether each request has its schema.
type use struct {
	*listed
	sent bool
}

// Join makes the view of a session. Leave it at the session's end.
func (s *Set) Join(seat Seat) *View {
	v := &View{
		set: s, seat: seat, tools: map[use]agent.Tool{}, watching: map[watched]*client.Client{},
		sampled: map[string]int{}, maySample: map[string]bool{},
	}
	s.spawn(func() { _ = s.Load() }) // beside the rest of the start; its error is reported before the first step
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[v] = true
	return v
}

// Leave ends the view; it never fails.
func (w *View) Leave() error {
	w.endOwn()
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	delete(w.set.views, w)
	return nil
}

// The schemas of all servers are sent with each request up to this share of the context window, and up to this size:
// each request of a conversation pays for them, and most use few.
const (
	sentShare  = 10     // percent
	sentTokens = 10_000 // estimated
)

// Tools returns the tools of the servers that no rule removed: those that are sent, and those that ToolSearch finds.
// The schemas that are known when a conversation begins are sent if they are small together (window is in tokens), or
// marked so; what comes later is never sent, since it would change what was.
func (w *View) Tools(window int, removed func(name string) bool) (sent, found []agent.Tool) {
	_ = w.set.Load() // reported before the first step
	var all []*listed
	tokens := 0
	for _, v := range w.servers() {
		v.mu.Lock()
		if !v.disabled {
			for _, l := range v.listed {
				if !removed(l.spec.Name) {
					all = append(all, l)
					tokens += size(l.spec)
				}
			}
		}
		v.mu.Unlock()
	}
	extra := w.resourceTools(removed)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.tools) == 0 {
		w.tools = make(map[use]agent.Tool, len(all))
	}
	found = make([]agent.Tool, 0, len(all)+len(extra))
	if !w.begun {
		w.first = map[string]bool{}
		for _, l := range all {
			if tokens <= min(window*sentShare/100, sentTokens) || l.server.entry.AlwaysLoad {
				w.first[l.spec.Name] = true
			}
		}
	}
	w.begun = w.begun || w.settle
	for _, l := range all {
		if w.first[l.spec.Name] {
			sent = append(sent, w.tool(l, true))
		} else {
			found = append(found, w.tool(l, false))
		}
	}
	return sent, append(found, extra...)
}

// tool makes the tool of this session.
func (w *View) tool(l *listed, sent bool) agent.Tool {
	key := use{l, sent}
	if t, ok := w.tools[key]; ok {
		return t
	}
	spec := l.spec
	spec.Unlisted = !sent
	spec.Description = w.clean(spec.Description)
	if w.seat.Clean != nil {
		spec.Schema = cleanSchema(spec.Schema, w.seat.Clean)
	}
	t := agent.NewTool(spec, func(_ context.Context, c llm.ToolCall, in json.RawMessage) (*agent.Plan, error) {
		return w.plan(l, c, in), nil
	})
	w.tools[key] = t
	return t
}

// plan is a call of a tool. What the server claims of the tool is shown, and changes nothing.
func (w *View) plan(l *listed, c llm.ToolCall, in json.RawMessage) *agent.Plan {
	safe := l.server.entry.ReadOnly(l.tool.Name)
	title := fmt.Sprintf("%s of the MCP server %s", l.tool.Name, l.server.entry.Name)
	if a := l.tool.Annotations; a != nil && !safe {
		switch {
		case a.ReadOnly:
			title += " (which says that it changes nothing)"
		case a.Destructive != nil && *a.Destructive:
			title += " (which says that it destroys)"
		}
	}
	return &agent.Plan{
		Accesses: []permission.Access{{Kind: permission.Tool, Target: c.Name, Safe: safe}},
		Title:    title, Preview: shown(in), Parallel: safe,
		Run: func(ctx context.Context) (*agent.Result, error) {
			defer w.serves(l.server)()
			r, err := l.server.call(ctx, l.tool.Name, in, func(p jsonrpc.Progress) { agent.Output(ctx, progressLine(p)) })
			if err != nil {
				if _, ok := errors.AsType[notOfferedError](err); ok || ctx.Err() != nil {
					return nil, err
				}
				return nil, fmt.Errorf("The MCP server %s did not answer the call: %w", l.server.entry.Name, err)
			}
			return w.result(ctx, l.server.entry.Name, c.Name, r), nil
		},
	}
}

func progressLine(p jsonrpc.Progress) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf("/%g", p.Total)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return text + "\n"
}

// Names lists the tools of all servers, sorted.
func (s *Set) Names() []string {
	var out []string
	for _, v := range s.list() {
		v.mu.Lock()
		for _, l := range v.listed {
			out = append(out, l.spec.Name)
		}
		v.mu.Unlock()
	}
	slices.Sort(out)
	return out
}

func (w *View) notice(text string) {
	if w.seat.Notice != nil {
		w.seat.Notice(text)
	}
}

func (w *View) clean(text string) string {
	if w.seat.Clean == nil {
		return text
	}
	return w.seat.Clean(text)
}

// Hook is the loop's hook before each step. Before the first it waits where that is wanted: where no one could ask
// again later, and where MCP_CONNECTION_NONBLOCKING is 0. It reports faults of the configuration.
func (w *View) Hook() agent.BeforeStep {
	var once sync.Once
	return agent.BeforeStep{Name: "MCP servers", Run: func(ctx context.Context) (_ []llm.Message, err error) {
		once.Do(func() {
			if err = w.set.Load(); err != nil {
				return
			}
			defer w.begin()
			w.takeOwn(ctx)
			if w.seat.Waits || w.set.variable("MCP_CONNECTION_NONBLOCKING") == "0" {
				w.set.Wait(ctx, w.notice, w.notice)
			}
			w.faults()
		})
		if err != nil {
			return nil, err
		}
		w.takeOwn(ctx)
		return w.news(), nil
	}}
}

// Start starts the servers before the first prompt, asks about those that wait for approval, and reports faults of the
// configuration: the first request has their tools.
func (w *View) Start() {
	if w == nil || w.set.Load() != nil {
		return // the first step has the error
	}
	w.faults()
	w.set.Begin()
}

// faults reports what is left out, once. Where somebody answers, a question says which servers wait for approval.
func (w *View) faults() {
	if w.seat.Notice == nil || !w.set.told.CompareAndSwap(false, true) {
		return
	}
	faults := w.set.Faults()
	if w.seat.Ask != nil {
		w.set.mu.Lock()
		faults = slices.Clone(w.set.faults)
		w.set.mu.Unlock()
	}
	for _, f := range faults {
		w.seat.Notice(f)
	}
}

// begin settles which tools are sent.
func (w *View) begin() {
	w.set.version.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle = true
}

// After starts the servers that are not known once the first request goes out, so that it does not compete with them.
func (w *View) After(f func(llm.ModelInfo, *llm.Request)) func(llm.ModelInfo, *llm.Request) {
	return func(m llm.ModelInfo, r *llm.Request) {
		f(m, r)
		w.set.Begin()
	}
}
