package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// sessionCommand has the subcommands for stored sessions. None but diff, rewind and switch read settings: sessions can
// be shown, saved and removed also when those are broken.
func sessionCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "List, search, show, replay, cost, compare, rewind, switch, verify, export, redact and remove " +
			"sessions", RunE: needCommand,
		Long: `Every conversation is kept as a session until it is removed. An ID is the session's id, the beginning of it that no
other session has, or its title: the same that --resume takes.`,
	}
	c.AddCommand(sessionListCommand(p, o), sessionShowCommand(p, o), sessionReplayCommand(p, o),
		sessionVerifyCommand(p, o), sessionExportCommand(p, o),
		sessionRemoveCommand(p, o), sessionPathCommand(p, o), sessionCostCommand(p, o), sessionRewindCommand(p, o),
		sessionSwitchCommand(p, o), sessionDiffCommand(p, o), sessionRedactCommand(p, o), sessionGrepCommand(p, o))
	return c
}

// sessions is the store, seen from the folder of the command.
type sessions struct {
	store *session.Store
	dir   string // absolute
}

func openSessions(o *Options) (sessions, error) {
	dir, err := workingFolder(o)
	if err != nil {
		return sessions{}, err
	}
	paths := config.ResolvePaths(os.Environ(), "")
	if paths.DataHome == "" {
		return sessions{}, usage("set HOME or XDG_DATA_HOME", "there is no home folder, so no place for sessions")
	}
	return sessions{session.NewStore(paths.DataHome), dir}, nil
}

// find resolves the user's name for a session.
func (s sessions) find(name string) (session.Info, error) {
	info, err := s.store.Find(s.dir, name)
	if err != nil {
		return info, &Error{Code: exitUsage, Err: err}
	}
	return info, nil
}

// oneID is the argument check of commands about one session.
func oneID(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("lathe session list shows them", "%s needs one session id", c.CommandPath())
	}
	return nil
}

func someIDs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("lathe session list shows them", "%s needs the ids of sessions", c.CommandPath())
	}
	return nil
}

// completeIDs offers the sessions of the folder to the shell.
func completeIDs(o *Options) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		s, err := openSessions(o)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []string
		for info, err := range s.store.List(s.dir) {
			if err == nil && strings.HasPrefix(info.ID, strings.ToLower(begun)) {
				out = append(out, info.ID+"\t"+term.Truncate(term.EscapeLine(sessionTitle(info)), 60, "…"))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sessionTitle is a session's title, unescaped.
func sessionTitle(i session.Info) string { return cmp.Or(i.Title, i.FirstPrompt, "(empty)") }

func sessionPathCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "path ID", Short: "Print the folder of a session", Args: oneID, ValidArgsFunction: completeIDs(o),
		Long:    "Print the folder of a session: its log, and the blobs of long results.",
		Example: `  less "$(lathe session path 0190)"/log.jsonl`,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			info, err := s.find(args[0])
			if err != nil {
				return err
			}
			path := filepath.Dir(info.Path)
			if p.outTTY {
				path = term.EscapeLine(path)
			}
			_, err = fmt.Fprintln(p.out, path)
			return err
		},
	}
}

func sessionRemoveCommand(p *program, o *Options) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "rm ID...", Short: "Remove sessions", Args: someIDs, ValidArgsFunction: completeIDs(o),
		Long: `Remove sessions with all that belongs to them. Asks first on a terminal, and refuses elsewhere unless --yes is given.
A session that is open in another process is not removed. An ID is an id or at least 8 characters of its beginning.`,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			found, err := s.toRemove(args)
			if err != nil {
				return err
			}
			if !yes {
				if err := p.confirmRemoval(c.Context(), found); err != nil {
					return err
				}
			}
			return p.remove(s, found)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// minPrefix is the shortest beginning of an id that a list shows and that rm takes: a title or a single
// letter is too easily the wrong one.
const minPrefix = 8

// toRemove resolves all names before anything is removed.
func (s sessions) toRemove(names []string) ([]session.Info, error) {
	var out []session.Info
	seen := map[string]bool{}
	for _, name := range names {
		begun := strings.ToLower(strings.TrimSpace(name))
		if len(begun) < minPrefix {
			return nil, usage("lathe session list shows ids", "rm takes at least %d characters of an id, and %q has %d",
				minPrefix, name, len(begun))
		}
		info, err := s.find(name)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(info.ID, begun) {
			return nil, usage("give "+info.ID, "rm takes ids, and %q is a title", name)
		}
		if !seen[info.ID] {
			seen[info.ID] = true
			out = append(out, info)
		}
	}
	return out, nil
}

// confirmRemoval lists the sessions to remove and asks.
func (p *program) confirmRemoval(ctx context.Context, found []session.Info) error {
	if !p.asks() {
		return usage("add --yes", "rm does not remove sessions without asking, and there is no terminal to ask on")
	}
	var rows [][]string
	for _, i := range found {
		rows = append(rows, []string{"  " + i.ID, relative(i.Modified, p.now()), sessionTitle(i)})
	}
	fmt.Fprint(p.err, columns(rows, p.width()))
	if !p.confirm(ctx, "Remove "+plural(len(found), "session")+" for good?") {
		return &Error{Code: exitFailed, Msg: "nothing was removed"}
	}
	return nil
}

// remove continues after a failure: sessions are independent.
func (p *program) remove(s sessions, found []session.Info) error {
	var failed error
	for _, i := range found {
		if err := s.store.Remove(i.ID); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if _, err := fmt.Fprintf(p.out, "removed %s\n", i.ID); err != nil {
			return err
		}
	}
	return failed
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// relative is a time as people say it.
func relative(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "-"
	case d < -time.Minute: // a clock was wrong
		return t.Local().Format("2006-01-02 15:04")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 14*24*time.Hour:
		return plural(int(d.Hours())/24, "day") + " ago"
	}
	return t.Local().Format("2006-01-02")
}
