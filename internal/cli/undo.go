package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// snapshots opens the project's store of snapshots.
func (p *program) snapshots(o *Options) (*snapshot.Store, sessions, error) {
	s, err := openSessions(o)
	if err != nil {
		return nil, s, err
	}
	cfg, dir, err := loadConfig(o)
	if err != nil {
		return nil, s, err
	}
	root := cmp.Or(cfg.Paths().Root, dir)
	opt := checkpoint.Options(cfg.Settings.Snapshots, s.store.ProjectDir(root))
	opt.Roots = func() []string { return []string{root} }
	opt.Note = func(text string) { fmt.Fprintln(p.err, "lathe: "+term.EscapeLine(text)) }
	return snapshot.New(opt), s, nil
}

// undoing are the flags of the commands that bring files back.
type undoing struct {
	session           string
	keep, take, merge bool
	choose            []string // PATH=keep, take or merge
	dry               bool
}

func (u *undoing) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&u.keep, "keep", false, "leave files that somebody else changed since as they are")
	f.BoolVar(&u.take, "take", false, "bring those back too; their content is kept, and lathe redo restores it")
	f.BoolVar(&u.merge, "merge", false, "merge those three ways; a file with conflicts stays as it is")
	f.BoolVar(&u.dry, "dry-run", false, "print the difference and change nothing")
	f.StringArrayVar(&u.choose, "choose", nil, "what happens to one file that somebody else changed: PATH=keep, "+
		"PATH=take or PATH=merge; repeatable")
	c.MarkFlagsMutuallyExclusive("keep", "take", "merge")
}

// choices are the answers about files that somebody else changed since.
func (u *undoing) choices(plan *snapshot.Plan) (func(snapshot.PlannedFile) snapshot.Choice, error) {
	of := map[string]snapshot.Choice{}
	for _, text := range u.choose {
		at := strings.LastIndex(text, "=")
		choice := snapshot.Choice(text[at+1:])
		if at < 0 || !slices.Contains([]snapshot.Choice{snapshot.Keep, snapshot.Take, snapshot.Merge}, choice) {
			return nil, usage("--choose main.go=merge", "--choose takes PATH=keep, PATH=take or PATH=merge, not %q", text)
		}
		if !slices.ContainsFunc(plan.Conflicts(), func(
			f snapshot.PlannedFile,
		) bool {
			return plan.Rel(f) == text[:at] || f.Path == text[:at]
		}) {
			return nil, usage("lathe undo --dry-run lists the conflicts", "%s has no conflict to choose in", text[:at])
		}
		of[text[:at]] = choice
	}
	return func(f snapshot.PlannedFile) snapshot.Choice {
		return cmp.Or(of[plan.Rel(f)], of[f.Path], u.choice())
	}, nil
}

func (u *undoing) choice() snapshot.Choice {
	switch {
	case u.take:
		return snapshot.Take
	case u.merge:
		return snapshot.Merge
	}
	return snapshot.Keep
}

// withHistory runs f with the history of a session: of the newest one of the folder when none is named.
func (p *program) withHistory(o *Options, name string, f func(snapshot.History, *session.Session) error) (err error) {
	store, s, err := p.snapshots(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	info, err := s.store.Latest(s.dir)
	if name != "" {
		info, err = s.find(name)
	}
	if err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	log, err := s.store.OpenReadOnly(info.ID)
	if err != nil {
		return err
	}
	return errors.Join(f(checkpoint.History(store, log), log), log.Close())
}

func undoCommand(p *program, o *Options) *cobra.Command {
	var u undoing
	c := &cobra.Command{
		Use: "undo [COUNT]", Short: "Take the file changes of a session's last steps back",
		Long: `Take back what the last steps of a session changed in files, also by commands. The session is the newest one of this
folder. A file that somebody else changed since is left alone and named (exit code 1), unless a flag says otherwise.
The conversation stays as it is; lathe session rewind takes both back. docs/undo.md says which files are covered.`,
		RunE: func(c *cobra.Command, args []string) error {
			n := 1
			if len(args) > 0 {
				var err error
				if n, err = strconv.Atoi(args[0]); err != nil || n < 1 || len(args) > 1 {
					return usage(`a prompt that begins with this word: lathe -p "undo ..."`, "%s takes a number of steps, from 1",
						c.CommandPath())
				}
			}
			return p.withHistory(o, u.session, func(h snapshot.History, _ *session.Session) error {
				return p.bringBack(u, func() (*snapshot.Plan, error) { return h.Undo(n) })
			})
		},
	}
	u.flags(c)
	c.Flags().StringVar(&u.session, "session", "", "the session (default: the newest of this folder)")
	return c
}

func redoCommand(p *program, o *Options) *cobra.Command {
	var u undoing
	c := &cobra.Command{
		Use: "redo", Short: "Bring back what the last undo or rewind took back", Args: noArgs,
		Long: "Bring back the files that the last undo or rewind of a session took back. After another step there is " +
			"nothing to redo.",
		RunE: func(*cobra.Command, []string) error {
			return p.withHistory(o, u.session, func(h snapshot.History,
				_ *session.Session,
			) error {
				return p.bringBack(u, h.Redo)
			})
		},
	}
	u.flags(c)
	c.Flags().StringVar(&u.session, "session", "", "the session (default: the newest of this folder)")
	return c
}

// bringBack applies a plan, or prints it.
func (p *program) bringBack(u undoing, make func() (*snapshot.Plan, error)) error {
	plan, err := make()
	if err != nil {
		return err
	}
	if u.dry {
		return p.printPlan(plan)
	}
	choose, err := u.choices(plan)
	if err != nil {
		return err
	}
	out, err := plan.Apply(choose)
	if err != nil {
		return err
	}
	for _, c := range out.Changed {
		fmt.Fprintln(p.out, term.EscapeLine(plan.Rel(snapshot.PlannedFile{Path: c.Path})))
	}
	for _, f := range out.Left {
		fmt.Fprintf(p.err, "lathe: %s stays as it is: %s\n", term.EscapeLine(plan.Rel(f)), term.EscapeLine(f.Blocked))
	}
	if len(out.Left) > 0 {
		return &Error{
			Code: exitFailed, Msg: fmt.Sprintf("%d files were left alone", len(out.Left)),
			Hint: "--take brings those back that somebody else changed, --merge merges them",
		}
	}
	return nil
}

// printPlan prints what a plan would change, as a diff.
func (p *program) printPlan(plan *snapshot.Plan) error {
	for _, f := range plan.Files {
		switch {
		case f.Blocked != "":
			fmt.Fprintf(p.err, "lathe: %s would stay: %s\n", term.EscapeLine(plan.Rel(f)), term.EscapeLine(f.Blocked))
			continue
		case f.Foreign:
			fmt.Fprintf(p.err, "lathe: %s was changed by somebody else since\n", term.EscapeLine(plan.Rel(f)))
		}
		if _, err := fmt.Fprint(p.out, term.Escape(plan.Diff(f).Text)); err != nil {
			return err
		}
	}
	return nil
}

func sessionRewindCommand(p *program, o *Options) *cobra.Command {
	var u undoing
	var onlyFiles, onlyConversation bool
	c := &cobra.Command{
		Use: "rewind ID MESSAGE", Short: "Go back to before a message: the conversation, the files, or both",
		Long: `Go back to before a message of the user: its number on the branch, from 1, or its id. The conversation goes on from there as
another branch, nothing is deleted; what the steps since changed in files is taken back. lathe redo brings the files back.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("lathe session show prints the messages", "%s needs a session and a message", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var parent string
			err := p.withHistory(o, args[0], func(h snapshot.History, log *session.Session) error {
				message, before, err := checkpoint.Message(log, args[1])
				if err != nil || onlyConversation {
					parent = before
					return err
				}
				parent = before
				err = p.bringBack(u, func() (*snapshot.Plan, error) { return h.Since(checkpoint.Since(log, message)) })
				if errors.Is(err, snapshot.ErrNothing) && !onlyFiles {
					err = nil
				}
				return err
			})
			if err != nil || onlyFiles || u.dry {
				return err
			}
			return p.rewindConversation(c, o, args[0], parent)
		},
	}
	u.flags(c)
	c.Flags().BoolVar(&onlyFiles, "files", false, "only the files")
	c.Flags().BoolVar(&onlyConversation, "conversation", false, "only the conversation")
	c.MarkFlagsMutuallyExclusive("files", "conversation")
	return c
}

// rewindConversation moves the head of a session.
func (p *program) rewindConversation(c *cobra.Command, o *Options, name, entry string) error {
	s, err := openSessions(o)
	if err != nil {
		return err
	}
	info, err := s.find(name)
	if err != nil {
		return err
	}
	log, err := s.store.Open(c.Context(), info.ID)
	if err != nil {
		return err
	}
	return errors.Join(log.Checkout(entry), log.Close())
}

func sessionDiffCommand(p *program, o *Options) *cobra.Command {
	var theirs, byTurn, byAgent bool
	c := &cobra.Command{
		Use: "diff ID [MESSAGE [MESSAGE]]", Short: "Print what a session changed in files, as a patch",
		ValidArgsFunction: completeIDs(o),
		Args: func(c *cobra.Command, args []string) error {
			return oneID(c, args[:min(len(args), max(1, len(args)-2))])
		},
		Long: `Print the changes of files by the steps of a session and its subagents that were not undone, also those of commands, on the
branch in front. Changes that somebody else made between the steps are not in it; --theirs prints those instead.

With a message (its number among all that were sent, from 1, or its id), print the way from the branch in front to the branch of that message; with two, from the branch of
the first to that of the second. git apply takes it; lathe session switch brings the files of a branch back.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.withHistory(o, args[0], func(h snapshot.History, log *session.Session) error {
				if len(args) > 1 {
					return p.printBetween(h, log, args[1:])
				}
				if byAgent {
					return p.printAgents(h)
				}
				list, err := h.Steps()
				if theirs {
					list, err = h.Theirs()
				}
				if err != nil {
					return err
				}
				if !byTurn {
					return p.printChanges(h.Store, snapshot.Joined(list))
				}
				for _, s := range list {
					fmt.Fprintf(p.out, "# %s %s\n", s.ID, term.EscapeLine(s.Title))
					if err := p.printChanges(h.Store, s.Changes()); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&theirs, "theirs", false, "what somebody else changed between the steps")
	c.Flags().BoolVar(&byTurn, "steps", false, "one patch for each step")
	c.Flags().BoolVar(&byAgent, "agents", false, "one patch for the main agent, and one for each subagent")
	c.MarkFlagsMutuallyExclusive("theirs", "steps", "agents")
	return c
}

// printAgents prints what each agent changed.
func (p *program) printAgents(h snapshot.History) error {
	agents, err := h.Agents()
	if err != nil {
		return err
	}
	for _, a := range agents {
		fmt.Fprintf(p.out, "# %s\n", term.EscapeLine(cmp.Or(a.Agent, "main agent")))
		if err := p.printChanges(h.Store, a.Changes); err != nil {
			return err
		}
	}
	return nil
}

// printBetween prints the way from one branch to another: from the one in front where only one is named.
func (p *program) printBetween(h snapshot.History, log *session.Session, names []string) error {
	changes, err := checkpoint.Between(h, log, names)
	if err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	return p.printChanges(h.Store, changes)
}

func sessionSwitchCommand(p *program, o *Options) *cobra.Command {
	var u undoing
	var onlyFiles, onlyConversation bool
	c := &cobra.Command{
		Use: "switch ID [MESSAGE]", Short: "Go over to another branch: the conversation, the files, or both",
		Long: `Go over to the branch of a message of the user, named by its number among all that were sent, or its id: the conversation goes on after that message's turn. The file
changes of the branch in front are taken back, and those of the other branch are made again. lathe redo takes the files back.

Without a message, bring the files of the branch in front: they are those of another one after the conversation alone went back, as with
--resume-session-at.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usage("lathe session show prints the messages", "%s needs a session, and a message", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return p.withHistory(o, args[0], func(h snapshot.History, log *session.Session) error {
					return p.bringBack(u, func() (*snapshot.Plan, error) { return checkpoint.Astray(h, log) })
				})
			}
			var end string
			err := p.withHistory(o, args[0], func(h snapshot.History, log *session.Session) error {
				message, last, err := checkpoint.MessageAnywhere(log, args[1])
				if end = last; err != nil || onlyConversation {
					return err
				}
				away, back, err := checkpoint.Parted(log, "", message)
				if err == nil {
					err = p.bringBack(u, func() (*snapshot.Plan, error) { return h.Switch(away, back) })
				}
				if errors.Is(err, snapshot.ErrNothing) {
					err = nil
				}
				return err
			})
			if err != nil || onlyFiles || u.dry {
				return err
			}
			return p.rewindConversation(c, o, args[0], end)
		},
	}
	u.flags(c)
	c.Flags().BoolVar(&onlyFiles, "files", false, "only the files")
	c.Flags().BoolVar(&onlyConversation, "conversation", false, "only the conversation")
	c.MarkFlagsMutuallyExclusive("files", "conversation")
	return c
}

func (p *program) printChanges(store *snapshot.Store, list []snapshot.Change) error {
	for _, c := range list {
		if _, err := fmt.Fprint(p.out, term.Escape(store.Diff(c).Text)); err != nil {
			return err
		}
	}
	return nil
}

// kindsOf are the kinds of a snapshot's records, for people.
func kindsOf(n snapshot.Snapshot) string {
	out := ""
	for i, k := range slices.Compact(slices.Clone(n.Kinds)) {
		if i > 0 {
			out += "+"
		}
		out += k
	}
	if n.Undone {
		out += " (undone)"
	}
	return out
}
