// Package mcp makes the tools of MCP servers tools of lathe's.
//
// The words: a [Set] has the servers of an instance; a [View] is one session's use of them; a server is known when the
// tools it listed earlier are kept on disk, so that they can be offered before it runs.
//
// Promises:
//
//   - A known server starts with the first call of its tools, and nothing waits for it before. Any other starts beside
//     the first request; a run in which no one could ask again later waits for it some seconds.
//   - A server is a stranger. Its descriptions and results are bounded and never trusted; its tools ask like any that
//     are not known; a tool whose description changed is withheld until the user accepts the change.
//   - A call ends with a result, an error text or its context: a server that is dead, slow or faulty does no
//     more. One that crashed starts again with the next call, after a growing wait.
//   - A server's processes end with the set.
package mcp

import (
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

	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/remote"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// Options configure New.
type Options struct {
	Places    func() entry.Places
	StateHome string // keeps approvals and lists of tools; empty: nothing is kept
	Root      string // the project's folder, which approvals are kept for
	Dir       string // servers run here
	Version   string // lathe's
	Builtin   []string

	Runner  *sandbox.Runner
	Environ func() []string // of servers, before lathe's keys are removed
	Clean   sandbox.Options
	// Confine returns the boundary of a program of an entry that the project or a plugin declares, and a function for its
	// end. Nil, or a nil result: not confined.
	Confine func(e *entry.Entry) (*sandbox.Confinement, func(), error)
	// Refused says what the boundary refused a program of an entry, by what it printed; "": nothing. Nil: there is none.
	Refused func(e *entry.Entry, output string) string
	Sandbox string // what confines those programs, in words; "": nothing

	// Host sends a message to a server in the process of the host that drives lathe, and returns its answer. Nil: there is
	// no host.
	Host func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)

	// Elicit has the host that drives lathe answer a server's question to the user; params and result are those of
	// elicitation/create. Nil: the sessions ask.
	Elicit func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)

	// Agents lists the servers that kinds of agents declare for themselves, so that a person can look at one and approve
	// it. Nil: there are none.
	Agents func() []entry.Own

	Logins func() *keyring.Store // where logins are kept; nil: there are none

	ApproveAll bool                     // the servers of .mcp.json start without a question
	Approved   func(name string) bool   // those that the settings approve; nil: none
	Disabled   func(name string) bool   // those that the settings disable; nil: none
	Variable   func(name string) string // settings of the environment; nil: none
}

// Set is the servers of an instance. It is safe for concurrent use.
type Set struct {
	o         Options
	approvals *entry.Approvals
	version   atomic.Uint64
	life      context.Context
	end       context.CancelFunc
	began     sync.Once
	waited    sync.Once
	told      atomic.Bool   // the faults were reported
	gate      sync.RWMutex  // held while work may grow
	asking    chan struct{} // holds a value while a question about an agent's server is open
	work      sync.WaitGroup

	load    sync.Once
	loadErr error

	mu       sync.Mutex
	servers  []*server // in the order of their names
	waiting  []entry.Entry
	faults   []string
	views    map[*View]bool
	rooted   []string           // the roots that were announced last
	declined map[string]bool    // the servers of agents that the user did not approve in this run, by ID and content
	apart    map[string]*server // of agents, by the IDs of their entries, for people who look at them; see ofAgent
}

// New makes the set; nothing is read or started.
func New(o Options) *Set {
	s := &Set{
		o: o, approvals: entry.OpenApprovals(o.StateHome, o.Root), views: map[*View]bool{},
		asking: make(chan struct{}, 1), declined: map[string]bool{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// spawn runs f beside the caller, and reports false where the set is closed.
func (s *Set) spawn(f func()) bool {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.life.Err() != nil {
		return false
	}
	s.work.Go(f)
	return true
}

// Close ends all servers.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	s.gate.Lock()
	s.end()
	s.gate.Unlock()
	for _, w := range s.everyView() {
		w.endOwn()
	}
	for _, v := range s.list() {
		v.shut()
	}
	s.work.Wait()
	return nil
}

// Load reads the entries, once. The error is that of a flag.
func (s *Set) Load() error {
	s.load.Do(func() {
		entries, faults, err := entry.Read(s.o.Places())
		s.loadErr = err
		s.choose(entries, faults)
	})
	return s.loadErr
}

func (s *Set) choose(entries []entry.Entry, faults []string) {
	chosen, waiting := entry.Choose(entries, s.usable)
	waiting = slices.DeleteFunc(waiting, func(e entry.Entry) bool { return s.approvals.Refused(&e) })
	slices.SortFunc(chosen, func(a, b entry.Entry) int { return strings.Compare(a.Name, b.Name) })
	servers := make([]*server, len(chosen))
	var wg sync.WaitGroup
	for i, e := range chosen {
		wg.Go(func() { servers[i] = s.newServer(e) })
		if len(e.Missing) > 0 {
			faults = append(faults, fmt.Sprintf("the MCP server %q names variables that are not set: %s", e.Name,
				strings.Join(e.Missing, ", ")))
		}
	}
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers, s.waiting, s.faults = servers, waiting, faults
	s.version.Add(1)
}

// usable reports whether an entry may be used without a question.
func (s *Set) usable(e *entry.Entry) bool {
	if e.Scope != entry.Project {
		return true
	}
	if s.o.Disabled != nil && s.o.Disabled(e.Name) {
		return false
	}
	return s.o.ApproveAll || e.Agent == "" && s.o.Approved != nil && s.o.Approved(e.Name) || s.approvals.Approved(e)
}

func (s *Set) newServer(e entry.Entry) *server {
	v := &server{set: s, entry: e, log: &log{}}
	for value, name := range e.Filled {
		v.hidden.add(value, "${"+name+"}")
	}
	v.log.mask = v.hidden.mask
	v.disabled = e.Disabled || s.o.Disabled != nil && s.o.Disabled(e.Name)
	if s.o.StateHome != "" && e.Type != entry.SDK { // whose name alone does not say which server it is
		v.file = filepath.Join(s.o.StateHome, "mcp", "tools", e.Sum()[:32]+".json")
		v.remember()
	}
	return v
}

func (s *Set) list() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.servers)
}

func (s *Set) find(name string) *server {
	for _, v := range s.list() {
		if v.entry.Name == name {
			return v
		}
	}
	return s.ofAgent(name)
}

// Version changes with the tools.
func (s *Set) Version() uint64 {
	if s == nil {
		return 0
	}
	return s.version.Load()
}

// Begin starts the servers whose tools are not known, beside the caller. It does nothing when called again.
func (s *Set) Begin() {
	if s == nil {
		return
	}
	s.began.Do(func() {
		s.spawn(func() {
			if s.Load() != nil {
				return
			}
			for _, v := range s.list() {
				if !v.isKnown() {
					s.spawn(func() { s.start(v) })
				}
			}
			s.ask()
		})
	})
}

// start starts a server, and says why it did not start.
func (s *Set) start(v *server) {
	_, err := v.connect(s.life)
	if err == nil || errors.Is(err, errDisabled) || s.life.Err() != nil {
		return
	}
	text := err.Error()
	if _, ok := errors.AsType[*remote.AuthError](err); !ok { // which says what the user can do
		text += "; /mcp log " + v.entry.Name + " shows what it printed"
	}
	if s.o.Refused != nil {
		text = strings.TrimSpace(text + "\n" + s.o.Refused(&v.entry, v.log.String()))
	}
	for _, w := range s.everyView() {
		if w.seat.Ask != nil {
			w.notice(text)
		}
	}
}

// Status is a server as people see it. All texts are foreign.
type Status struct {
	Name     string
	Shown    string // for hosts, where it differs: plugin:NAME:SERVER
	Scope    string
	File     string
	What     string // the command or address, as the entry writes it
	Effects  []entry.Effect
	State    State
	Err      string
	Server   client.Info
	Protocol string   // the version that was agreed on; empty while it does not run
	Tools    []string // their names at the server
	Withheld []string // why tools are not offered, one line each
	Tokens   int      // of the tools' schemas, estimated
}

// State of a server.
type State string

// The states, in the words of Claude Code where it has one.
const (
	Connected  State = "connected"
	Pending    State = "pending" // not started yet
	Failed     State = "failed"
	Disabled   State = "disabled"
	NeedsAuth  State = "needs-auth"
	Unapproved State = "unapproved" // of .mcp.json, and the user has not approved it
)

// Status lists all servers.
func (s *Set) Status() []Status {
	if s == nil {
		return nil
	}
	_ = s.Load() // its error is reported where the session opens
	var out []Status
	for _, v := range s.list() {
		out = append(out, v.status())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.waiting {
		out = append(out, Status{
			Name: e.Name, Scope: string(e.Scope), File: e.File, What: e.Describe(),
			Effects: e.Effects(), State: Unapproved,
		})
	}
	return out
}

// Faults are the entries that were left out, and why: foreign text.
func (s *Set) Faults() []string {
	if s == nil {
		return nil
	}
	_ = s.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clone(s.faults), s.unapproved()...)
}

// unapproved says which servers wait for approval.
func (s *Set) unapproved() (out []string) {
	for _, e := range s.waiting {
		out = append(out, fmt.Sprintf("the MCP server %q of %s is not started, because you have not approved it; see it "+
			"with lathe mcp get %s, and approve it with lathe mcp approve %s", e.Name, e.File, e.Name, e.Name))
	}
	return out
}

// Reconnect ends a server and starts it again.
func (s *Set) Reconnect(ctx context.Context, name string) error {
	v := s.find(name)
	if v == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	v.shut()
	v.mu.Lock()
	v.failures, v.retryAt = 0, time.Time{}
	v.mu.Unlock()
	_, err := v.connect(ctx)
	return err
}

// Toggle disables or enables a server for this run.
func (s *Set) Toggle(name string, enabled bool) error {
	v := s.find(name)
	if v == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	v.mu.Lock()
	v.disabled = !enabled
	v.mu.Unlock()
	if !enabled {
		v.shut()
	}
	s.version.Add(1)
	return nil
}

// Log is the end of what a server printed and what lathe noted of it: foreign text.
func (s *Set) Log(name string) string {
	if v := s.find(name); v != nil {
		return v.log.String()
	}
	return ""
}
