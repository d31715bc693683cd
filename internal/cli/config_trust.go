package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func configTrustCommand(p *program, o *Options) *cobra.Command {
	var yes, revoke bool
	c := &cobra.Command{
		Use: "trust", Short: "Let this project's settings widen what lathe may do", Args: noArgs,
		Long: `Settings that come with a project may narrow what lathe does, but what could do harm (rules that allow, hooks, variables,
more folders) counts only once you trust the folder. This shows those values and asks. The trust ends when they change.`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			cfg, _, err := loadConfig(o)
			if err != nil {
				return err
			}
			if revoke {
				return p.distrust(cfg)
			}
			return p.trust(c, cfg, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&revoke, "revoke", false, "trust the folder no longer")
	return c
}

func (p *program) trust(c *cobra.Command, cfg *config.Config, yes bool) error {
	root := term.EscapeLine(cfg.Paths().Root)
	held := cfg.Held()
	switch {
	case cfg.TrustsPrograms():
		_, err := fmt.Fprintf(p.out, "%s is trusted already\n", root)
		return err
	}
	question, until := "Trust "+root+" with these?", " until one of these values changes"
	if len(held) == 0 {
		question, until = "Let lathe run programs of "+root+"?", ""
		if _, err := fmt.Fprintln(p.out, "Its settings ask for nothing that needs trust. Trusted, lathe also runs its "+
			"programs: language servers and formatters of node_modules/.bin and of virtual environments."); err != nil {
			return err
		}
	} else if err := p.printHeld(cfg); err != nil {
		return err
	}
	switch {
	case yes:
	case !p.asks():
		return usage("look at the values, then add --yes",
			"trust is not given without asking, and there is no terminal to ask on")
	case !p.confirm(c.Context(), question):
		return &Error{Code: exitFailed, Msg: "nothing was changed"}
	}
	if err := cfg.Trust(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "trusted %s%s\n", root, until)
	return err
}

// printHeld prints the values that need trust; where the folder was trusted before, those that changed since.
func (p *program) printHeld(cfg *config.Config) error {
	values, again := cfg.HeldValues()
	var rows [][]string
	same := 0
	for _, v := range values {
		switch {
		case !again:
			rows = append(rows, []string{"  " + v.Path, v.Origin.String(), string(v.JSON)})
		case v.State == config.Unchanged:
			same++
		case v.State == config.Changed:
			rows = append(rows, []string{"  changed  " + v.Path, v.Origin.String(), string(v.JSON)},
				[]string{"      was", "", string(v.Was)})
		default:
			rows = append(rows, []string{"  " + string(v.State) + "  " + v.Path, v.Origin.String(), string(v.JSON)})
		}
	}
	text := columns(rows, 0) // nothing is cut: the user decides on it
	if again {
		text = "since you trusted this folder:\n" + text
		if same > 0 {
			text += fmt.Sprintf("  unchanged  %d more\n", same)
		}
	}
	_, err := io.WriteString(p.out, text)
	return err
}

func (p *program) distrust(cfg *config.Config) error {
	if err := cfg.Distrust(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "%s is not trusted\n", term.EscapeLine(cfg.Paths().Root))
	return err
}
