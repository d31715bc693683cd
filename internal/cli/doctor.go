package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

func doctorCommand(p *program, o *Options) *cobra.Command {
	var online, asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check the installation", Args: noArgs,
		Long: `Look at everything lathe needs: terminal, settings, key, model, network, programs, folders, sessions. Every line says ok,
warn or fail, and what to do about it. Nothing is sent anywhere, unless --online asks for a try of the model's server; no
key goes with that. The exit code is 1 when something fails.`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			if _, err := workingFolder(o); err != nil {
				return err
			}
			d := &doctor{p: p, o: o, online: online}
			d.examine(c.Context())
			return d.report(asJSON)
		},
	}
	f := c.Flags()
	f.BoolVar(&online, "online", false, "also try to reach the model's server")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	addModelFlags(f, o)
	return c
}

// status is how a check went.
type status string

const (
	statusOK   status = "ok"
	statusWarn status = "warn"
	statusFail status = "fail"
)

// finding is one line of the doctor.
type finding struct {
	Name   string `json:"name"`
	Status status `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // the user's next step, for warn and fail
}

// doctor runs one check after the other; a failed one does not keep the next from running.
type doctor struct {
	p        *program
	o        *Options
	online   bool
	inside   bool // a front end that has the terminal asks
	findings []finding
}

func (d *doctor) add(name string, s status, next, format string, args ...any) {
	d.findings = append(d.findings, finding{name, s, fmt.Sprintf(format, args...), next})
}

func (d *doctor) ok(name, format string, args ...any) { d.add(name, statusOK, "", format, args...) }

func (d *doctor) examine(ctx context.Context) {
	v, commit := currentVersion()
	d.ok("version", "lathe %s (%s)", v, commit)
	d.ok("platform", "%s/%s, %s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU())
	d.terminal()
	cfg := d.settings()
	d.model(ctx, cfg)
	d.programs(ctx, cfg)
	d.sandbox()
	d.folders(cfg.Paths())
	d.sessions(ctx, cfg.Paths())
}

// report prints the findings. The error is quiet and carries only the exit code: the findings are its text.
func (d *doctor) report(asJSON bool) error {
	failed := 0
	for _, f := range d.findings {
		if f.Status == statusFail {
			failed++
		}
	}
	var err error
	if asJSON {
		err = writeJSON(d.p.out, struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{failed == 0, d.findings})
	} else {
		_, err = io.WriteString(d.p.out, d.text())
	}
	if err == nil && failed > 0 {
		err = &Error{Code: exitFailed, Msg: plural(failed, "check") + " failed", Quiet: true}
	}
	return err
}

var statusColours = map[status]string{statusOK: "32", statusWarn: "33", statusFail: "31"}

func (d *doctor) text() string {
	widest := 0
	for _, f := range d.findings {
		widest = max(widest, len(f.Name))
	}
	var b strings.Builder
	for _, f := range d.findings {
		mark := fmt.Sprintf("%-4s", f.Status)
		if d.p.depth() > term.NoColor {
			mark = "\x1b[" + statusColours[f.Status] + "m" + mark + "\x1b[0m"
		}
		fmt.Fprintf(&b, "%s  %-*s  %s\n", mark, widest, f.Name, term.EscapeLine(f.Detail))
		if f.Next != "" {
			fmt.Fprintf(&b, "      %-*s  -> %s\n", widest, "", term.EscapeLine(f.Next))
		}
	}
	return b.String()
}
