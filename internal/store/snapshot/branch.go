package snapshot

import (
	"maps"
	"slices"
	"strings"
)

// Switch plans to go from the files of one branch of a conversation to those of another. away and back are the messages
// that only the one and only the other has: the steps that serve away are taken back, those that serve back and were
// taken back when the conversation left that branch are done again.
func (h History) Switch(away, back []string) (*Plan, error) {
	all, err := h.Store.List()
	if err != nil {
		return nil, err
	}
	if err := h.lost(slices.Concat(away, back)); err != nil {
		return nil, err
	}
	var leave, again []Snapshot
	for _, n := range all {
		switch {
		case !h.step(n):
		case !n.Undone && slices.Contains(away, n.Message):
			leave = append(leave, n)
		case n.Undone && !n.Dropped && slices.Contains(back, n.Message):
			again = append(again, n)
		}
	}
	if len(leave)+len(again) == 0 {
		return nil, ErrNothing
	}
	p := &Plan{Kind: Switch, Of: ids(leave), Again: ids(again), Steps: append(leave, again...), store: h.Store, kept: true}
	if len(h.Sessions) > 0 {
		p.Session = h.Sessions[len(h.Sessions)-1]
	}
	return p, p.look(append(inverted(inOrder(again)), inOrder(leave)...))
}

// step reports whether a snapshot is a step of the history's sessions, on whatever branch.
func (h History) step(n Snapshot) bool {
	return slices.Contains(h.Sessions, n.Session) && slices.Contains(steps, n.Kinds[0])
}

func inOrder(list []Snapshot) []Record {
	var out []Record
	for _, n := range list {
		out = append(out, n.Records...)
	}
	slices.SortStableFunc(out, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// inverted are records that take back some others: reversed, they do those again.
func inverted(list []Record) []Record {
	out := make([]Record, 0, len(list))
	for _, r := range slices.Backward(list) {
		changes := make([]Change, len(r.Changes))
		for i, c := range r.Changes {
			changes[i] = Change{c.Path, c.After, c.Before}
		}
		r.Changes = changes
		out = append(out, r)
	}
	return out
}

// Between are the changes that lead from the files of one branch to those of another; from and to are the messages that
// only the one and only the other has. A step that was undone on its own branch is not part of it.
func (h History) Between(from, to []string) ([]Change, error) {
	all, err := h.Store.List()
	if err != nil {
		return nil, err
	}
	of := func(messages []string) []Record {
		return inOrder(slices.DeleteFunc(slices.Clone(all), func(n Snapshot) bool {
			return !h.step(n) || n.Dropped || !slices.Contains(messages, n.Message)
		}))
	}
	return chain(append(inverted(of(from)), of(to)...)), nil
}

// Turns are the changes of files by each message of the user, on all branches, by the message's id.
func (h History) Turns() (map[string][]Change, error) {
	all, err := h.Store.List()
	if err != nil {
		return nil, err
	}
	records := map[string][]Record{}
	for _, n := range all {
		if h.step(n) && !n.Dropped {
			records[n.Message] = append(records[n.Message], n.Records...)
		}
	}
	out := map[string][]Change{}
	for message, list := range records {
		out[message] = chain(list)
	}
	return out, nil
}

// AgentChanges are the changes of files by one agent.
type AgentChanges struct {
	Agent   string // its chain, as "explore/toolu_7"; empty: the main agent
	Changes []Change
}

// Agents lists the changes on the branch that were not undone by the agents that made them, the main agent first. Of
// agents that work beside each other the commands' changes are those of the last one to end.
func (h History) Agents() ([]AgentChanges, error) {
	list, err := h.Steps()
	if err != nil {
		return nil, err
	}
	by := map[string][]Record{}
	for _, r := range inOrder(list) {
		by[r.Agent] = append(by[r.Agent], r)
	}
	var out []AgentChanges
	for _, agent := range slices.Sorted(maps.Keys(by)) {
		out = append(out, AgentChanges{agent, chain(by[agent])})
	}
	return out, nil
}
