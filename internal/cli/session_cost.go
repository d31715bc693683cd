package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/store/cost"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func sessionCostCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "cost ID", Short: "Print the cost of each request of a session", Args: oneID, ValidArgsFunction: completeIDs(o),
		Long: `Print the tokens and the price of each request, and for each one that missed the provider's cache how many tokens were
read again, what that cost, and why: the cache expired, the conversation was compacted or went back, or model, effort,
tools or system prompt changed.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.withSession(o, args[0], func(s *session.Session) error {
				out := sessionCost{Session: cost.Of(s), ID: s.ID()}
				children, err := childCosts(o, s.ID())
				if err != nil {
					return err
				}
				out.Agents = children
				if asJSON {
					return writeJSON(p.out, out)
				}
				return p.printCost(out)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// sessionCost is the cost of a session as JSON.
type sessionCost struct {
	ID string `json:"id"`
	cost.Session
	Agents []agentCost `json:"agents,omitempty"`
}

// agentCost is the cost of a subagent's session.
type agentCost struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	cost.Totals
}

// childCosts sums up the sessions of the subagents of a session.
func childCosts(o *Options, parent string) (out []agentCost, err error) {
	all, err := openSessions(o)
	if err != nil {
		return nil, err
	}
	for info, err := range all.store.Children(parent) {
		if err != nil {
			return nil, err
		}
		s, err := all.store.OpenReadOnly(info.ID)
		if err != nil {
			return nil, err
		}
		a := agentCost{ID: info.ID, Agent: info.Agent}
		for _, step := range cost.Of(s).Steps {
			a.Add(step)
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (p *program) printCost(c sessionCost) error {
	if len(c.Steps) == 0 {
		_, err := fmt.Fprintln(p.out, "No request of this session has a price.")
		return err
	}
	rows := [][]string{cost.Header}
	var sum cost.Totals
	for _, s := range c.Steps {
		rows = append(rows, s.Row("2006-01-02 15:04:05"))
		sum.Add(s)
	}
	if _, err := io.WriteString(p.out, columns(rows, p.width())); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "\n%s: %s; cache misses: %d, for %s of it\n", plural(sum.Steps, "request"),
		price(sum.CostUSD), sum.Misses, price(sum.MissUSD))
	for _, a := range c.Agents {
		if err == nil {
			_, err = fmt.Fprintf(p.out, "subagent %s (%s): %s, %s\n", a.Agent, a.ID, plural(a.Steps, "request"),
				price(a.CostUSD))
		}
	}
	return err
}

func price(usd float64) string { return fmt.Sprintf("$%.4f", usd) }
