package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/store/cost"
)

func statsCommand(p *program, o *Options) *cobra.Command {
	var asJSON, here bool
	days := 30
	c := &cobra.Command{
		Use: "stats", Short: "Sum up tokens and cost by day, model, cause and project", Args: noArgs,
		Long: `Sum up tokens and cost of the sessions of all folders, subagents included, by day, model, cause and project. A
cause is a skill, the kind of an agent, an MCP server, a schedule, work beside the conversation, or you. Prices are those of the
time of each request.`,
		RunE: func(_ *cobra.Command, _ []string) error {
			if days <= 0 {
				return usage("use a number above 0", "--days: %d is too small", days)
			}
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			dir := ""
			if here {
				dir = s.dir
			}
			out, err := p.gatherStats(s, dir, startOfDay(time.Now()).AddDate(0, 0, 1-days))
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(p.out, out)
			}
			return p.printStats(out, days)
		},
	}
	c.Flags().IntVar(&days, "days", days, "of the last `n` days, today included")
	c.Flags().BoolVar(&here, "here", false, "only the sessions of this folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// stats are sums over many sessions.
type stats struct {
	Sessions int                     `json:"sessions"`
	Total    *cost.Totals            `json:"total"`
	Days     map[string]*cost.Totals `json:"days"` // by date, local time
	Models   map[string]*cost.Totals `json:"models"`
	Projects map[string]*cost.Totals `json:"projects"` // by folder
	Causes   map[string]*cost.Totals `json:"causes"`   // see causes
}

// gatherStats reads all sessions that were changed since a time, of one folder or with "" of all. One that cannot be
// read is reported and left out.
func (p *program) gatherStats(s sessions, dir string, since time.Time) (stats, error) {
	out := stats{
		Total: &cost.Totals{}, Days: map[string]*cost.Totals{}, Models: map[string]*cost.Totals{},
		Projects: map[string]*cost.Totals{}, Causes: map[string]*cost.Totals{},
	}
	for info, err := range s.store.List(dir) {
		if info.ID == "" && err != nil {
			return out, &Error{Code: exitFailed, Err: err, Hint: "make the folder readable, or set XDG_DATA_HOME to another one"}
		}
		if info.Modified.Before(since) {
			continue
		}
		if err == nil {
			err = out.add(s, info.ID, info.Dir, since)
		}
		if err != nil {
			fmt.Fprintf(p.err, "%s: warning: session %s is left out: %v\n", messagesName, info.ID, err)
		}
	}
	return out, nil
}

// add counts a session and those of its subagents.
func (t *stats) add(all sessions, id, dir string, since time.Time) error {
	s, err := all.store.OpenReadOnly(id)
	if err != nil {
		return err
	}
	counted, causes := false, causesOf(s)
	for _, step := range cost.Of(s).Steps {
		if step.Time.Before(since) {
			continue
		}
		counted = true
		t.Total.Add(step)
		sumOf(t.Days, step.Time.Local().Format(time.DateOnly)).Add(step)
		sumOf(t.Models, step.Model).Add(step)
		sumOf(t.Projects, dir).Add(step)
		sumOf(t.Causes, causes.of(step)).Add(step)
	}
	if counted {
		t.Sessions++
	}
	if err := s.Close(); err != nil {
		return err
	}
	for child, err := range all.store.Children(id) {
		if err != nil {
			return err
		}
		if err := t.add(all, child.ID, dir, since); err != nil {
			return err
		}
	}
	return nil
}

func sumOf(m map[string]*cost.Totals, key string) *cost.Totals {
	if m[key] == nil {
		m[key] = &cost.Totals{}
	}
	return m[key]
}

func (p *program) printStats(t stats, days int) error {
	if t.Total.Steps == 0 {
		_, err := fmt.Fprintf(p.out, "No session has a request of the last %s.\n", plural(days, "day"))
		return err
	}
	rows := [][]string{}
	section := func(title string, m map[string]*cost.Totals, order []string, name func(string) string) {
		rows = append(rows, []string{title, "requests", "fresh", "cached", "written", "output", "cost"})
		for _, key := range order {
			rows = append(rows, statsRow(name(key), m[key]))
		}
		rows = append(rows, []string{""})
	}
	same := func(s string) string { return s }
	section("day", t.Days, slices.Sorted(maps.Keys(t.Days)), same)
	section("model", t.Models, byCost(t.Models), same)
	section("cause", t.Causes, byCost(t.Causes), same)
	section("project", t.Projects, byCost(t.Projects), shortHome)
	rows = append(rows, statsRow(plural(t.Sessions, "session"), t.Total))
	_, err := io.WriteString(p.out, columns(rows, 0))
	return err
}

func statsRow(name string, t *cost.Totals) []string {
	return []string{
		name, strconv.Itoa(t.Steps), strconv.Itoa(t.Input), strconv.Itoa(t.Read), strconv.Itoa(t.Written),
		strconv.Itoa(t.Output), price(t.CostUSD),
	}
}

// byCost returns the keys, the most expensive first.
func byCost(m map[string]*cost.Totals) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b].CostUSD, m[a].CostUSD), cmp.Compare(a, b))
	})
}
