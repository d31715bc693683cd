package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func sessionListCommand(p *program, o *Options) *cobra.Command {
	var all, asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List sessions, newest first", Args: noArgs,
		Long: "List the sessions of this folder, newest first. The ids are cut to what --resume and the other commands need.",
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 0 || (limit == 0 && c.Flags().Changed("limit")) {
				return usage("use a number above 0", "--limit: %d is too small", limit)
			}
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			found, err := s.list(all, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(p.out, listed(found))
			}
			return p.printSessions(s, found, all)
		},
	}
	f := c.Flags()
	f.BoolVarP(&all, "all", "a", false, "the sessions of all folders")
	f.IntVarP(&limit, "limit", "n", 0, "at most `n` sessions")
	f.BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

// foundSession is a session of a list and the error of reading it, if any.
type foundSession struct {
	session.Info
	err error
}

// list gathers sessions; one that cannot be read is one of them.
func (s sessions) list(all bool, limit int) ([]foundSession, error) {
	dir := s.dir
	if all {
		dir = ""
	}
	var out []foundSession
	for info, err := range s.store.List(dir) {
		if info.ID == "" && err != nil {
			return nil, &Error{Code: exitFailed, Err: err, Hint: "make the folder readable, or set XDG_DATA_HOME to another one"}
		}
		out = append(out, foundSession{info, err})
		if len(out) == limit {
			break
		}
	}
	below, _ := s.store.CostsBelow() // one that cannot be read is reported by lathe session verify
	for i := range out {
		out[i].CostUSD += below(out[i].ID)
	}
	return out, nil
}

// sessionJSON is a session as machines see it.
type sessionJSON struct {
	ID          string    `json:"id"`
	Dir         string    `json:"dir"`
	Path        string    `json:"path"`
	Title       string    `json:"title,omitempty"`
	FirstPrompt string    `json:"first_prompt,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Modified    time.Time `json:"modified"`
	Model       string    `json:"model,omitempty"`
	Turns       int       `json:"turns"`
	CostUSD     float64   `json:"cost_usd"`
	Size        int64     `json:"size"`
	Parent      string    `json:"parent,omitempty"`
	Forked      bool      `json:"forked,omitempty"`
	Agent       string    `json:"agent,omitempty"`
	Damaged     bool      `json:"damaged,omitempty"`
	Error       string    `json:"error,omitempty"`
}

func listed(found []foundSession) []sessionJSON {
	out := make([]sessionJSON, 0, len(found))
	for _, i := range found {
		out = append(out, jsonOf(i.Info, i.err))
	}
	return out
}

func jsonOf(i session.Info, err error) sessionJSON {
	j := sessionJSON{
		ID: i.ID, Dir: i.Dir, Path: filepath.Dir(i.Path), Title: i.Title, FirstPrompt: i.FirstPrompt, Created: i.Created,
		Modified: i.Modified, Model: i.Model, Turns: i.Turns, CostUSD: i.CostUSD, Size: i.Size, Parent: i.Parent,
		Forked: i.Forked, Agent: i.Agent, Damaged: i.Damaged,
	}
	if err != nil {
		j.Error = err.Error()
	}
	return j
}

// writeJSON writes one value as one line.
func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(term.EscapeJSON(b), '\n'))
	return err
}

func (p *program) printSessions(s sessions, found []foundSession, all bool) error {
	if len(found) == 0 {
		where, hint := "in this folder", "; --all shows those of other folders"
		if all {
			where, hint = "yet", ""
		}
		_, err := fmt.Fprintf(p.err, "There are no sessions %s%s. Start one: lathe -p \"...\"\n", where, hint)
		return err
	}
	n := prefixLen(idsBeside(found, all))
	rows := [][]string{{"ID", "LAST USED", "TURNS", "COST", "MODEL", "TITLE"}}
	if all {
		rows[0] = slices.Insert(rows[0], 5, "FOLDER")
	}
	for _, i := range found {
		row := []string{
			i.ID[:min(n, len(i.ID))], relative(i.Modified, p.now()), count(i.Turns), dollars(i.CostUSD), orDash(i.Model),
			titleOf(i),
		}
		if all {
			row = slices.Insert(row, 5, orDash(shortHome(i.Dir)))
		}
		rows = append(rows, row)
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

// titleOf is a session's title, after a mark if the session is damaged or unreadable.
func titleOf(i foundSession) string {
	switch title := sessionTitle(i.Info); {
	case i.err != nil:
		return "[unreadable: " + i.err.Error() + "]"
	case i.Damaged:
		return "[damaged] " + title
	default:
		return title
	}
}

// idsBeside are the ids of all sessions that a prefix could be mistaken for, also those that were not
// listed: names of folders, so that nothing has to be read.
func idsBeside(found []foundSession, all bool) []string {
	projects := map[string]bool{}
	for _, i := range found {
		projects[filepath.Dir(filepath.Dir(i.Path))] = true
	}
	if all {
		root := filepath.Dir(filepath.Dir(filepath.Dir(found[0].Path)))
		for _, name := range namesIn(root) {
			projects[filepath.Join(root, name)] = true
		}
	}
	var ids []string
	for p := range projects {
		ids = append(ids, namesIn(p)...)
	}
	return ids
}

// namesIn lists a folder; one that cannot be read has nothing to be mistaken for.
func namesIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out
}

// prefixLen is the number of characters that make every id unique, at least minPrefix.
func prefixLen(ids []string) int {
	slices.Sort(ids)
	n := minPrefix
	for i := 1; i < len(ids); i++ {
		a, b := ids[i-1], ids[i]
		same := 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		n = max(n, same+1)
	}
	return n
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func dollars(usd float64) string {
	switch {
	case usd <= 0:
		return "-"
	case usd < 0.01:
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", usd)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shortHome writes the home folder as people do.
func shortHome(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}
