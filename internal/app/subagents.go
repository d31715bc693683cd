package app

import (
	"context"
	"slices"

	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/subagent"
)

// newAgents makes the starter of this session's subagents.
func (s *Session) newAgents() *subagent.Agents {
	return subagent.New(subagent.Host{
		Catalog: s.inst.extensions.Agents.Catalog, Depth: len(s.chain), Slots: s.inst.slots,
		Open: s.openAgent, KindOf: func(id string) (string, error) { return s.inst.logs.KindOf(id, s.ID()) },
	})
}

// openAgent opens the session of a subagent, with this session's permissions.
func (s *Session) openAgent(ctx context.Context, k *subagent.Kind, r subagent.Request) (subagent.Conversation, error) {
	s.rules.Policy().AddKind(k.Permission(s.inst.tools.Name))
	return s.inst.NewSession(ctx, SessionOptions{
		Chain: append(slices.Clone(s.chain), k.Name+"/"+r.Call), Parent: s, Bus: s.bus, Kind: k, Resume: r.Resume,
		Model: r.ModelName(s.inst.settings().Subagents.Model, k), Interactive: s.interactive && !k.NoAsk,
	})
}

// kindSystem gives a subagent the system prompt of its kind.
func (s *Session) kindSystem(o prompt.SystemOptions) prompt.SystemOptions {
	switch k := s.kind; {
	case k == nil:
	case k.Extends:
		o.Agent = k.Prompt
	default:
		o.Replace = k.Prompt
	}
	return o
}
