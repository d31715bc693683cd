// Package program is the command line of lathe-fleet.
//
// Its promises: what a script reads is JSON on stdout; what people read and errors are text. The exit code is 1 where
// a job failed or the command could not be run, and 2 for a wrong command line.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/fleet"
)

// program is one run of lathe-fleet.
type program struct {
	out, err io.Writer
	o        fleet.Options
	lathe    string
	work     string
}

// errJobs says that the command went well and jobs did not.
var errJobs = errors.New("not every job is done")

// usageError is a wrong command line.
type usageError struct{ error }

// Main runs a command line and returns the exit code.
func Main(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &program{out: out, err: errs}
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errJobs):
		return 1
	}
	fmt.Fprintln(errs, "lathe-fleet:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use: "lathe-fleet", Short: "Run jobs for lathe on many machines, and benchmarks",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	f := root.PersistentFlags()
	f.StringVar(&p.o.Dir, "dir", "", "the `folder` of the fleet's data; else lathe's data folder")
	f.StringVar(&p.o.URL, "server", os.Getenv("LATHE_FLEET"), "an external cluster or another machine's fleet, by `URL`: tls://host:4222")
	f.StringVar(&p.o.Key, "key", "", "the `file` with this client's key")
	f.StringVar(&p.o.CA, "ca", "", "the `file` with the authority that signed the server's certificate")
	f.StringVar(&p.lathe, "lathe", "", "the `program` lathe; else the one beside this program, then that on PATH")
	f.StringVar(&p.work, "work", "", "the `folder` for the copies that jobs work in; else lathe-fleet in the cache folder")
	f.IntVar(&p.o.Replicas, "replicas", 0, "how many nodes of a cluster keep each message; else 3 where it has them")
	f.DurationVar(&p.o.Lease, "lease", 0, "how long a worker may be `silent` until another one takes its jobs; else 30s")
	root.AddCommand(p.up(), p.worker(), p.submit(), p.list(), p.show(), p.logs(), p.cancel(), p.retry(), p.result(),
		p.stats(), p.drain(), p.limits(), p.key(), p.bench())
	return root
}

// open connects to the fleet.
func (p *program) open(ctx context.Context) (*fleet.Fleet, error) {
	if err := p.place(); err != nil {
		return nil, err
	}
	return fleet.Open(ctx, p.o)
}

// place chooses the folders of the fleet. Those of jobs are not within lathe's own, which no agent may change.
func (p *program) place() error {
	if p.work == "" {
		p.work = filepath.Join(filepath.Dir(config.ResolvePaths(os.Environ(), "").CacheHome), "lathe-fleet")
	}
	if p.o.Dir == "" {
		p.o.Dir = filepath.Join(config.ResolvePaths(os.Environ(), "").DataHome, "fleet")
	}
	var err, workErr error
	p.o.Dir, err = filepath.Abs(p.o.Dir)
	p.work, workErr = filepath.Abs(p.work)
	return errors.Join(err, workErr)
}

// sessions is what runs jobs here.
func (p *program) sessions() (*fleet.Sessions, error) {
	lathe, err := p.findLathe()
	if err != nil {
		return nil, err
	}
	paths := config.ResolvePaths(os.Environ(), "")
	return &fleet.Sessions{
		Lathe: lathe, Repos: filepath.Join(p.o.Dir, "repos"),
		Place: supervisor.At(paths.StateHome, os.Getenv("XDG_RUNTIME_DIR")),
	}, nil
}

func (p *program) findLathe() (string, error) {
	if p.lathe != "" {
		return filepath.Abs(p.lathe)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "lathe"+filepath.Ext(self))
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("lathe")
	if err != nil {
		return "", errors.New("the program lathe is neither beside lathe-fleet nor on PATH; --lathe names it")
	}
	return filepath.Abs(path)
}

// newWorker is a worker for the fleet.
func (p *program) newWorker(f *fleet.Fleet, slots int) (*fleet.Worker, error) {
	s, err := p.sessions()
	if err != nil {
		return nil, err
	}
	w := &fleet.Worker{
		Fleet: f, Slots: slots, Dir: p.work, Kinds: map[string]fleet.Work{"": s.Work},
		Log: func(format string, args ...any) { fmt.Fprintf(p.err, format+"\n", args...) },
	}
	p.trials(w, s)
	return w, nil
}
