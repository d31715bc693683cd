// Package registry answers which tools a session has at one moment: which are sent with each request, which ToolSearch
// finds, and where each comes from.
//
// The words: a source offers tools that are not built in (custom tools, plugins); the origin of a tool says in words
// who brought it.
//
// Promises: while nothing changes, an answer costs a comparison; a tool that a rule or the kind of the agent removes is
// in no list.
package registry

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Offer is a tool of a source.
type Offer struct {
	agent.Tool
	Origin string // in words
	Sent   bool   // each request has its schema
}

// Source offers tools beside the built-in ones.
type Source struct {
	Version func() uint64 // changes with the tools
	Tools   func(ctx context.Context) []Offer
	Notes   func() []string // warnings about tools that are left out, each returned once; foreign text
	Retry   func()          // has tools that failed tried again
}

// Seat is the parts of a session that decide on its tools.
type Seat struct {
	Env         *tool.Env
	Catalogue   *call.Catalogue
	Only        []string               // the names that the command line chose; nil: all
	Removed     func(name string) bool // by a rule, or by the kind of the agent
	Rules       func() uint64          // changes with the rules and the kind of the agent
	Skills      func() bool            // the tool Skill is of use
	Depth       int                    // of the agent; 0: the main one
	Interactive bool                   // somebody answers questions
	Output      *tool.Structured       // the tool for the answer
	Schema      []byte                 // that the answer must fit; nil: none
	Window      func() int             // tokens
	Defer       func() []string
	Servers     *mcp.View
	ServerSet   *mcp.Set
	Sources     []Source
	Notice      func(text string) // warns the user; foreign text
}

// Registry is the tools of one session. It is safe for concurrent use.
type Registry struct {
	s   Seat
	set atomic.Pointer[made]
}

// made is an answer, with the origins of tools that are not built in.
type made struct {
	agent.ToolSet
	origins map[string]string
	notes   []string
}

// New makes the registry of a session.
func New(s Seat) *Registry { return &Registry{s: s} }

// Set is the loop's list of tools, rebuilt only when something changed.
func (r *Registry) Set(ctx context.Context) (agent.ToolSet, error) {
	return r.current(ctx).ToolSet, nil
}

func (r *Registry) current(ctx context.Context) *made {
	version := r.s.Rules() + r.s.ServerSet.Version() + 1
	for _, src := range r.s.Sources {
		version += src.Version()
	}
	version <<= 1
	if r.s.Skills() {
		version++
	}
	set := r.set.Load()
	if set == nil || set.Version != version {
		set = r.make(ctx, version)
		r.set.Store(set)
	}
	return set
}

func (r *Registry) make(ctx context.Context, version uint64) *made {
	m := &made{ToolSet: agent.ToolSet{Version: version}, origins: map[string]string{}}
	tools := r.builtIn()
	sent, found := r.s.Servers.Tools(r.s.Window(), r.s.Removed)
	tools = append(tools, sent...)
	for _, src := range r.s.Sources {
		for _, o := range src.Tools(ctx) {
			name := o.Spec().Name
			if r.s.Removed(name) || r.s.Only != nil && !slices.Contains(r.s.Only, name) {
				continue
			}
			m.origins[name] = o.Origin
			if o.Sent {
				tools = append(tools, o.Tool)
			} else {
				found = append(found, o.Tool)
			}
		}
	}
	for _, src := range r.s.Sources {
		for _, n := range src.Notes() {
			m.notes = append(m.notes, n)
			r.s.Notice(n)
		}
	}
	m.Tools, m.Deferred = r.s.Env.Deferred.Split(tools, r.s.Defer(), found...)
	return m
}

// builtIn lists lathe's own tools: those that the command line chose, less those that a rule removes.
func (r *Registry) builtIn() []agent.Tool {
	out := tool.Choice{Only: r.s.Only, Without: r.useless, Removed: r.s.Removed}.Of(r.s.Env, r.s.Catalogue)
	if r.s.Schema != nil {
		out = append(out, r.s.Output.Tool(r.s.Schema))
	}
	return out
}

// useless reports tools that are of no use in this session.
func (r *Registry) useless(name string) bool {
	switch name {
	case tool.SkillName:
		return !r.s.Skills()
	case tool.MemoryName:
		return r.s.Env.Notes == nil
	case tool.SearchName:
		return r.s.Env.Engine(context.Background()) == nil
	case tool.TaskName:
		return r.s.Depth >= subagent.MaxDepth
	}
	return consult.Useless(name, r.s.Interactive, r.s.Env.Plan)
}

// All lists every tool that can be called.
func (r *Registry) All(ctx context.Context) []agent.Tool {
	m := r.current(ctx)
	return slices.Concat(m.Tools, m.Deferred)
}

// Retry has the tools that failed tried again, and returns the warnings about those that are left out.
func (r *Registry) Retry(ctx context.Context) []string {
	for _, src := range r.s.Sources {
		src.Retry()
	}
	return r.current(ctx).notes
}

// Entry is one tool of a session.
type Entry struct {
	Spec     llm.ToolSpec
	Origin   string // in words: built-in, the MCP server and its file, the plugin, the program
	Deferred bool   // ToolSearch finds it, and no request has its schema before
}

// Entries lists the tools of the session, the deferred ones last.
func (r *Registry) Entries(ctx context.Context) []Entry {
	m := r.current(ctx)
	var out []Entry
	for i, list := range [][]agent.Tool{m.Tools, m.Deferred} {
		for _, t := range list {
			s := t.Spec()
			out = append(out, Entry{Spec: s, Origin: r.origin(m, s.Name), Deferred: i == 1})
		}
	}
	return out
}

func (r *Registry) origin(m *made, name string) string {
	if o, ok := m.origins[name]; ok {
		return o
	}
	if strings.HasPrefix(name, mcp.Prefix) {
		return r.s.Servers.OriginOf(name)
	}
	return "built-in"
}
