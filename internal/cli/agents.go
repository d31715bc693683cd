package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/tool"
)

// agentNames describes the kinds of subagents that a session with these tools can start.
func agentNames(inst *conversation.Instance, tools []string) []Described {
	if !slices.Contains(tools, tool.TaskName) {
		return nil
	}
	var out []Described
	for _, k := range inst.Extensions().Agents.Catalog().All() {
		model := k.Model
		if model == subagent.Small {
			model = cmp.Or(inst.Config().Settings.SmallModel, "haiku")
		}
		out = append(out, Described{Name: k.Name, Text: k.Description, Model: model})
	}
	return out
}

func agentsCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "agents", Short: "List the kinds of subagents", Args: noArgs,
		Long: "List the kinds of agents that the tool Task can start here: built-in ones and those of files. Files that " +
			"were left out are named on stderr.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			inst, err := p.instance(o)
			if err != nil {
				return err
			}
			catalog := inst.Extensions().Agents.Catalog()
			for _, n := range catalog.Notes {
				fmt.Fprintln(p.err, "lathe: warning: "+term.EscapeLine(n))
			}
			return joinErrors(p.listAgents(catalog.All(), asJSON), inst.Close())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

// kindJSON is a kind of agent in the JSON output.
type kindJSON struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	Path        string   `json:"path,omitempty"`
	Tools       []string `json:"tools"` // null: all
	Without     []string `json:"disallowedTools,omitempty"`
	Model       string   `json:"model,omitempty"`
	MaxTurns    int      `json:"maxTurns,omitempty"`
	ReadOnly    bool     `json:"readOnly"`
	Effort      string   `json:"effort,omitempty"`
	Mode        string   `json:"permissionMode,omitempty"`
	Skills      []string `json:"skills,omitempty"`
	Isolation   string   `json:"isolation,omitempty"` // worktree
	Background  bool     `json:"background,omitempty"`
	Color       string   `json:"color,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	Memory      string   `json:"memory,omitempty"` // user, project or local
	Eval        bool     `json:"eval,omitempty"`
	Servers     []string `json:"mcpServers,omitempty"`  // the names of those of its own
	Permissions any      `json:"permissions,omitempty"` // with the lists allow, ask and deny
	Notes       []string `json:"notes,omitempty"`       // fields that have no effect, and why
}

func kindForJSON(k *subagent.Kind) kindJSON {
	out := kindJSON{
		Name: k.Name, Description: k.Description, Source: k.Source, Path: k.Path, Tools: k.Tools, Without: k.Without,
		Model: k.Model, MaxTurns: k.MaxSteps,
		ReadOnly: k.ReadOnly, Effort: k.Effort, Mode: string(k.Mode), Skills: k.Skills, Background: k.Background,
		Color:       k.Color,
		Temperature: k.Temperature, Memory: string(k.Memory), Eval: k.Eval, Notes: k.Notes,
		Servers: slices.Sorted(maps.Keys(k.Servers)),
	}
	if k.Permissions != nil {
		out.Permissions = k.Permissions
	}
	if k.Isolated {
		out.Isolation = "worktree"
	}
	return out
}

func (p *program) listAgents(kinds []*subagent.Kind, asJSON bool) error {
	if asJSON {
		out := make([]kindJSON, len(kinds))
		for i, k := range kinds {
			out[i] = kindForJSON(k)
		}
		return writeJSON(p.out, out)
	}
	var rows [][]string
	for _, k := range kinds {
		rows = append(rows, []string{k.Name, k.Source, strings.Join(strings.Fields(k.Description), " ")})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}
