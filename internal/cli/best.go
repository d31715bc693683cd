package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/agent/best"
	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
)

// bestFlags are the flags of lathe best.
type bestFlags struct {
	n               int
	models, efforts []string
	check           string
	json, apply     bool
}

func bestCommand(p *program, o *Options) *cobra.Command {
	var b bestFlags
	c := &cobra.Command{
		Use: `best [flags] "prompt"`, Short: "Have several agents attempt one task, and choose the best attempt",
		Long: `Run several attempts at one task side by side, each in its own git worktree that begins at the last commit, run the
check command on each, and have judges compare the results in pairs. The project does not change until an attempt is
applied. Attempts may edit files in their worktrees without asking, unless --permission-mode says otherwise.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.runBest(c.Context(), o, &b, strings.TrimSpace(strings.Join(args, " ")))
		},
	}
	f := c.Flags()
	f.IntVarP(&b.n, "attempts", "n", 3, "run this `number` of attempts, up to "+strconv.Itoa(best.Most))
	f.StringSliceVar(&b.models, "models", nil, "the models of the attempts in turn, a `list`")
	f.StringSliceVar(&b.efforts, "efforts", nil, "the efforts of the attempts in turn, a `list`")
	f.StringVar(&b.check, "check", "", "the check `command`, instead of the setting eval.command")
	f.BoolVar(&b.json, "json", false, "print the contest as one JSON object")
	f.BoolVar(&b.apply, "apply", false, "apply the winner's changes to the project")
	f.IntVar(&o.MaxTurns, "max-turns", 0, "stop each attempt after `n` model calls")
	f.Float64Var(&o.MaxBudget, "max-budget-usd", 0, "stop when `usd` dollars are spent in all")
	addModelFlags(f, o)
	addPermissionFlags(f, o)
	c.AddCommand(bestListCommand(p, o), bestShowCommand(p, o), bestApplyCommand(p, o), bestDropCommand(p, o))
	return c
}

// runBest runs a contest and prints it.
func (p *program) runBest(ctx context.Context, o *Options, b *bestFlags, prompt string) error {
	switch {
	case prompt == "":
		return usage(`write lathe best "..."`, "the task is missing")
	case b.n < 1 || b.n > best.Most:
		return usage("give a number from 1 to "+strconv.Itoa(best.Most), "-n: %d attempts are not possible", b.n)
	}
	if o.Mode == "" && !o.Bypass {
		o.Mode = string(permission.AcceptEdits)
	}
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	if repo, ok := git.Find(inst.Dir()); !ok || repo.Head == "" {
		return errors.Join(usage("make one with git init and a commit", "lathe best needs a git repository with a commit"),
			inst.Close())
	}
	s, err := inst.NewSession(ctx, conversation.SessionOptions{})
	if err != nil {
		return errors.Join(startError(err), inst.Close())
	}
	p.warnOfCatalogue()
	c := newContest(p, inst, s, b, prompt)
	r := p.bestRunner(inst, s, b)
	err = r.Run(ctx, c)
	if err = errors.Join(err, s.Close(), inst.Close()); err != nil {
		return &Error{
			Code: exitFailed, Err: err, Hint: "what there is of it: lathe best show " + c.ID,
			interrupted: ctx.Err() != nil,
		}
	}
	return p.endBest(ctx, o, b, r.Store, c)
}

func newContest(p *program, inst *conversation.Instance, s *conversation.Session, b *bestFlags,
	prompt string,
) *best.Contest {
	c := &best.Contest{
		ID: p.now().UTC().Format("20060102-150405") + "-" + p.uuid()[:4], Prompt: prompt, Dir: inst.Dir(), Session: s.ID(),
		Created: p.now().Round(time.Second),
		Command: cmp.Or(b.check, inst.Extensions().Eval().Command),
	}
	for i := range b.n {
		a := best.Attempt{N: i + 1}
		if len(b.models) > 0 {
			a.Model = b.models[i%len(b.models)]
		}
		if len(b.efforts) > 0 {
			a.Effort = b.efforts[i%len(b.efforts)]
		}
		c.Attempts = append(c.Attempts, a)
	}
	return c
}

func (p *program) bestRunner(inst *conversation.Instance, s *conversation.Session, b *bestFlags) *best.Runner {
	judges, notes := inst.Extensions().Judges()
	for _, n := range notes {
		fmt.Fprintln(p.err, "lathe: warning: "+term.EscapeLine(n))
	}
	check := inst.Extensions().Eval()
	check.Command = cmp.Or(b.check, check.Command)
	general := slices.IndexFunc(subagent.BuiltIn(), func(k subagent.Kind) bool { return k.Name == subagent.General })
	return &best.Runner{
		Store: best.Store{Dir: contests(inst)}, Agents: s.Env().Agents, Check: check, Judges: judges,
		Models: eval.Models{Get: s.BesideNamed("eval", inst.Model), Count: s.CountRequest, Explore: s.Env().Agents.Explore},
		Kind: func() subagent.Kind {
			k := subagent.BuiltIn()[general]
			k.Name, k.Isolated = "attempt", true
			return k
		},
		Report: func(a best.Attempt) {
			if !b.json {
				fmt.Fprintln(p.err, "lathe: "+term.EscapeLine(attemptRow(a)))
			}
		},
	}
}

// contests is the folder of the project's contests.
func contests(inst *conversation.Instance) string {
	return filepath.Join(inst.Store().ProjectDir(cmp.Or(inst.Config().Paths().Root, inst.Dir())), "best")
}

// endBest prints a contest that is over, and applies the winner where that is wanted.
func (p *program) endBest(ctx context.Context, o *Options, b *bestFlags, store best.Store, c *best.Contest) error {
	if b.apply && c.Winner > 0 {
		if err := p.applyAttempt(ctx, o, c, 0); err != nil {
			return err
		}
		if err := store.Save(c); err != nil {
			return err
		}
	}
	if b.json {
		if err := writeJSON(p.out, c); err != nil {
			return err
		}
	} else if err := p.printContest(c); err != nil {
		return err
	}
	if c.Winner == 0 {
		return &Error{Code: exitFailed, Msg: "no attempt changed anything", Hint: "see why with lathe best show " + c.ID}
	}
	return nil
}

// attemptRow describes an attempt in a line.
func attemptRow(a best.Attempt) string {
	out := fmt.Sprintf("attempt %d", a.N)
	for _, s := range []string{a.Model, a.Effort} {
		if s != "" {
			out += ", " + s
		}
	}
	switch {
	case !a.Done:
		out += ": not finished"
	case a.Patch == "":
		out += ": changed nothing"
	default:
		out += fmt.Sprintf(": +%d -%d", a.Added, a.Removed)
	}
	if a.Check != nil {
		out += ", " + a.Check.String()
	}
	if a.Problem != "" {
		out += ", " + a.Problem
	}
	return out + fmt.Sprintf(", $%.4f", a.CostUSD)
}

func (p *program) printContest(c *best.Contest) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", c.ID, term.Truncate(term.EscapeLine(c.Prompt), 80, "…"))
	for _, a := range c.Attempts {
		mark := " "
		if a.N == c.Winner {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %s, %.1f points\n", mark, term.EscapeLine(attemptRow(a)), a.Points)
	}
	switch {
	case c.Applied > 0:
		fmt.Fprintf(&b, "Attempt %d was applied. Remove the worktrees with: lathe best drop %s\n", c.Applied, c.ID)
	case c.Winner > 0:
		fmt.Fprintf(&b,
			"Attempt %d is the best. Look at it with: lathe best show %s %d. Apply it with: lathe best apply %s\n", c.Winner,
			c.ID, c.Winner, c.ID)
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// withContests opens the project's contests and finds one by the first argument, the newest without; the second is the
// number of an attempt.
func (p *program) withContests(o *Options, args []string, f func(best.Store, *best.Contest, int) error) error {
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	store, id, n := best.Store{Dir: contests(inst)}, "", 0
	if len(args) > 0 {
		id = args[0]
	}
	if len(args) > 1 {
		if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
			return errors.Join(usage("give the number of an attempt", "%q is no number of an attempt", args[1]), inst.Close())
		}
	}
	c, err := store.Find(id)
	if err != nil {
		return errors.Join(&Error{Code: exitUsage, Err: err}, inst.Close())
	}
	return errors.Join(f(store, c, n), inst.Close())
}

func bestListCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contests of this project", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			inst, err := p.instance(o)
			if err != nil {
				return err
			}
			all, err := best.Store{Dir: contests(inst)}.List()
			if err != nil {
				return errors.Join(err, inst.Close())
			}
			for _, c := range all {
				state := "no winner"
				if c.Winner > 0 {
					state = fmt.Sprintf("attempt %d of %d won", c.Winner, len(c.Attempts))
				}
				fmt.Fprintf(p.out, "%s  %s  %s\n", c.ID, state, term.Truncate(term.EscapeLine(c.Prompt), 80, "…"))
			}
			return inst.Close()
		},
	}
}

func bestShowCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show [ID [N]]", Short: "Print a contest, or the changes of an attempt", Args: atMost("ID", "N"),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.withContests(o, args, func(_ best.Store, c *best.Contest, n int) error {
				switch {
				case asJSON:
					return writeJSON(p.out, c)
				case n == 0:
					return p.printBallots(c)
				}
				a, err := c.Attempt(n)
				if err != nil {
					return &Error{Code: exitUsage, Err: err}
				}
				return p.printPatch(a)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (p *program) printBallots(c *best.Contest) error {
	if err := p.printContest(c); err != nil {
		return err
	}
	for _, b := range c.Ballots {
		choice := "neither"
		if b.Better >= 0 {
			choice = fmt.Sprintf("attempt %d", c.Attempts[b.Better].N)
		}
		if b.Absent != "" {
			choice = "no answer"
		}
		fmt.Fprintf(p.out, "  %s, %d or %d: %s. %s\n", escape(b.Judge), c.Attempts[b.First].N, c.Attempts[b.Second].N,
			choice, term.EscapeLine(cmp.Or(b.Absent, b.Reasoning)))
	}
	return nil
}

func bestApplyCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "apply [ID [N]]", Short: "Apply the changes of the winner, or of an attempt, to the project",
		Args: atMost("ID", "N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withContests(o, args, func(store best.Store, c *best.Contest, n int) error {
				if err := p.applyAttempt(cmd.Context(), o, c, n); err != nil {
					return err
				}
				fmt.Fprintf(p.out, "Attempt %d is applied. Remove the worktrees with: lathe best drop %s\n", c.Applied, c.ID)
				return store.Save(c)
			})
		},
	}
}

// applyAttempt changes the project's files as an attempt did.
func (p *program) applyAttempt(ctx context.Context, _ *Options, c *best.Contest, n int) error {
	a, err := c.Attempt(n)
	if err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	if a.Patch == "" {
		return &Error{Code: exitFailed, Msg: fmt.Sprintf("attempt %d changed nothing", a.N)}
	}
	repo, ok := git.Find(c.Dir)
	if !ok {
		return &Error{Code: exitFailed, Msg: c.Dir + " is no git repository any more"}
	}
	if err := git.New(sandbox.New()).Apply(ctx, repo, a.Patch); err != nil {
		return &Error{
			Code: exitFailed, Msg: "the changes do not fit the files as they are now, and nothing was changed",
			Err: err, Hint: "commit or stash your changes, or merge the branch " + a.Branch + " after a commit in " + a.Worktree,
		}
	}
	c.Applied = a.N
	return nil
}

func bestDropCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "drop ID", Short: "Remove a contest with its worktrees and branches", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withContests(o, args, func(store best.Store, c *best.Contest, _ int) error {
				repo, ok := git.Find(c.Dir)
				for _, a := range c.Attempts {
					if a.Worktree == "" || !ok {
						continue
					}
					if err := git.New(sandbox.New()).RemoveWorktree(cmd.Context(), repo, a.Worktree, a.Branch); err != nil {
						return err
					}
				}
				return store.Remove(c)
			})
		},
	}
}

// printPatch prints the changes of an attempt as they are, for pagers and git apply; for a terminal without its escape
// sequences.
func (p *program) printPatch(a *best.Attempt) error {
	if a.Patch == "" {
		return &Error{Code: exitFailed, Msg: fmt.Sprintf("attempt %d changed nothing: %s", a.N,
			cmp.Or(a.Problem, firstLineOf(a.Answer)))}
	}
	text, err := best.ReadPatch(a)
	if err != nil {
		return err
	}
	if p.outTTY {
		text = []byte(term.Escape(string(text)))
	}
	_, err = p.out.Write(text)
	return err
}

func firstLineOf(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
