package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/fleet"
	"github.com/lathe-dev/lathe/internal/fleet/bench"
)

func (p *program) bench() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure agents on tasks"}
	c.AddCommand(p.benchRun(), p.benchTasks())
	return c
}

func (p *program) benchTasks() *cobra.Command {
	return &cobra.Command{
		Use: "tasks SUITE", Short: "List the tasks of a suite", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			tasks, err := bench.Load(args[0])
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			for _, t := range tasks {
				fmt.Fprintf(w, "%s\t%s\t%s\t%v\n", t.Name, t.Format, t.Category, t.Keywords)
			}
			return w.Flush()
		},
	}
}

func (p *program) benchRun() *cobra.Command {
	var plan bench.Plan
	var workers int
	var asJSON bool
	c := &cobra.Command{
		Use: "run SUITE", Short: "Run agents on the tasks of a suite", Args: cobra.ExactArgs(1),
		Long: `Run agents on the tasks of a suite: a folder of tasks in Harbor's format or in that of Terminal-Bench 1, one task, or
a file of SWE-bench rows. The agents are lathe, oracle (the tasks' own solutions), nop, or a command, which finds the
instruction in LATHE_BENCH_INSTRUCTION. The same command goes on where it stopped, and tries errors again.`,
		RunE: func(c *cobra.Command, args []string) error {
			plan.Suite = args[0]
			return p.runBench(c.Context(), &plan, workers, asJSON)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&plan.Agents, "agent", []string{"lathe"}, "an `agent`: lathe, oracle, nop, or a command; may be repeated")
	f.StringSliceVar(&plan.Models, "model", nil, "the `models`, a list")
	f.IntVarP(&plan.K, "attempts", "k", 1, "attempts at each task")
	f.StringVar(&plan.Runner, "runner", "", "folder, docker or podman; else folder, or for rows of SWE-bench a container")
	f.StringSliceVar(&plan.Only, "task", nil, "only these `tasks`, by name or pattern")
	f.StringVarP(&plan.Out, "out", "o", "", "the `folder` of the results; else jobs/SUITE")
	f.IntVar(&workers, "workers", 2, "trials at a time on this machine; 0: leave them to the fleet's workers")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func (p *program) runBench(ctx context.Context, plan *bench.Plan, workers int, asJSON bool) error {
	tasks, err := bench.Load(plan.Suite)
	if err != nil {
		return err
	}
	if len(plan.Only) > 0 {
		tasks = slices.DeleteFunc(tasks, func(t bench.Task) bool {
			return !slices.ContainsFunc(plan.Only, func(p string) bool { ok, _ := filepath.Match(p, t.Name); return ok })
		})
	}
	if plan.Runner == "" {
		plan.Runner = defaultRunner(tasks)
	}
	if !slices.Contains([]string{"folder", "docker", "podman"}, plan.Runner) {
		return usageError{fmt.Errorf("--runner: %q is not folder, docker or podman", plan.Runner)}
	}
	if plan.Out == "" {
		plan.Out = filepath.Join("jobs", filepath.Base(plan.Suite))
	}
	jobs, skipped, err := plan.Jobs(tasks)
	if err != nil {
		return err
	}
	for _, s := range skipped {
		fmt.Fprintln(p.err, "skipped:", s)
	}
	if len(jobs) == 0 {
		return errors.New("no task can be run here")
	}
	f, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
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
	rep, err := plan.Run(ctx, f, jobs, skipped)
	end()
	if err := errors.Join(err, <-worked); err != nil {
		return err
	}
	if asJSON {
		return p.json(rep)
	}
	return p.printReport(rep, plan.Out)
}

// defaultRunner is a container for tasks that exist only there.
func defaultRunner(tasks []bench.Task) string {
	if !slices.ContainsFunc(tasks, func(t bench.Task) bool { return t.Format == bench.SWEBench }) {
		return "folder"
	}
	if _, err := exec.LookPath("podman"); err == nil {
		return "podman"
	}
	return "docker"
}

func (p *program) printReport(rep *bench.Report, out string) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tAGENT\tMODEL\tN\tREWARD\tCOST\tSTEPS\tSECONDS\tERROR")
	for _, s := range rep.Trials {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%g\t$%.4f\t%d\t%.1f\t%s\n", s.Task, oneLine(s.Agent), s.Model, s.N, s.Reward, s.CostUSD,
			s.Steps, s.Seconds, oneLine(s.Error))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range rep.Settings {
		fmt.Fprintf(p.out, "%s %s: reward %.1f %% (%.1f to %.1f), %d trials, %d errors, $%.4f\n", oneLine(s.Agent), s.Model,
			100*s.Reward.Value, 100*s.Reward.Low, 100*s.Reward.High, s.Trials, s.Errors, s.Total)
		for _, k := range slices.Sorted(maps.Keys(s.Pass)) {
			i := s.Pass[k]
			fmt.Fprintf(p.out, "  pass@%d %.1f %% (%.1f to %.1f)\n", k, 100*i.Value, 100*i.Low, 100*i.High)
		}
	}
	for _, c := range rep.Comparison {
		fmt.Fprintf(p.out, "%s %s against the first: %+.1f (%+.1f to %+.1f), better on %d and worse on %d of %d tasks\n",
			oneLine(c.Agent), c.Model, 100*c.Reward.Value, 100*c.Reward.Low, 100*c.Reward.High, c.Better, c.Worse, c.Tasks)
	}
	_, err := fmt.Fprintf(p.out, "the report is %s\n", filepath.Join(out, "report.html"))
	for _, s := range rep.Settings {
		if s.Errors > 0 {
			return errors.Join(err, errJobs)
		}
	}
	return err
}

// trials adds the work of benchmarks to a worker.
func (p *program) trials(w *fleet.Worker, s *fleet.Sessions) {
	r := &bench.Runner{Sessions: s, Cache: filepath.Join(p.work, "cache")}
	w.Kinds[bench.Kind] = r.Work
}
