package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// sessionAgent is the session of a subagent, with those below it.
type sessionAgent struct {
	ID      string         `json:"id"`
	Agent   string         `json:"agent"`
	Call    string         `json:"call,omitempty"` // that started it
	Prompt  string         `json:"prompt,omitempty"`
	CostUSD float64        `json:"cost_usd"` // without those below it
	Agents  []sessionAgent `json:"agents,omitempty"`
}

// mostNested bounds how deep sessions are listed; agents nest less deep.
const mostNested = 10

// agentsBelow lists the sessions of the agents that a session started, and those below them.
func agentsBelow(store *session.Store, parent string, depth int) (out []sessionAgent, err error) {
	if depth == 0 {
		return nil, nil
	}
	for info, err := range store.Children(parent) {
		if err != nil {
			return nil, err
		}
		a := sessionAgent{ID: info.ID, Agent: info.Agent, Call: info.Call, Prompt: info.FirstPrompt, CostUSD: info.CostUSD}
		if a.Agents, err = agentsBelow(store, info.ID, depth-1); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// printAgents prints sessions of agents as a nested list.
func printAgents(out io.Writer, list []sessionAgent, indent string) error {
	for _, a := range list {
		prompt := term.Truncate(strings.Join(strings.Fields(term.EscapeLine(a.Prompt)), " "), 60, "…")
		if _, err := fmt.Fprintf(out, "%s- %s %s, %s: %s\n", indent, term.EscapeLine(a.Agent), a.ID, price(a.CostUSD),
			prompt); err != nil {
			return err
		}
		if err := printAgents(out, a.Agents, indent+"  "); err != nil {
			return err
		}
	}
	return nil
}
