package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func modelsCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "models", Short: "List the models that can be chosen", Args: noArgs,
		Long: "List the models of the providers that have a key, or of the one that --provider names: their window and " +
			"output limit in tokens, and US dollars per million tokens. " +
			"Your own server is asked for its models.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			inst, err := p.instance(o)
			if err != nil {
				return err
			}
			return joinErrors(p.listModels(c.Context(), inst, o, asJSON), inst.Close())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	c.Flags().StringVar(&o.Provider, "provider", "", "the models of this provider only, by `name`")
	c.AddCommand(modelsUpdateCommand(p, o))
	return c
}

// modelJSON is a model in the JSON output.
type modelJSON struct {
	ID            string     `json:"id"`
	Name          string     `json:"name,omitempty"`
	ContextWindow int        `json:"contextWindow,omitempty"` // tokens
	MaxOutput     int        `json:"maxOutputTokens,omitempty"`
	Images        bool       `json:"images"`
	Thinking      string     `json:"thinking,omitempty"`
	Price         *llm.Price `json:"price,omitempty"` // US dollars per million tokens; absent: not known
}

func (p *program) listModels(ctx context.Context, inst *conversation.Instance, o *Options, asJSON bool) error {
	name := ""
	if o.set("provider") {
		name = o.Provider
	}
	models, err := inst.ModelsOf(ctx, name)
	if err != nil {
		return err
	}
	p.warnOfCatalogue()
	if asJSON {
		out := make([]modelJSON, 0, len(models))
		for _, m := range models {
			out = append(out, modelForJSON(m))
		}
		return writeJSON(p.out, out)
	}
	rows := make([][]string, 0, len(models))
	for _, m := range models {
		rows = append(rows, modelRow(m))
	}
	_, err = io.WriteString(p.out, columns(rows, p.width()))
	return err
}

func modelForJSON(m llm.ModelInfo) modelJSON {
	out := modelJSON{ID: m.ID, Name: m.Name}
	if m.Known {
		out.ContextWindow, out.MaxOutput, out.Images, out.Thinking = m.ContextWindow, m.MaxOutput, m.Images,
			string(m.Thinking)
	}
	if !m.Unpriced {
		out.Price = &m.Price
	}
	return out
}

func modelRow(m llm.ModelInfo) []string {
	window, output, price := "?", "?", "no price"
	if m.Known {
		window, output = strconv.Itoa(m.ContextWindow), strconv.Itoa(m.MaxOutput)
		if m.MaxOutput == 0 {
			output = "?"
		}
	}
	if !m.Unpriced {
		price = fmt.Sprintf("$%g in, $%g out", m.Price.Input, m.Price.Output)
	}
	return []string{term.EscapeLine(m.ID), window, output, price}
}
