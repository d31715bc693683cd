package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
)

// explain prints a command's effects here and the decision on it.
func (p *program) explain(ctx context.Context, o *Options, line string) error {
	s, closeAll, err := p.detached(ctx, o)
	if err != nil {
		return err
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return joinErrors(err, closeAll())
	}
	e, err := s.Consider(ctx, llm.ToolCall{ID: "explain", Name: "Bash", Input: input})
	if err != nil {
		return joinErrors(&Error{Code: exitUsage, Err: err}, closeAll())
	}
	_, err = io.WriteString(p.out, explained(e.Request, e.Decision, e.Propose))
	return joinErrors(err, closeAll())
}

// explained is a decision and its evidence for people. All of it is foreign text.
func explained(req permission.Request, d permission.Decision, propose []string) string {
	var b strings.Builder
	row := func(label, text string) { fmt.Fprintf(&b, "%-10s %s\n", label, term.EscapeLine(text)) }
	verdict := string(d.Effect)
	if d.Confirm {
		verdict += " (a person may confirm it once)"
	}
	row("decision", verdict)
	row("because", d.Reason)
	row("layer", string(d.Layer))
	if d.Rule != "" {
		row("rule", d.Rule+"  ("+d.Source+")")
	}
	for _, a := range req.Accesses {
		if a.Command != nil {
			explainCommand(&b, row, a.Command)
		}
	}
	for _, a := range req.Accesses {
		if a.Command == nil {
			row(string(a.Kind), accessText(a))
		}
	}
	for i, r := range propose {
		row(map[bool]string{true: "to allow", false: ""}[i == 0], r)
	}
	return b.String()
}

// explainCommand prints the tree of a command: its parts, each below the one that contains it.
func explainCommand(b *strings.Builder, row func(label, text string), c *permission.Command) {
	row("class", string(c.Class))
	if !c.Exact {
		row("", "not all of it can be told before it runs, so no rule with a pattern allows it")
	}
	var rows [][]string
	for _, p := range c.Parts {
		indent := "  "
		if p.Within != "" {
			indent = "    in " + p.Within + ": "
		}
		note := p.Reason
		if p.Literal || p.Beyond {
			note = strings.TrimPrefix(note+"; only a rule with just this text allows it", "; ")
		}
		rows = append(rows, []string{term.EscapeLine(indent + p.Text), string(p.Class), term.EscapeLine(note)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(b, "parts")
		b.WriteString(columns(rows, 0))
	}
	for _, f := range c.Findings {
		row("check", f.Check+" ("+string(f.Effect)+"): "+f.Text)
	}
}

func accessText(a permission.Access) string {
	text := a.Target
	if a.Named != "" && a.Named != a.Target {
		text = a.Named + " -> " + a.Target
	}
	switch {
	case a.Node == permission.Special:
		text += "  (a device, pipe or socket)"
	case a.Links > 1 && a.Kind == permission.Write:
		text += fmt.Sprintf("  (%d hard links)", a.Links)
	}
	if a.Redirect {
		text += "  (redirection)"
	}
	return text
}
