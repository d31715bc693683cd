// Command bench measures coding agents against the scripted model server of lathe (docs/wire-server.md):
//
//	go run ./tools/bench -n 5 hello steps terminal
//	go run ./tools/bench -steps 5000 -n 1 steps
//	go run ./tools/bench -program 'lathe=bin/lathe -p {prompt}' -program 'other=other --print {prompt}' hello
//
// The measurements are
//
//	hello     one prompt, one answer: the time to the first request, CPU, memory, the size of the request
//	steps     a session of -steps tool calls: the gaps between steps, CPU, memory, sizes and the price
//	once      the same, but no file is read again
//	terminal  the interactive program in a pseudo-terminal: its start, the echo of keys, a streamed reply
//
// Each program is given by its command line; see program for the words that are replaced in it. Programs take turns,
// so that all of them meet the same load. Every figure is the median of -n runs, with the least and the most. Memory
// and the terminal's CPU come from /proc, so they are measured on Linux only.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

const (
	lathe         = "lathe=bin/lathe --model claude-sonnet-4-5 --dangerously-skip-permissions"
	headlessLathe = lathe + " -p {prompt}"
)

// options are the flags.
type options struct {
	programs, setups []string
	runs, steps      int
	keep             string
}

func main() {
	var o options
	several := func(list *[]string) func(string) error {
		return func(s string) error { *list = append(*list, s); return nil }
	}
	flag.Func("program", "`NAME=COMMAND`, once for each program (default "+headlessLathe+"; terminal: "+lathe+")",
		several(&o.programs))
	flag.Func("setup", "`NAME=COMMAND` that sh runs before each run of a program, such as to write its settings",
		several(&o.setups))
	flag.IntVar(&o.runs, "n", 3, "`runs` of each program")
	flag.IntVar(&o.steps, "steps", 50, "tool `calls` in the measurement steps")
	flag.StringVar(&o.keep, "keep", "", "a `folder` for homes, projects and output (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurements are what a word on the command line measures.
var measurements = map[string]func(context.Context, *program, options) (figures, error){
	"hello": hello, "steps": steps, "once": once, "terminal": terminal,
}

// run prints a table for each measurement.
func run(ctx context.Context, o options, what []string, out io.Writer) (err error) {
	if o.keep == "" {
		if o.keep, err = os.MkdirTemp("", "bench"); err != nil {
			return err
		}
		defer os.RemoveAll(o.keep)
	}
	if o.keep, err = filepath.Abs(o.keep); err != nil {
		return err
	}
	for _, w := range what {
		if measurements[w] == nil {
			return fmt.Errorf("%q is not a measurement: hello, steps, once and terminal are", w)
		}
		lines := o.programs
		if len(lines) == 0 && w == "terminal" {
			lines = []string{lathe}
		} else if len(lines) == 0 {
			lines = []string{headlessLathe}
		}
		var programs []*program
		for _, l := range lines {
			p, err := parseProgram(l, o.setups, o.keep)
			if err != nil {
				return err
			}
			programs = append(programs, p)
		}
		results, err := measure(ctx, w, programs, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s", table(w, programs, results))
	}
	return nil
}

// measure runs the programs in turn. The first run of each does not count: it fills its home and caches.
func measure(ctx context.Context, what string, programs []*program, o options) (map[string][]figures, error) {
	results := map[string][]figures{}
	for i := range o.runs + 1 {
		for _, p := range programs {
			f, err := figures(nil), error(nil)
			if i > 0 {
				f, err = measurements[what](ctx, p, o)
				results[p.name] = append(results[p.name], f)
				fmt.Fprintf(os.Stderr, "%s %s %d of %d\n", p.name, what, i, o.runs)
			} else if what != "terminal" {
				_, err = hello(ctx, p, o)
			}
			if err != nil {
				return nil, fmt.Errorf("%s, %s, run %d: %w", p.name, what, i, err)
			}
		}
	}
	return results, nil
}

// figures are the results of one run, in the order of the table.
type figures []figure

type figure struct {
	name  string
	value float64
}

// table is a Markdown table: a row for each figure, a column for each program.
func table(what string, programs []*program, results map[string][]figures) string {
	var b strings.Builder
	head, rule := "| "+what+" |", "|---|"
	for _, p := range programs {
		head, rule = head+" "+p.name+" |", rule+"---|"
	}
	b.WriteString(head + "\n" + rule + "\n")
	for _, row := range results[programs[0].name][0] {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, p := range programs {
			var values []float64
			for _, f := range results[p.name] {
				if i := slices.IndexFunc(f, func(x figure) bool { return x.name == row.name }); i >= 0 {
					values = append(values, f[i].value)
				}
			}
			fmt.Fprintf(&b, " %s |", spread(values))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// spread is the median of values, with the least and the most if they differ.
func spread(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	text := func(v float64) string {
		if v >= 100 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.3g", v)
	}
	low, mid, high := text(slices.Min(values)), text(quantile(values, 0.5)), text(slices.Max(values))
	if low == high {
		return mid
	}
	return fmt.Sprintf("%s (%s to %s)", mid, low, high)
}

// quantile is the value below which a share q of the values lies; 0 without values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
