package conversation

import (
	"context"
	"slices"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// newAgents makes the starter of this session's subagents.
func (s *Session) newAgents() *subagent.Agents {
	return subagent.New(subagent.Host{
		Catalog: s.inst.extensions.Agents.Catalog, Depth: len(s.chain), Slots: s.inst.slots, Above: s.env.Agents,
		NewID: session.NewID,
		Note:  func(r subagent.Record) { _ = s.Add(agentEntry(r)) },
		Trees: s.inst.trees, Hooks: s.hooks, Dir: s.inst.opts.Dir, Tree: s.tree,
		Open: s.openAgent, KindOf: func(id string) (string, error) { return s.inst.logs.KindOf(id, s.ID()) },
	})
}

// openAgent opens the session of a subagent, with this session's permissions.
func (s *Session) openAgent(ctx context.Context, k *subagent.Kind, r subagent.Request) (subagent.Conversation, error) {
	if err := s.kind.Load().MayStart(k.Name); err != nil {
		return nil, err
	}
	kind, err := s.inst.extensions.AgentKind(k, s.tree.At())
	if err != nil {
		return nil, err
	}
	if limit := subagent.LimitOf(ctx); limit != nil {
		kind.Name += "+" + limit.Work
		kind.Tools = limit.Tools // a read-only kind stays read-only
	}
	s.Policy().AddKind(kind)
	return s.inst.NewSession(ctx, SessionOptions{
		Chain: append(slices.Clone(s.chain), kind.Name+"/"+r.Call), Parent: s, Tree: r.Tree, Bus: s.bus, Kind: k,
		Resume: r.Resume,
		ID:     r.NewSession(), Linger: -1, Model: r.ModelName(s.inst.settings().Subagents.Model, k),
		Interactive: s.interactive && !k.NoAsk,
	})
}

// newGate makes the gate that judges the work before a turn ends.
func (s *Session) newGate() *eval.Gate {
	return eval.New(eval.Config{
		Models:  eval.Models{Get: s.BesideNamed("eval", s.inst.Model), Count: s.CountRequest, Explore: s.env.Agents.Explore},
		Journal: s.Journal, Judges: s.inst.extensions.Judges, Settings: s.inst.extensions.Eval, Invoke: s.Invoke,
		On: func() bool {
			return s.kind.Load().Judged() || s.parent == nil && (s.inst.opts.Eval || s.inst.settings().Eval.Enabled)
		},
		Diff: func(limit int) string {
			if s.tree != nil {
				return s.tree.Diff(s.life, limit)
			}
			return s.inst.checkpoints.TurnDiff(s.outermost().Log(), limit)
		},
	})
}

// Env is what the session's tools share.
func (s *Session) Env() *tool.Env { return s.env }

// Used returns the steps of the present turn and the cost in US dollars of all, those of the agents below included.
func (s *Session) Used() (steps int, usd float64) { return s.agent.Used() }

// Team is what a team brings to the agents of the session that it works in.
type Team interface {
	Tools(owner string) []agent.Tool // of the agent with this chain, as tool.Env.Owner has it
	Mail(owner string) string        // its unread messages
}

// SetTeam has the session's agents work in a team, in place of the one before.
func (s *Session) SetTeam(t Team) { s.team.Store(&t) }

func (s *Session) teamTools(owner string) []agent.Tool {
	if t := s.team.Load(); t != nil {
		return (*t).Tools(owner)
	}
	return nil
}

func (s *Session) teamMail(owner string) string {
	if t := s.team.Load(); t != nil {
		return (*t).Mail(owner)
	}
	return ""
}
