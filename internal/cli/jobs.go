package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// toBackground is lathe --bg: it starts the session in the background and prints its id.
func (p *program) toBackground(ctx context.Context, o *Options, words []string) error {
	dir, err := workingFolder(o)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(strings.Join(words, " "))
	if text == "" {
		return usage(`say what to do: lathe --bg "fix the failing test"`, "--bg needs a prompt")
	}
	j, err := door().Start(ctx, supervisor.Start{
		Name: o.Name, Kind: "background", CWD: dir, Args: backgroundArgs(p.args, words), Prompt: text,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, j.ID)
	if p.eTTY {
		fmt.Fprintf(p.err, "%s: it works in the background; look at it with: lathe attach %s\n", messagesName, j.ID)
	}
	return nil
}

// backgroundArgs are the flags of a command line, without --bg and the words of the prompt.
func backgroundArgs(args, words []string) (out []string) {
	rest := words
	for i, a := range args {
		switch {
		case a == "--bg" || a == "--bg=true":
		case a == "--":
			return out
		case len(rest) > 0 && a == rest[0] && !strings.HasPrefix(a, "-"):
			rest = rest[1:]
		default:
			out = append(out, args[i])
		}
	}
	return out
}

func psCommand(p *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "ps", Short: "List the sessions in the background", Args: noArgs,
		Long: "List the sessions that have, had or will have a process of their own, the newest first.",
		RunE: func(*cobra.Command, []string) error {
			jobs, err := jobPlace().List()
			if err != nil {
				fmt.Fprintf(p.err, "%s: warning: %s\n", messagesName, term.EscapeLine(err.Error()))
			}
			if asJSON {
				if jobs == nil {
					jobs = []supervisor.Job{}
				}
				return writeJSON(p.out, jobs)
			}
			return p.printJobs(jobs)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (p *program) printJobs(jobs []supervisor.Job) error {
	if len(jobs) == 0 {
		_, err := fmt.Fprintln(p.out, `no sessions in the background; start one with: lathe --bg "..."`)
		return err
	}
	rows := [][]string{{"ID", "STATE", "FOR", "NAME", "FOLDER", "ACTIVITY"}}
	for _, j := range jobs {
		state := string(j.State)
		if j.WaitingFor != "" {
			state += " (" + j.WaitingFor + ")"
		}
		rows = append(rows, []string{j.ID, state, age(time.Since(j.Changed)), j.Name, j.CWD, j.Activity})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

// age is a short duration for people.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// oneJob takes the word that names a job.
func oneJob(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("lathe ps lists them", "%s needs one session: its id, or a part of its name", c.CommandPath())
	}
	return nil
}

// jobCommand acts on a job by way of the supervisor.
func jobCommand(use, short, done string, act func(context.Context, *supervisor.Client, supervisor.Job) error,
	p *program,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " ID", Short: short, Args: oneJob, ValidArgsFunction: completeJobs,
		RunE: func(c *cobra.Command, args []string) error {
			j, err := jobPlace().Find(args[0])
			if err != nil {
				return usage("lathe ps lists them", "%s", err)
			}
			client, err := door().Supervisor(c.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			if err := act(c.Context(), client, j); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "%s: %s\n", j.ID, done)
			return err
		},
	}
}

func completeJobs(_ *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	jobs, _ := jobPlace().List()
	for _, j := range jobs {
		out = append(out, j.ID+"\t"+j.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func stopCommand(p *program) *cobra.Command {
	return jobCommand("stop", "End the process of a session in the background", "stopped",
		func(ctx context.Context, c *supervisor.Client, j supervisor.Job) error {
			_, err := c.Stop(ctx, j.ID)
			return err
		}, p)
}

func respawnCommand(p *program) *cobra.Command {
	return jobCommand("respawn", "Start the process of a session afresh, where it was", "started again",
		func(ctx context.Context, c *supervisor.Client, j supervisor.Job) error {
			_, err := c.Respawn(ctx, supervisor.Named{ID: j.ID, Environ: supervisor.Surroundings()})
			return err
		}, p)
}

func rmCommand(p *program) *cobra.Command {
	return jobCommand("rm", "End a session in the background and take it off the list", "removed; its session is kept",
		func(ctx context.Context, c *supervisor.Client, j supervisor.Job) error { return c.Remove(ctx, j.ID) }, p)
}

func logsCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "logs ID", Short: "Print the conversation of a session in the background", Args: oneJob,
		ValidArgsFunction: completeJobs,
		RunE: func(_ *cobra.Command, args []string) error {
			j, err := jobPlace().Find(args[0])
			if err != nil {
				return usage("lathe ps lists them", "%s", err)
			}
			if j.SessionID == "" {
				log, err := os.Open(jobPlace().LogFile(j.ID))
				if err != nil {
					return err
				}
				defer log.Close()
				_, err = io.Copy(p.out, log)
				return err
			}
			o.Dir = j.CWD
			return p.withSession(o, j.SessionID, func(s *session.Session) error { return showText(p.out, s) })
		},
	}
}

func portCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use: "port", Short: "The protocol between a session and what shows it", RunE: needCommand,
		Long: "Terminals, editors, browsers and scripts speak the port with a session process: JSON-RPC 2.0, one object a " +
			"line, over a Unix socket.",
	}
	c.AddCommand(&cobra.Command{
		Use: "schema", Short: "Print the protocol as JSON Schema", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := port.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "%s\n", schema)
			return err
		},
	})
	return c
}

func daemonCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use: "daemon", Short: "The supervisor of the sessions in the background", RunE: needCommand,
		Long: "The supervisor starts the processes of sessions in the background, and starts those again that crashed. It " +
			"runs while it is needed.",
	}
	c.AddCommand(&cobra.Command{
		Use: "status", Short: "Say whether the supervisor runs, and what it keeps", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.daemonStatus(c.Context()) },
	}, &cobra.Command{
		Use: "stop", Short: "End all session processes, after their step, and the supervisor", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := jobPlace().Dial(c.Context())
			if errors.Is(err, supervisor.ErrNone) && anyLive() { // it knows how to end them
				client, err = door().Supervisor(c.Context())
			}
			if err == nil {
				defer client.Close()
				err = client.Shutdown(c.Context())
			}
			if errors.Is(err, supervisor.ErrNone) {
				_, err = fmt.Fprintln(p.out, "no supervisor runs")
				return err
			}
			if err == nil {
				_, err = fmt.Fprintln(p.out, "stopped")
			}
			return err
		},
	}, daemonRunCommand())
	return c
}

// daemonRunCommand is the supervisor.
func daemonRunCommand() *cobra.Command {
	var apart bool
	c := &cobra.Command{
		Use: "run", Short: "Be the supervisor", Hidden: true, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if apart {
				return supervisor.SpawnApart(os.Stderr)
			}
			signal.Ignore(syscall.SIGHUP)
			version, _ := currentVersion()
			s := &supervisor.Supervisor{
				Place: jobPlace(), Lathe: version, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			}
			return s.Run(c.Context())
		},
	}
	c.Flags().BoolVar(&apart, "apart", false, "start the supervisor, and end")
	return c
}

// anyLive reports whether a session has a process.
func anyLive() bool {
	jobs, _ := jobPlace().List() // those that can be read
	return slices.ContainsFunc(jobs, supervisor.Job.Live)
}

func (p *program) daemonStatus(ctx context.Context) error {
	client, err := jobPlace().Dial(ctx)
	if errors.Is(err, supervisor.ErrNone) {
		_, err = fmt.Fprintln(p.out, "no supervisor runs; it starts when it is needed")
		return err
	}
	if err != nil {
		return err
	}
	defer client.Close()
	now, err := client.Jobs(ctx)
	if err != nil {
		return err
	}
	live := 0
	for _, j := range now.Jobs {
		if j.Live() {
			live++
		}
	}
	_, err = fmt.Fprintf(p.out, "the supervisor runs (process %d): %s, %d with a process\nsockets: %s\n", now.PID,
		plural(len(now.Jobs), "session"), live, jobPlace().Sockets)
	return err
}

// attachFace is the terminal as a face of a session process.
func attachFace() port.Face { return port.Face{Kind: "terminal", Name: "lathe"} }

// door is how this program gets to the sessions of the user.
func door() supervisor.Door { return supervisor.Door{Place: jobPlace(), Face: attachFace()} }
