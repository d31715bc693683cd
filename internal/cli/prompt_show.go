package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
)

func promptCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "prompt", Short: "Show what a new session sends before your words", RunE: needCommand,
		Long: "The system prompt, the tools and the context that a new session here sends before your first message. No " +
			"key is needed, and nothing is sent.",
	}
	c.AddCommand(promptShowCommand(p, o))
	return c
}

func promptShowCommand(p *program, o *Options) *cobra.Command {
	var tokens, diff bool
	c := &cobra.Command{
		Use: "show", Short: "Print the prompt, part by part", Args: noArgs,
		Long: `Print every part of the prompt as it would be sent, each below a line with its name, its size in tokens (estimated) and its origin: lathe, a file,
a setting, a flag.`,
		Example: `  lathe prompt show
  lathe prompt show --tokens
  lathe prompt show --diff --append-system-prompt "Answer in rhymes."`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			s, closeAll, err := p.detached(c.Context(), o)
			if err != nil {
				return err
			}
			return joinErrors(p.showPrompt(c.Context(), s, tokens, diff), closeAll())
		},
	}
	c.Flags().BoolVar(&tokens, "tokens", false, "print only the table of the parts, with their sizes and origins")
	c.Flags().BoolVar(&diff, "diff", false, "print only the difference from lathe's own system prompt, as a unified diff")
	c.MarkFlagsMutuallyExclusive("tokens", "diff")
	addPermissionFlags(c.Flags(), o)
	addModelFlags(c.Flags(), o)
	addSystemFlags(c.Flags(), o)
	return c
}

// promptPart is one part with its place in the request.
type promptPart struct {
	place, text string
	prompt.Section
}

func (p *program) showPrompt(ctx context.Context, s *conversation.Session, tokens, diff bool) error {
	opening := s.Opening(ctx)
	if diff {
		return p.diffPrompt(opening)
	}
	parts, err := promptParts(opening)
	if err != nil {
		return err
	}
	if tokens {
		err = p.promptTable(parts)
	} else {
		err = p.promptTexts(parts)
	}
	if opening.Notice != "" {
		err = joinErrors(err, printNotice(p, opening.Notice))
	}
	return err
}

// promptParts lists the parts in the order in which they are sent.
func promptParts(o conversation.Opening) (out []promptPart, err error) {
	for _, s := range o.System {
		out = append(out, promptPart{"system", s.Text, s})
	}
	for _, t := range o.Tools {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // as it is sent
		if err := enc.Encode(specJSON{t.Name, t.Description, t.Schema}); err != nil {
			return nil, err
		}
		out = append(out, promptPart{"tools", strings.TrimSpace(b.String()), prompt.Section{Name: t.Name, Origin: "lathe"}})
	}
	for _, s := range o.Context {
		out = append(out, promptPart{"first message", strings.TrimSuffix(s.Text, "\n"), s})
	}
	return out, nil
}

func (p *program) promptTable(parts []promptPart) error {
	rows, sum := [][]string{{"PLACE", "PART", "TOKENS", "ORIGIN"}}, 0
	for _, part := range parts {
		n := llm.EstimateText(len(part.text))
		sum += n
		rows = append(rows, []string{part.place, escape(part.Name), fmt.Sprint(n), escape(part.Origin)})
	}
	rows = append(rows, []string{"", "together", fmt.Sprint(sum), ""})
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

func (p *program) promptTexts(parts []promptPart) error {
	var b strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&b, "==> %s: %s (%d tokens, from %s) <==\n%s\n\n",
			part.place, escape(part.Name), llm.EstimateText(len(part.text)), escape(part.Origin), escape(part.text))
	}
	_, err := io.WriteString(p.out, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// diffPrompt compares the system prompt with the one without settings and flags.
func (p *program) diffPrompt(o conversation.Opening) error {
	text := func(sections []prompt.Section) string {
		var all []string
		for _, s := range sections {
			all = append(all, s.Text)
		}
		return strings.Join(all, "\n\n") + "\n"
	}
	own := text(prompt.SystemSections(prompt.SystemOptions{Model: o.Model}))
	_, err := io.WriteString(p.out, escape(udiff.Unified("lathe's own", "as it would be sent", own, text(o.System))))
	return err
}

// printNotice prints a notice beside the output.
func printNotice(p *program, text string) error {
	_, err := fmt.Fprintln(p.err, "lathe: "+escape(text))
	return err
}
