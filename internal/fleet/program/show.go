package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/fleet"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func (p *program) list() *cobra.Command {
	var asJSON bool
	var states []string
	c := &cobra.Command{
		Use: "list", Short: "List jobs", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				all, err := f.List(c.Context())
				if err != nil {
					return err
				}
				if len(states) > 0 {
					all = slices.DeleteFunc(all, func(r fleet.Record) bool { return !slices.Contains(states, string(r.State)) })
				}
				slices.SortStableFunc(all, func(a, b fleet.Record) int { return a.Created.Compare(b.Created) })
				if asJSON {
					return p.lines(all)
				}
				return printRecords(p.out, all)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object each line")
	c.Flags().StringSliceVar(&states, "state", nil, "only jobs in these `states`")
	return c
}

// with opens the fleet for a function.
func (p *program) with(ctx context.Context, do func(*fleet.Fleet) error) error {
	f, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

func (p *program) lines(all []fleet.Record) error {
	e := json.NewEncoder(p.out)
	for _, r := range all {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func printRecords(out io.Writer, all []fleet.Record) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tSTATE\tTRY\tTIME\tCOST\tWORKER\tNAME")
	for _, r := range all {
		name := r.Name
		if r.Reason != "" {
			name += ": " + r.Reason
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t$%.4f\t%s\t%s\n", r.ID, r.State, r.Tries, took(r), r.CostUSD, cmp.Or(r.Host, "-"),
			oneLine(name))
	}
	return w.Flush()
}

func oneLine(s string) string { return term.Escape(strings.Join(strings.Fields(s), " ")) }

func took(r fleet.Record) string {
	switch {
	case r.Started.IsZero():
		return "-"
	case r.Ended.IsZero():
		return time.Since(r.Started).Round(time.Second).String()
	}
	return r.Ended.Sub(r.Started).Round(100 * time.Millisecond).String()
}

// table prints jobs and their sum, and fails if one is not done.
func (p *program) table(ctx context.Context, f *fleet.Fleet, ids []string) error {
	var all []fleet.Record
	bad, cost := 0, 0.0
	for _, id := range ids {
		r, err := f.Record(ctx, id)
		if err != nil {
			return err
		}
		if all = append(all, r); r.State != fleet.Done {
			bad++
		}
		cost += r.CostUSD
	}
	if err := printRecords(p.out, all); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%d of %d jobs are done, $%.4f\n", len(all)-bad, len(all), cost)
	if bad > 0 {
		return errJobs
	}
	return nil
}

func (p *program) show() *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show a job, its record and its result as JSON", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				var all struct {
					Job    fleet.Job     `json:"job"`
					Record *fleet.Record `json:"record,omitempty"`
					Result *fleet.Result `json:"result,omitempty"`
				}
				var err error
				if all.Job, err = f.Spec(c.Context(), args[0]); err != nil {
					return err
				}
				if r, err := f.Record(c.Context(), args[0]); err == nil {
					all.Record = &r
				}
				r, err := f.Result(c.Context(), args[0])
				if err == nil {
					all.Result = &r
				} else if !errors.Is(err, fleet.ErrNot) {
					return err
				}
				return p.json(all)
			})
		},
	}
}

func (p *program) json(v any) error {
	e := json.NewEncoder(p.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (p *program) logs() *cobra.Command {
	var follow, transcript bool
	c := &cobra.Command{
		Use: "logs JOB", Short: "Print the events of a job, a JSON object each line", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				if follow {
					return p.follow(c.Context(), f, args[0])
				}
				r, err := f.Result(c.Context(), args[0])
				if errors.Is(err, fleet.ErrNot) {
					return fmt.Errorf("the job %s has no result yet; --follow prints what happens from now on", args[0])
				}
				if err != nil {
					return err
				}
				blob := r.Log
				if transcript {
					blob = r.Transcript
				}
				b, err := f.Blob(c.Context(), blob)
				if err != nil {
					return err
				}
				_, err = p.out.Write(b)
				return err
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print the events of a running job as they come")
	c.Flags().BoolVar(&transcript, "transcript", false, "print the log of the session itself")
	return c
}

// follow prints events until the job is over.
func (p *program) follow(ctx context.Context, f *fleet.Fleet, id string) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		defer end()
		_ = f.Await(ctx, []string{id}) // the end is the same
	}()
	return f.Follow(ctx, id, func(line []byte) { fmt.Fprintf(p.out, "%s\n", line) })
}

// each is a command that does one thing to jobs.
func (p *program) each(use, short string, do func(context.Context, *fleet.Fleet, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				var errs []error
				for _, id := range args {
					errs = append(errs, do(c.Context(), f, id))
				}
				return errors.Join(errs...)
			})
		},
	}
}

func (p *program) cancel() *cobra.Command {
	return p.each("cancel JOB...", "End jobs, or schedules", func(ctx context.Context, f *fleet.Fleet, id string) error {
		if j, err := f.Spec(ctx, id); err == nil && j.Schedule != "" {
			return f.Unschedule(ctx, id)
		}
		return f.Cancel(ctx, id, "by its user")
	})
}

func (p *program) retry() *cobra.Command {
	return p.each("retry JOB...", "Queue jobs again that failed, were cancelled or are parked",
		func(ctx context.Context, f *fleet.Fleet, id string) error { return f.Retry(ctx, id) })
}

func (p *program) drain() *cobra.Command {
	var off bool
	c := &cobra.Command{
		Use: "drain", Short: "Begin no more jobs in the whole fleet; running ones go on", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				if off {
					return f.Undrain(c.Context())
				}
				return f.Drain(c.Context())
			})
		},
	}
	c.Flags().BoolVar(&off, "off", false, "begin jobs again")
	return c
}

func (p *program) limits() *cobra.Command {
	var budget float64
	var rates map[string]int
	c := &cobra.Command{
		Use: "limits", Short: "Show or change what all workers together may spend", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				l, err := f.Limits(c.Context())
				if err != nil {
					return err
				}
				set := c.Flags().Changed
				if set("budget-usd") {
					l.BudgetUSD = budget
				}
				if set("per-minute") {
					l.PerMinute = rates
				}
				if set("budget-usd") || set("per-minute") {
					if err := f.SetLimits(c.Context(), l); err != nil {
						return err
					}
				}
				return p.json(l)
			})
		},
	}
	c.Flags().Float64Var(&budget, "budget-usd", 0, "stop when `usd` dollars are spent; 0: no limit")
	c.Flags().StringToIntVar(&rates, "per-minute", nil, `requests a minute by model, as "claude-sonnet-4-5=50,*=20"`)
	return c
}

func (p *program) key() *cobra.Command {
	return &cobra.Command{
		Use: "key NAME", Short: "Make the key of a worker on another machine", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := p.place(); err != nil {
				return err
			}
			path, err := fleet.AddWorker(p.o.Dir, args[0])
			if err == nil {
				_, err = fmt.Fprintf(p.out, "%s\nthe fleet knows it from the next lathe fleet up on\n", path)
			}
			return err
		},
	}
}
