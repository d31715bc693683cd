package program

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/fleet"
)

func (p *program) up() *cobra.Command {
	var workers int
	var web string
	c := &cobra.Command{
		Use: "up", Short: "Run the engine on this machine, and workers", Args: cobra.NoArgs,
		Long: `Run the engine on this machine until it is interrupted, and workers beside it. With --listen workers on other
machines can join: they need a key (lathe fleet key NAME) and the file keys/ca.pem of the fleet's folder. A first
interrupt waits for running jobs; a second one leaves them to the next start.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.place(); err != nil {
				return err
			}
			var f *fleet.Fleet
			var err error
			if p.o.URL == "" {
				f, err = fleet.Embed(c.Context(), p.o)
			} else if f, err = fleet.Open(c.Context(), p.o); err == nil {
				err = f.Trust(c.Context(), p.o.Dir)
			}
			if err != nil {
				return err
			}
			defer f.Close()
			if err := f.Mend(c.Context()); err != nil {
				return err
			}
			fmt.Fprintf(p.err, "the fleet is up in %s with %d workers\n", p.o.Dir, workers)
			if web != "" {
				stop, err := p.serveWeb(c.Context(), f, web)
				if err != nil {
					return err
				}
				defer stop()
			}
			if workers == 0 {
				<-c.Context().Done()
				return nil
			}
			w, err := p.newWorker(f, workers)
			if err != nil {
				return err
			}
			return w.Run(c.Context())
		},
	}
	c.Flags().IntVar(&workers, "workers", 2, "how many jobs run here at a time; 0: none")
	c.Flags().StringVar(&p.o.Listen, "listen", "", "an `address` for workers on other machines, as 10.0.0.1:4222; TLS only")
	c.Flags().StringVar(&web, "web", "", "show the fleet to browsers of this machine at an `address`, as 127.0.0.1:8222")
	return c
}

func (p *program) worker() *cobra.Command {
	var slots int
	var grace time.Duration
	c := &cobra.Command{
		Use: "worker", Short: "Work for a fleet, here or on another machine", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p.o.Worker = true
			f, err := p.open(c.Context())
			if err != nil {
				return err
			}
			defer f.Close()
			w, err := p.newWorker(f, slots)
			if err != nil {
				return err
			}
			w.Grace = grace
			return w.Run(c.Context())
		},
	}
	c.Flags().IntVar(&slots, "workers", 1, "how many jobs run at a time")
	c.Flags().DurationVar(&grace, "grace", 0, "give jobs back that are not done so `long` after SIGTERM; else wait for them")
	return c
}

func (p *program) submit() *cobra.Command {
	var workers int
	var table, prompt string
	var wait bool
	c := &cobra.Command{
		Use: "submit FILE.jsonl", Short: "Queue jobs: a JSON object each line", Args: cobra.MaximumNArgs(1),
		Long: `Queue jobs, a JSON object each line, with the keys prompt, prompt_file, repo, rev, model, mode, sandbox, check,
attempts, priority, after, tries, timeout, budget_usd, not_before, schedule, id and name. The file - is stdin. With
--csv each row of a table makes a job of the one template line: {{.column}}. With --workers the jobs also run here, and
the command ends when they are over.`,
		RunE: func(c *cobra.Command, args []string) error {
			jobs, err := readJobs(c.InOrStdin(), args, table, prompt)
			if err != nil {
				return usageError{err}
			}
			return p.submitJobs(c.Context(), jobs, workers, wait)
		},
	}
	c.Flags().IntVar(&workers, "workers", 0, "run the jobs here, so many at a time, and wait for them")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the jobs are over")
	c.Flags().StringVar(&table, "csv", "", "make a job of each row of this `file`")
	c.Flags().StringVarP(&prompt, "prompt", "p", "", "one job with this `prompt`, or with --csv a template")
	return c
}

// readJobs reads jobs from a file, a prompt, or a template over a table.
func readJobs(stdin io.Reader, args []string, table, prompt string) ([]fleet.Job, error) {
	if table == "" && prompt != "" && len(args) == 0 {
		return []fleet.Job{{Prompt: prompt}}, nil
	}
	if len(args) == 0 && prompt == "" {
		return nil, errors.New("name a file of jobs, or - for stdin")
	}
	var text []byte
	var err error
	dir := "."
	switch {
	case len(args) == 0:
	case args[0] == "-":
		text, err = io.ReadAll(stdin)
	default:
		dir = filepath.Dir(args[0])
		text, err = os.ReadFile(args[0])
	}
	if err != nil {
		return nil, err
	}
	if table != "" {
		return fromTable(table, string(text), prompt)
	}
	return fleet.ReadJobs(strings.NewReader(string(text)), dir)
}

// fromTable makes a job of each row. Every string of the template's job is a template itself.
func fromTable(path, line, prompt string) ([]fleet.Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		return nil, errors.Join(fmt.Errorf("%s has no rows below its head", path), err)
	}
	job := fleet.Job{Prompt: prompt}
	if prompt == "" {
		jobs, err := fleet.ReadJobs(strings.NewReader(line), ".")
		if err != nil || len(jobs) != 1 {
			return nil, errors.Join(errors.New("with --csv the file has one line, the template"), err)
		}
		job = jobs[0]
	}
	var out []fleet.Job
	for _, row := range rows[1:] {
		values := map[string]string{}
		for i, name := range rows[0] {
			values[name] = row[i]
		}
		j := job
		for _, field := range []*string{&j.ID, &j.Name, &j.Repo, &j.Rev, &j.Prompt, &j.Model, &j.Check} {
			if *field, err = fill(*field, values); err != nil {
				return nil, err
			}
		}
		out = append(out, j)
	}
	return out, nil
}

func fill(text string, values map[string]string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, values)
	return b.String(), err
}

func (p *program) submitJobs(ctx context.Context, jobs []fleet.Job, workers int, wait bool) error {
	f, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range jobs {
		if err := jobs[i].Absolute(); err != nil {
			return err
		}
	}
	ids, err := f.Submit(ctx, jobs)
	if err != nil {
		return err
	}
	if workers == 0 && !wait {
		for _, id := range ids {
			fmt.Fprintln(p.out, id)
		}
		return nil
	}
	worked := make(chan error, 1)
	working, end := context.WithCancel(ctx)
	defer end()
	if workers == 0 {
		worked <- nil
	} else {
		w, err := p.newWorker(f, workers)
		if err != nil {
			return err
		}
		go func() { worked <- w.Run(working) }()
	}
	err = f.Await(ctx, ids)
	end()
	if err := errors.Join(err, <-worked); err != nil {
		return err
	}
	return p.table(context.WithoutCancel(ctx), f, ids)
}
