package conversation

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// toolSource offers tools beside the built-in ones: programs, and the processes of plugins.
type toolSource interface {
	Version() uint64 // changes with the tools
	Tools(ctx context.Context, seat customtool.Seat) []customtool.Tool
	Notes() []string // warnings about tools that are left out, each returned once; foreign text
	Retry()          // has tools that failed tried again
}

// processTools are the tools of plugin processes, which are started again at each look.
type processTools struct{ *process.Set }

func (processTools) Retry() {}

func (p processTools) Tools(ctx context.Context, seat customtool.Seat) (out []customtool.Tool) {
	for _, t := range p.Set.Tools(ctx, seat) {
		out = append(out, customtool.Tool(t))
	}
	return out
}

// Registry answers which tools a session has at one moment: which are sent with each request, which ToolSearch finds,
// and where each comes from. While nothing changes, an answer costs a comparison; a tool that a rule or the kind of the
// agent removes is in no list. It is safe for concurrent use.
type Registry struct {
	s       *Session
	sources []toolSource
	set     atomic.Pointer[made]
}

// made is an answer, with the origins of tools that are not built in.
type made struct {
	agent.ToolSet
	origins map[string]string
	notes   []string
}

// Set is the loop's list of tools, rebuilt only when something changed.
func (r *Registry) Set(ctx context.Context) (agent.ToolSet, error) {
	return r.current(ctx).ToolSet, nil
}

func (r *Registry) current(ctx context.Context) *made {
	version := r.s.Version() + r.s.inst.servers.Version() + 1
	for _, src := range r.sources {
		version += src.Version()
	}
	version <<= 1
	if r.s.skills.Offered() {
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
	sent, found := r.s.servers.Tools(r.s.Model().ContextWindow, r.removed)
	tools = append(tools, sent...)
	for _, src := range r.sources {
		for _, o := range src.Tools(ctx, customtool.Seat{Place: r.s.env.Here, Session: r.s.ID()}) {
			name, only := o.Spec().Name, r.s.inst.opts.Tools
			if r.removed(name) || only != nil && !slices.Contains(only, name) {
				continue
			}
			m.origins[name] = o.Origin
			if o.Always {
				tools = append(tools, o.Tool)
			} else {
				found = append(found, o.Tool)
			}
		}
	}
	for _, src := range r.sources {
		for _, n := range src.Notes() {
			m.notes = append(m.notes, n)
			r.s.warn(n)
		}
	}
	m.Tools, m.Deferred = r.s.env.Deferred.Split(tools, r.s.inst.settings().DeferTools, found...)
	return m
}

// builtIn lists lathe's own tools: those that the command line chose, less those that a rule removes.
func (r *Registry) builtIn() []agent.Tool {
	out := tool.Choice{Only: r.s.inst.opts.Tools, Without: r.useless, Removed: r.removed}.Of(r.s.env, r.s.inst.tools)
	if schema := r.s.outputSchema(); schema != nil {
		out = append(out, r.s.output.Tool(schema))
	}
	return out
}

// removed reports tools that a rule or the kind of the agent takes away.
func (r *Registry) removed(name string) bool { return r.s.Policy().Removed(name, r.s.chain...) }

// useless reports tools that are of no use in this session.
func (r *Registry) useless(name string) bool {
	switch name {
	case tool.SkillName:
		return !r.s.skills.Offered()
	case tool.MemoryName:
		return r.s.env.Notes == nil
	case tool.SetGoalName:
		return r.s.parent != nil
	case tool.PushName:
		return r.s.env.Push == nil
	case tool.ListAgentsName:
		return r.s.env.Peers == nil
	case tool.SendMessageName:
		return r.s.env.Peers == nil && !r.s.env.InTeam()
	case tool.CronCreateName, tool.CronListName, tool.CronDeleteName, tool.ScheduleWakeupName, tool.MonitorName:
		return r.s.env.Schedules == nil
	case tool.SearchName:
		return r.s.env.Engine(context.Background()) == nil
	case tool.TaskName:
		return len(r.s.chain) >= subagent.MaxDepth
	}
	return consult.Useless(name, r.s.interactive, r.s.env.Plan)
}

// All lists every tool that can be called.
func (r *Registry) All(ctx context.Context) []agent.Tool {
	m := r.current(ctx)
	return slices.Concat(m.Tools, m.Deferred)
}

// Retry has the tools that failed tried again, and returns the warnings about those that are left out.
func (r *Registry) Retry(ctx context.Context) []string {
	for _, src := range r.sources {
		src.Retry()
	}
	return r.current(ctx).notes
}

// ToolEntry is one tool of a session.
type ToolEntry struct {
	Spec     llm.ToolSpec
	Origin   string // in words: built-in, the MCP server and its file, the plugin, the program
	Deferred bool   // ToolSearch finds it, and no request has its schema before
}

// Entries lists the tools of the session, the deferred ones last.
func (r *Registry) Entries(ctx context.Context) []ToolEntry {
	m := r.current(ctx)
	var out []ToolEntry
	for i, list := range [][]agent.Tool{m.Tools, m.Deferred} {
		for _, t := range list {
			s := t.Spec()
			out = append(out, ToolEntry{Spec: s, Origin: r.origin(m, s.Name), Deferred: i == 1})
		}
	}
	return out
}

func (r *Registry) origin(m *made, name string) string {
	if o, ok := m.origins[name]; ok {
		return o
	}
	if strings.HasPrefix(name, mcp.Prefix) {
		return r.s.servers.OriginOf(name)
	}
	return "built-in"
}
