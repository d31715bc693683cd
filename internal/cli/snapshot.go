package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

func snapshotCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "snapshot", Short: "List, show, restore, prune and verify the states of files kept for undo", RunE: needCommand,
		Long: `Before and after each step that may change files, lathe keeps their contents for the project of this folder, also of what
commands change. docs/undo.md says which files are covered.`,
	}
	c.AddCommand(
		p.snapshotList(o), p.snapshotShow(o), p.snapshotDiff(o), p.snapshotRestore(o), p.snapshotPrune(o),
		p.snapshotVerify(o), p.snapshotCoverage(o),
	)
	return c
}

// withStore runs f with the project's store.
func (p *program) withStore(o *Options, f func(*snapshot.Store) error) (err error) {
	store, _, err := p.snapshots(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return f(store)
}

func (p *program) snapshotList(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the snapshots of this project, the oldest first", Args: noArgs,
		Long: `List the changes of files: by steps of sessions, by somebody else between them ("foreign"), by undo and redo. Columns: id, time,
kind, files, session, title.`,
		RunE: func(*cobra.Command, []string) error {
			return p.withStore(o, func(s *snapshot.Store) error {
				list, err := s.List()
				if err != nil {
					return err
				}
				for _, n := range list {
					_, err := fmt.Fprintf(p.out, "%s  %s  %-12s %4d files  %.13s  %s\n", n.ID,
						snapshot.TimeOf(n.ID).Local().Format("2006-01-02 15:04:05"),
						kindsOf(n), len(n.Changes()), n.Session, term.Truncate(term.EscapeLine(n.Title), 80, "…"))
					if err != nil {
						return err
					}
				}
				return s.Damage()
			})
		},
	}
}

// one runs f with one snapshot, named by its id or the beginning of it.
func (p *program) one(o *Options, name string, f func(*snapshot.Store, snapshot.Snapshot) error) error {
	return p.withStore(o, func(s *snapshot.Store) error {
		n, err := s.Find(name)
		if err != nil {
			return &Error{Code: exitUsage, Err: err}
		}
		return f(s, n)
	})
}

func snapshotID(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("lathe snapshot list shows them", "%s needs one snapshot", c.CommandPath())
	}
	return nil
}

func (p *program) snapshotShow(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "List the files that a snapshot's step changed", Args: snapshotID,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.one(o, args[0], func(s *snapshot.Store, n snapshot.Snapshot) error {
				fmt.Fprintf(p.out, "%s %s\nsession %s, message %s, call %s\n%s\n\n", n.ID, kindsOf(n), n.Session, n.Message,
					n.Call, term.EscapeLine(n.Title))
				for _, c := range n.Changes() {
					d := s.Diff(c)
					if _, err := fmt.Fprintf(p.out, "+%d -%d  %s\n", d.Added, d.Removed, term.EscapeLine(d.Path)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (p *program) snapshotDiff(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "diff ID", Short: "Print what a snapshot's step changed, as a patch", Args: snapshotID,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.one(o, args[0], func(s *snapshot.Store,
				n snapshot.Snapshot,
			) error {
				return p.printChanges(s, n.Changes())
			})
		},
	}
}

func (p *program) snapshotRestore(o *Options) *cobra.Command {
	var u undoing
	c := &cobra.Command{
		Use: "restore ID [PATH...]", Short: "Bring files back to the state before a snapshot's step",
		Long: `Restore files to their state before a snapshot's step, also those that you or another program changed since. With paths,
restore only these. The present state is saved as a snapshot first.`,
		Args: func(c *cobra.Command, args []string) error {
			return snapshotID(c, args[:min(len(args), 1)])
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return p.one(o, args[0], func(s *snapshot.Store, n snapshot.Snapshot) error {
				return p.bringBack(u, func() (*snapshot.Plan, error) { return s.Restore(n, args[1:]) })
			})
		},
	}
	u.flags(c)
	return c
}

func (p *program) snapshotPrune(o *Options) *cobra.Command {
	var megabytes int
	c := &cobra.Command{
		Use: "prune", Short: "Let the oldest snapshots go until the store is below its limit", Args: noArgs,
		Long: `Let the oldest snapshots of this project go until the store takes less than the limit of the settings
(snapshots.maxMB), or of --max-mb. Damage that lathe snapshot verify reports goes too, with the snapshots before it, which cannot be trusted.`,
		RunE: func(*cobra.Command, []string) error {
			return p.withStore(o, func(s *snapshot.Store) error {
				done, err := s.Prune(int64(megabytes) << 20)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.out, "%d records let go, %d bytes freed, %d bytes kept\n", done.Records, done.Freed,
					done.Size)
				return err
			})
		},
	}
	c.Flags().IntVar(&megabytes, "max-mb", 0, "the limit in megabytes (default: that of the settings)")
	return c
}

func (p *program) snapshotVerify(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check every stored content against its checksum", Args: noArgs,
		Long: `Read all that is kept for this project, and check it. Nothing is changed. The exit code is 1 when something is damaged
or missing: each line says which file and byte, what is lost, and what to do.`,
		RunE: func(*cobra.Command, []string) error {
			return p.withStore(o, func(s *snapshot.Store) error {
				r, err := s.Verify()
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "%d contents, %d records, %d bytes\n", r.Contents, r.Records, r.Size)
				if len(r.Problems) > 0 {
					return &Error{Code: exitFailed, Msg: strings.Join(r.Problems, "\n")}
				}
				return nil
			})
		},
	}
}

func (p *program) snapshotCoverage(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "coverage [PATH...]", Short: "Print which files undo would bring back after a command",
		Long: `Print how many files below the paths (default: the project's folder) undo would bring back after a command that changes or
removes them, and which it would not, with their sizes and the reason. Nothing is changed or copied.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.withStore(o, func(s *snapshot.Store) error {
				paths, err := resolved(args)
				if err != nil {
					return &Error{Code: exitUsage, Err: err}
				}
				c := s.Coverage(context.Background(), paths)
				fmt.Fprintln(p.out, snapshot.Coverage{Files: c.Files, More: c.More}.String())
				for _, n := range c.Not {
					if _, err := fmt.Fprintln(p.out, "not: "+term.EscapeLine(n.String())); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// resolved are paths made absolute, without links; nil for none.
func resolved(paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, abs)
	}
	return out, nil
}
