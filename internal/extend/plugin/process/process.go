// Package process runs plugin processes: long-lived programs that speak JSON-RPC 2.0 over their standard input and
// output, one message a line, and bring tools, judge calls, add to messages, change the parameters of requests, and get
// events.
//
// The words: a declaration is the entry of a plugin's manifest or of the setting pluginProcesses; a process is up when
// it has answered initialize; the methods and their types are in protocol.go, which [Schema] publishes.
//
// Promises:
//
//   - A start of lathe starts none. They begin with the first prompt, or with the first question which tools there are.
//   - Every call ends within its time. A process that is slow, dead or talks nonsense costs its own features and
//     nothing else.
//   - It is started again at its next use, after a wait that doubles from one second to one minute.
//   - What waits to be written to it is bounded: an event that finds no room is dropped and counted.
//   - Nothing that a process answers allows a call: it can refuse it, have it asked, or change its input, which the
//     rules then judge.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Declaration is the entry of a process in a manifest or in the settings.
type Declaration struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Timeout int               `json:"timeoutMs"`      // of a call that is not a tool's, at most 60,000; 0: 5,000
	Start   int               `json:"startTimeoutMs"` // until it has answered initialize, at most 60,000; 0: 10,000
	// with its children; it is ended beyond that. 0: no limit; nil: 1,024
	Memory *int `json:"maxMemoryMB"`
	CPU    *int `json:"maxCPUMinutes"` // that it may keep a processor busy without a pause. 0: no limit; nil: 10
}

// mostTime is the longest time that a declaration may set, in milliseconds: calls and prompts wait for it.
const mostTime = 60_000

// Read reads an entry.
func Read(raw json.RawMessage) (d Declaration, err error) {
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("a process is an object with a command: %w", err)
	}
	if d.Command == "" {
		return d, errors.New(`a process is an object with a command; this one has none`)
	}
	if d.Timeout < 0 || d.Timeout > mostTime {
		return d, fmt.Errorf("timeoutMs is %d; it is at most %d", d.Timeout, mostTime)
	}
	if d.Start < 0 || d.Start > mostTime {
		return d, fmt.Errorf("startTimeoutMs is %d; it is at most %d", d.Start, mostTime)
	}
	return d, nil
}

// Spec is a process to run.
type Spec struct {
	Declaration
	Name    string                      // as people know it: of a plugin, PLUGIN or PLUGIN-NAME
	Origin  string                      // in words
	Foreign bool                        // of a project or a plugin: confined, without credentials
	Dir     string                      // it runs in
	Data    string                      // its own files; "": none
	Environ func(env []string) []string // adds variables; nil: none
}

// Options configure New.
type Options struct {
	Specs   func() ([]Spec, []string) // the processes in force, with notes about those that cannot be used
	Version func() uint64             // changes with Specs
	Runner  *sandbox.Runner
	Environ func(foreign bool) []string
	Confine func() (c *sandbox.Confinement, done func(), err error) // of a foreign process; nil: not confined
	Tools   *call.Catalogue                                         // gets the declarations of tools
	Dir     string                                                  // the working folder
	Lathe   string                                                  // lathe's version

	Clock func() time.Time // nil: time.Now
	Every time.Duration    // between two looks at what a process takes of the machine; 0: ten seconds
}

// Set is the processes of an instance. It is safe for concurrent use; a nil one has none.
type Set struct {
	o       Options
	version atomic.Uint64 // changes with the processes that are up
	changed atomic.Pointer[func()]

	mu       sync.Mutex
	closed   bool
	read     uint64 // the version of the specs that list is of, plus one
	list     []*Process
	declared map[string]string // names of tools in the catalogue, with the process
	notes    []string
}

// New makes the set. Nothing is read or started.
func New(o Options) *Set {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Set{o: o, declared: map[string]string{}}
}

// OnStatus sets the function that is called, without delay, when a segment of the status line changes.
func (s *Set) OnStatus(fn func()) {
	if s != nil {
		s.changed.Store(&fn)
	}
}

// Version changes with the declarations and the tools.
func (s *Set) Version() uint64 {
	if s == nil {
		return 0
	}
	return s.o.Version() + s.version.Load()
}

// All lists the processes that are declared, by name. None is started.
func (s *Set) All() []*Process {
	if s == nil {
		return nil
	}
	version := s.o.Version() + 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.read == version {
		return s.list
	}
	specs, notes := s.o.Specs()
	s.read, s.notes = version, append(s.notes, notes...)
	old := map[string]*Process{}
	for _, p := range s.list {
		old[p.spec.Name] = p
	}
	s.list = nil
	for _, spec := range specs {
		if p := old[spec.Name]; p != nil && p.spec.same(spec) {
			s.list = append(s.list, p)
			delete(old, spec.Name)
			continue
		}
		s.list = append(s.list, newProcess(s, spec))
	}
	for _, p := range old {
		go p.close(errors.New("it is not declared any more"))
	}
	return s.list
}

func (s Spec) same(o Spec) bool {
	return s.Command == o.Command && slices.Equal(s.Args, o.Args) && maps.Equal(s.Env, o.Env) && s.Dir == o.Dir &&
		s.Foreign == o.Foreign && s.Timeout == o.Timeout && s.Start == o.Start && orElse(s.Memory, mostMemory) == orElse(
		o.Memory, mostMemory) && orElse(s.CPU, mostBusy) == orElse(o.CPU, mostBusy)
}

// firstWait is how long the first use waits for all processes.
const firstWait = 2 * time.Second

// Up starts the processes that are not up and may be started again, waits a moment for those that were never up before,
// and lists those that are.
func (s *Set) Up(ctx context.Context) (out []*Process) {
	all := s.All()
	if len(all) == 0 {
		return nil
	}
	var first []*Process
	for _, p := range all {
		if p.kick() {
			first = append(first, p)
		}
	}
	if len(first) > 0 {
		wait, cancel := context.WithTimeout(ctx, firstWait)
		defer cancel()
		for _, p := range first {
			p.settled(wait)
		}
	}
	for _, p := range all {
		if p.about() != nil {
			out = append(out, p)
		}
	}
	return out
}

// Notes are warnings, each returned once. They are foreign text.
func (s *Set) Notes() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.notes = nil }()
	return s.notes
}

// mostNotes bounds the warnings that wait to be shown.
const mostNotes = 50

func (s *Set) note(text string) {
	text = cut(text, maxError)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) < mostNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// Status lists the segments of the status line: foreign text, one line each.
func (s *Set) Status() (out []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	list := s.list
	s.mu.Unlock()
	for _, p := range list {
		if text := p.statusText(); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// Close ends the processes and waits for them.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	list := s.list
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range list {
		wg.Go(func() { p.close(errors.New("lathe ends")) })
	}
	wg.Wait()
	return nil
}
