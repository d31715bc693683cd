package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

func scheduleCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "schedule", Short: "Prompts that are sent later, and sessions that begin by cron", RunE: needCommand,
		Long: "List and change the schedules of all sessions, and have sessions begin in the background by cron. The " +
			"supervisor starts and wakes them while it runs.",
	}
	c.AddCommand(scheduleListCommand(p), scheduleAddCommand(p, o), scheduleEditCommand(p), scheduleRmCommand(p))
	return c
}

// listedSchedule is a schedule with its place.
type listedSchedule struct {
	schedule.Schedule
	SessionID string `json:"sessionId,omitempty"` // empty: it starts sessions

	store *schedule.Store
}

// allSchedules lists those that start sessions, then those of all sessions. Files that cannot be read are in the error.
func allSchedules() (out []listedSchedule, err error) {
	add := func(store *schedule.Store, session string) {
		all, readErr := store.List()
		err = errors.Join(err, readErr)
		for _, x := range all {
			out = append(out, listedSchedule{x, session, store})
		}
	}
	add(jobPlace().Schedules(), "")
	data := config.ResolvePaths(os.Environ(), "").DataHome
	files, globErr := filepath.Glob(filepath.Join(data, "projects", "*", "*", schedule.FileName))
	for _, f := range files {
		add(schedule.At(f), filepath.Base(filepath.Dir(f)))
	}
	return out, errors.Join(err, globErr)
}

func scheduleListCommand(p *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the schedules of all sessions", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := allSchedules()
			if err != nil {
				fmt.Fprintf(p.err, "%s: warning: %s\n", messagesName, term.EscapeLine(err.Error()))
			}
			if asJSON {
				if all == nil {
					all = []listedSchedule{}
				}
				return writeJSON(p.out, all)
			}
			return p.printSchedules(all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (p *program) printSchedules(all []listedSchedule) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(p.out, `nothing is scheduled; lathe schedule add "30 9 * * 1-5" "..." does`)
		return err
	}
	rows := [][]string{{"ID", "WHEN", "NEXT", "IN", "PROMPT"}}
	for _, x := range all {
		in := "session " + x.SessionID
		if x.Session != nil {
			in = x.Session.CWD
		}
		prompt, _, _ := strings.Cut(x.Prompt, "\n")
		rows = append(rows, []string{x.ID, x.When(), x.Due.Local().Format("2006-01-02 15:04"), in, prompt})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

// addFlags are the flags of lathe schedule add that are not those of the sessions.
type addFlags struct {
	name string
	once bool
	days int
}

func scheduleAddCommand(p *program, o *Options) *cobra.Command {
	var a addFlags
	c := &cobra.Command{
		Use: `add [flags] "cron" "prompt"`, Short: "Begin a session in the background at the times of a cron rule",
		Long: `Begin a session in the background with the prompt, in this folder, at the times of a cron rule: minute, hour, day of
the month, month, weekday, in local time, or @daily and the like. A run is left out while the session of the one before
still works. Flags for the model and permissions are those of the sessions.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(`as in lathe schedule add "30 9 * * 1-5" "look at the failed builds"`,
					"a cron rule and a prompt are needed")
			}
			return p.addSchedule(c, o, a, args[0], strings.Join(args[1:], " "))
		},
	}
	f := c.Flags()
	f.StringVar(&a.name, "name", "", "the sessions' `name`")
	f.BoolVar(&a.once, "once", false, "only the next time")
	f.IntVar(&a.days, "days", 0, "remove it after `n` days; 0: it stays")
	addModelFlags(f, o)
	addPermissionFlags(f, o)
	return c
}

func (p *program) addSchedule(c *cobra.Command, o *Options, a addFlags, rule, prompt string) error {
	dir, err := workingFolder(o)
	if err != nil {
		return err
	}
	if _, err := schedule.Parse(rule); err != nil {
		return usage(`as in "30 9 * * 1-5": half past nine on working days`, "%s", err)
	}
	x := schedule.Schedule{
		Cron: rule, Prompt: prompt, Once: a.once,
		Session: &schedule.Session{Name: a.name, CWD: dir, Args: sessionFlags(c.Flags())},
	}
	if a.days > 0 {
		x.Expires = time.Now().AddDate(0, 0, a.days)
	}
	client, err := door().Supervisor(c.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	asked := supervisor.Scheduled{Schedule: x, Environ: supervisor.Surroundings()}
	if x, err = client.Schedule(c.Context(), asked); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s: next %s\n", x.ID, x.Due.Local().Format("Mon 2006-01-02 15:04"))
	return err
}

// sessionFlags are the flags that were given, for the sessions' own command line.
func sessionFlags(f *pflag.FlagSet) (out []string) {
	f.Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"once", "days", "cwd"}, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out
}

func scheduleEditCommand(p *program) *cobra.Command {
	var rule, prompt string
	c := &cobra.Command{
		Use: "edit ID", Short: "Change the rule or the prompt of a schedule", Args: oneSchedule, ValidArgsFunction: completeSchedules,
		RunE: func(c *cobra.Command, args []string) error {
			if rule == "" && prompt == "" {
				return usage("give --cron or --prompt", "nothing is to be changed")
			}
			return p.changeSchedule(args[0], "changed", func(s *schedule.Store, id string) (schedule.Schedule, error) {
				return s.Edit(id, rule, prompt)
			})
		},
	}
	c.Flags().StringVar(&rule, "cron", "", "the new `rule`")
	c.Flags().StringVar(&prompt, "prompt", "", "the new `text`")
	return c
}

func scheduleRmCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "rm ID", Short: "Remove a schedule", Args: oneSchedule, ValidArgsFunction: completeSchedules,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.changeSchedule(args[0], "removed", (*schedule.Store).Remove)
		},
	}
}

// changeSchedule changes a schedule of any session.
func (p *program) changeSchedule(id, done string, change func(*schedule.Store, string) (schedule.Schedule, error),
) error {
	all, err := allSchedules()
	i := slices.IndexFunc(all, func(x listedSchedule) bool { return x.ID == id })
	if i < 0 {
		return errors.Join(usage("lathe schedule list lists them", "there is no schedule %q", id), err)
	}
	x, err := change(all[i].store, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s: %s\n", x.ID, done)
	return err
}

func oneSchedule(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("lathe schedule list lists them", "%s needs the id of a schedule", c.CommandPath())
	}
	return nil
}

func completeSchedules(_ *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		all, _ := allSchedules()
		for _, x := range all {
			out = append(out, x.ID+"\t"+x.Prompt)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
