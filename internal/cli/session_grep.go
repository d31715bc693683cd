package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// foundText is a session with a text, as machines see it.
type foundText struct {
	sessionJSON
	Count int       `json:"count"` // of the entries that have it
	Hits  []textHit `json:"hits"`  // the first ones
}

type textHit struct {
	Entry string `json:"entry"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
}

func sessionGrepCommand(p *program, o *Options) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "grep TEXT", Short: "Search what was said in sessions",
		Long: `Search the prompts, replies, calls, results and titles of the sessions of this folder for a text, in any case. It
exits with 1 when nothing was found.`,
		Example: "  lathe session grep \"connection refused\"\n  lathe session grep --all --json parser",
		RunE: func(c *cobra.Command, words []string) error {
			text := strings.TrimSpace(strings.Join(words, " "))
			if text == "" {
				return usage("lathe session grep TEXT", "say what to search for")
			}
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			dir := s.dir
			if all {
				dir = ""
			}
			found := []foundText{}
			for _, h := range s.store.Grep(c.Context(), dir, text) {
				f := foundText{sessionJSON: jsonOf(h.Info, nil), Count: h.Count}
				for _, hit := range h.Hits {
					f.Hits = append(f.Hits, textHit{hit.Entry, hit.Kind, hit.Text})
				}
				found = append(found, f)
			}
			if asJSON {
				return writeJSON(p.out, found)
			}
			return p.printFound(found)
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "the sessions of all folders")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (p *program) printFound(found []foundText) error {
	if len(found) == 0 {
		return &Error{
			Code: exitFailed, Msg: "no session of this folder has it", Hint: "--all searches those of other folders",
		}
	}
	for _, f := range found {
		title := f.Title
		if title == "" {
			title = f.FirstPrompt
		}
		fmt.Fprintf(p.out, "%s  %s  %s (%s)\n", f.ID, f.Modified.Local().Format("2006-01-02"), term.EscapeLine(title),
			plural(f.Count, "place"))
		for _, h := range f.Hits {
			if _, err := fmt.Fprintf(p.out, "  %s: %s\n", h.Kind, term.EscapeLine(h.Text)); err != nil {
				return err
			}
		}
	}
	return nil
}
