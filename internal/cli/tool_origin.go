package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// originJSON is a tool with the place that it comes from.
type originJSON struct {
	Name     string `json:"name"`
	Origin   string `json:"origin"`
	Deferred bool   `json:"deferred"`
}

// listOrigins prints where each tool comes from, and whether requests have its schema.
func (p *program) listOrigins(ctx context.Context, s *conversation.Session, asJSON bool) error {
	notes := s.Registry().Retry(ctx)
	entries := s.Registry().Entries(ctx)
	if asJSON {
		out := make([]originJSON, 0, len(entries))
		for _, e := range entries {
			out = append(out, originJSON{e.Spec.Name, e.Origin, e.Deferred})
		}
		return writeJSON(p.out, out)
	}
	rows := [][]string{{"tool", "in requests", "origin"}}
	for _, e := range entries {
		rows = append(rows, []string{e.Spec.Name, sentWord(e), term.EscapeLine(e.Origin)})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	for _, n := range notes {
		_, _ = fmt.Fprintln(p.err, "lathe: "+term.EscapeLine(n))
	}
	return err
}

func sentWord(e conversation.ToolEntry) string {
	if e.Deferred {
		return "on demand"
	}
	return "always"
}

func toolNewCommand(p *program, o *Options) *cobra.Command {
	var user bool
	var language string
	c := &cobra.Command{
		Use: "new NAME", Short: "Make your own tool",
		Long: `Write a working tool into .lathe/tools of the project, or with --user into your own tools folder. It is a program: with
--describe it prints what it is, and a call gets its input as JSON on stdin. See docs/custom-tools.md.`,
		Example: "  lathe tool new word_count\n  lathe tool new disk_space --user --language sh",
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			if len(args) != 1 {
				return usage("lathe tool new word_count", "%s takes one name", c.CommandPath())
			}
			return p.newTool(o, args[0], user, language)
		},
	}
	c.Flags().BoolVar(&user, "user", false, "make it yours, for all projects")
	c.Flags().StringVar(&language, "language", "py", "the `ending` of its file: py, sh or js")
	return c
}

func (p *program) newTool(o *Options, name string, user bool, language string) error {
	cfg, _, err := loadConfig(o)
	if err != nil {
		return err
	}
	dir := filepath.Join(cfg.Paths().Root, ".lathe", "tools")
	if user {
		dir = filepath.Join(cfg.Paths().ConfigHome, "tools")
	}
	path, err := customtool.Create(dir, name, language)
	if err != nil {
		return &Error{Code: exitFailed, Msg: "no tool was made", Err: err}
	}
	next := "lathe tool list --origin"
	if !user {
		next = "lathe config trust, since programs of a project run only once you trust it"
	}
	_, err = fmt.Fprintf(p.out, "%s\nEdit it, then: %s\n", term.EscapeLine(path), next)
	return err
}
