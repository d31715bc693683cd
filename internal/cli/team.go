package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/conversation/team"
	"github.com/lathe-dev/lathe/internal/conversation/team/start"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
)

// teamFlags are the flags of lathe team.
type teamFlags struct {
	workers int
	check   string
	json    bool
	format  string // of the output
	time    time.Duration
	joins   bool // it works on a team that another process runs
}

func teamCommand(p *program, o *Options) *cobra.Command {
	var t teamFlags
	c := &cobra.Command{
		Use: `team [flags] "goal"`, Short: "Have a coordinator and workers reach a goal together",
		Long: `A coordinator splits the goal into tasks; workers do them side by side, each in its own git worktree, and their work is
checked and merged in order into a branch of the team. The current branch does not change. Workers may edit files in their
worktrees without asking, unless --permission-mode says otherwise.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			goal := strings.TrimSpace(strings.Join(args, " "))
			if goal == "" {
				return usage(`write lathe team "..."`, "the goal is missing")
			}
			return p.runTeam(c.Context(), o, &t, goal, "")
		},
	}
	t.add(c, o)
	c.AddCommand(teamResumeCommand(p, o), teamJoinCommand(p, o), teamListCommand(p, o), teamShowCommand(p, o))
	return c
}

func (t *teamFlags) add(c *cobra.Command, o *Options) {
	f := c.Flags()
	f.IntVar(&t.workers, "workers", team.DefaultWorkers, "the most workers at once, a `number`")
	f.StringVar(&t.check, "check", "", "the check `command`, instead of the setting eval.command")
	f.BoolVar(&t.json, "json", false, "print the board as one JSON object at the end")
	f.StringVar(&t.format, "output-format", "text",
		"`format` of the output: text, json (the board at the end) or stream-json (also a line for each event)")
	f.DurationVar(&t.time, "max-time", 0, "end the work after a `duration`, such as 30m; it can go on later")
	f.IntVar(&o.MaxTurns, "max-turns", 0, "stop each agent after `n` model calls")
	f.Float64Var(&o.MaxBudget, "max-budget-usd", 0, "stop when `usd` dollars are spent in all")
	addModelFlags(f, o)
	addPermissionFlags(f, o)
}

// runTeam runs a new team, or goes on with the one of an id.
func (p *program) runTeam(ctx context.Context, o *Options, t *teamFlags, goal, id string) error {
	if t.workers < 1 {
		return usage("give a number from 1 on", "--workers: %d workers are not possible", t.workers)
	}
	if !slices.Contains([]string{"text", "json", "stream-json"}, t.format) {
		return usage("choose text, json or stream-json", "--output-format: there is no format %q", t.format)
	}
	if o.Mode == "" && !o.Bypass {
		o.Mode = string(permission.AcceptEdits)
	}
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	return errors.Join(p.teamWorks(ctx, inst, t, goal, id), inst.Close())
}

func (p *program) teamWorks(ctx context.Context, inst *conversation.Instance, t *teamFlags, goal, id string) error {
	board, s, err := p.openBoard(ctx, inst, goal, id)
	if err != nil {
		return err
	}
	sess, err := inst.NewSession(ctx, t.session(s))
	if err != nil {
		return startError(err)
	}
	p.warnOfCatalogue()
	defer sess.Close()
	print := t.printer(p)
	r, err := start.Runner(inst, sess, board, start.Options{
		Workers: t.workers, Check: t.check, Joins: t.joins,
		Report: print,
	})
	if err != nil {
		return err
	}
	limited, end := start.Limited(ctx, t.time)
	defer end()
	if err = r.Run(limited); errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(limited), start.ErrTime) {
		err = start.ErrTime
	}
	s, failed := board.State()
	if err = errors.Join(err, failed); err == nil || s.Over {
		failed = t.end(p, s)
	}
	if err = errors.Join(err, failed); err != nil {
		return &Error{
			Code: exitFailed, Err: err, Hint: "go on with: lathe team resume " + s.ID,
			interrupted: ctx.Err() != nil,
		}
	}
	return nil
}

// printer prints the news: lines for people on stderr, or JSON lines.
func (t *teamFlags) printer(p *program) func(team.News) {
	var mu sync.Mutex
	return func(n team.News) {
		mu.Lock()
		defer mu.Unlock()
		if !t.stream() {
			fmt.Fprintln(p.err, "lathe: "+term.EscapeLine(n.Text))
			return
		}
		_ = writeJSON(p.out, struct {
			Type    string `json:"type"`
			Subtype string `json:"subtype"`
			team.News
		}{"system", "team_" + n.Kind, n}) // a reader that left ends the run by its signal
	}
}

func (t *teamFlags) stream() bool { return t.format == "stream-json" }

// end prints the board.
func (t *teamFlags) end(p *program, s team.State) error {
	if !t.stream() {
		return p.printTeam(s, t.json || t.format == "json")
	}
	return writeJSON(p.out, struct {
		Type string     `json:"type"`
		Team team.State `json:"team"`
	}{"result", s})
}

// session is the session that the team's agents are below: a new one, or that of a team that goes on.
func (t *teamFlags) session(s team.State) conversation.SessionOptions {
	if s.Session != "" && !t.joins {
		return conversation.SessionOptions{Resume: s.Session}
	}
	return conversation.SessionOptions{}
}

// openBoard makes a team, or finds one.
func (p *program) openBoard(ctx context.Context, inst *conversation.Instance, goal, id string) (*team.Board,
	team.State, error,
) {
	if goal == "" {
		board, s, err := start.Boards(inst).Find(id)
		if err != nil {
			return nil, s, &Error{Code: exitUsage, Err: err}
		}
		return board, s, nil
	}
	board, s, err := start.New(ctx, inst, goal, p.now())
	if errors.Is(err, start.ErrNoRepository) {
		return nil, s, usage("make one with git init and a commit", "lathe team needs a git repository with a commit")
	}
	return board, s, err
}

func (p *program) printTeam(s team.State, asJSON bool) error {
	if asJSON {
		return writeJSON(p.out, s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", s.ID, term.Truncate(term.EscapeLine(s.Goal), 80, "…"))
	cost := s.CostUSD
	for _, t := range s.Tasks {
		cost += t.CostUSD
		fmt.Fprintf(&b, "%3d  %-8s  %s", t.ID, t.Status, term.EscapeLine(t.Title))
		if t.Note != "" {
			fmt.Fprintf(&b, " (%s)", term.Truncate(term.EscapeLine(t.Note), 120, "…"))
		}
		fmt.Fprintf(&b, ", $%.4f\n", t.CostUSD)
		for _, path := range t.Left {
			if isFolder(path) {
				fmt.Fprintf(&b, "     an earlier worker left its work in %s\n", term.EscapeLine(path))
			}
		}
	}
	fmt.Fprintf(&b, "$%.4f in all\n", cost)
	if s.Summary != "" {
		b.WriteString("\n" + term.Escape(s.Summary) + "\n")
	}
	fmt.Fprintf(&b,
		"\nThe work is on the branch %s: look at it with git diff HEAD...%s, take it over with git merge %s.\n", s.Branch,
		s.Branch, s.Branch)
	_, err := io.WriteString(p.out, b.String())
	return err
}

func teamResumeCommand(p *program, o *Options) *cobra.Command {
	var t teamFlags
	c := &cobra.Command{
		Use: "resume [ID]", Short: "Go on with a team that was interrupted, the newest without an id", Args: atMost("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.runTeam(c.Context(), o, &t, "", strings.Join(args, ""))
		},
	}
	t.add(c, o)
	return c
}

func teamJoinCommand(p *program, o *Options) *cobra.Command {
	t := teamFlags{joins: true}
	c := &cobra.Command{
		Use: "join [ID]", Short: "Work on the board of a team that another process runs, the newest without an id",
		Args: atMost("ID"),
		Long: "Has workers of this process do tasks of a team, beside those of other processes. If the process that " +
			"coordinates ends, this one takes over.",
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.runTeam(c.Context(), o, &t, "", strings.Join(args, ""))
		},
	}
	t.add(c, o)
	return c
}

func teamListCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the teams of this project", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			inst, err := p.instance(o)
			if err != nil {
				return err
			}
			all, err := start.Boards(inst).List()
			for _, s := range all {
				done := 0
				for _, t := range s.Tasks {
					if t.Status == team.Done {
						done++
					}
				}
				fmt.Fprintf(p.out, "%s  %d of %d done  %s\n", s.ID, done, len(s.Tasks), term.Truncate(term.EscapeLine(s.Goal), 80,
					"…"))
			}
			return errors.Join(err, inst.Close())
		},
	}
}

func teamShowCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show [ID]", Short: "Print the tasks of a team", Args: atMost("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			inst, err := p.instance(o)
			if err != nil {
				return err
			}
			_, s, err := start.Boards(inst).Find(strings.Join(args, ""))
			if err != nil {
				return errors.Join(&Error{Code: exitUsage, Err: err}, inst.Close())
			}
			return errors.Join(p.printTeam(s, asJSON), inst.Close())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
