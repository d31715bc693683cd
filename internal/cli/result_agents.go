package cli

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// agentStats counts the subagents that a conversation started in this run. The names are Claude Code's.
type agentStats struct {
	Spawned   int `json:"spawned"`
	Requested struct {
		Background int `json:"background"`
		Foreground int `json:"foreground"`
		Unset      int `json:"unset"` // all: Task has no such parameter
	} `json:"requested"`
	Background int            `json:"started_in_background"`
	ByType     map[string]int `json:"by_type"`
	MaxDepth   int            `json:"max_depth"` // 1: started by the main agent
	ByAgents   int            `json:"spawned_by_subagents"`
	Completed  int            `json:"completed"`
	Failed     int            `json:"failed"`
	Killed     struct {
		Parent int `json:"parent"`
		User   int `json:"user"`   // with an interrupted turn
		System int `json:"system"` // by the limit of money
	} `json:"killed"`
	Refused struct { // all 0: agents wait for each other, and the deepest have no Task
		Depth       int `json:"depth_limit"`
		Concurrency int `json:"concurrency_limit"`
		Budget      int `json:"budget"`
	} `json:"refused"`
}

// start counts an agent that begins its work; chain is its event's.
func (a *agentStats) start(chain []string) {
	depth := len(chain)
	kind, _, _ := strings.Cut(chain[depth-1], "/")
	if a.ByType == nil {
		a.ByType = map[string]int{}
	}
	a.ByType[kind]++
	a.Spawned++
	a.Requested.Unset++
	a.MaxDepth = max(a.MaxDepth, depth)
	if depth > 1 {
		a.ByAgents++
	}
}

func (a *agentStats) finish(r event.EndReason) {
	switch r {
	case event.EndCompleted:
		a.Completed++
	case event.EndInterrupted:
		a.Killed.User++
	case event.EndBudget:
		a.Killed.System++
	default:
		a.Failed++
	}
}

// total is a copy for a result line, nil when there were no agents.
func (a *agentStats) total() *agentStats {
	if a.Spawned == 0 {
		return nil
	}
	out := *a
	return &out
}
