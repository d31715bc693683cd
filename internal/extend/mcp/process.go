package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// shutGrace is how long a server may take to end after its input was closed.
const shutGrace = 2 * time.Second

// process starts a server that is spoken to through its standard input and output.
func (v *server) process(context.Context) (jsonrpc.Transport, error) {
	o, e := &v.set.o, &v.entry
	clean := o.Clean
	clean.Set = map[string]string{"CLAUDE_PROJECT_DIR": o.Root}
	if e.Plugin != nil {
		clean.Set["CLAUDE_PLUGIN_ROOT"], clean.Set["CLAUDE_PLUGIN_DATA"] = e.Plugin.Root, e.Plugin.Data
	}
	clean.ScrubCredentials = clean.ScrubCredentials || e.Foreign()
	env := sandbox.CleanEnv(o.Environ(), clean)
	for name, value := range e.Env {
		env = append(env, name+"="+value)
	}
	base := cmp.Or(e.Base, o.Dir)
	dir := base
	if e.Dir != "" {
		if dir = e.Dir; !filepath.IsAbs(dir) {
			dir = filepath.Join(base, dir)
		}
	}
	spec := sandbox.Spec{Argv: append([]string{e.Command}, e.Args...), Dir: dir, Env: env, Stderr: v.log}
	var done func()
	var err error
	if spec.Confine, done, err = v.confine(); err != nil {
		return nil, err
	}
	p, err := o.Runner.StartPiped(v.set.life, spec)
	if err != nil {
		done()
		return nil, fmt.Errorf("%w; check its command in %s", err, describeFile(e))
	}
	in := &exitNote{Reader: p.Out, log: v.log, exit: func() (string, bool) {
		select {
		case <-p.Done():
			return fmt.Sprintf("its process ended with exit code %d", p.Wait().Code), true
		case <-time.After(100 * time.Millisecond): // it closed its output and runs on
			return "it closed its output", true
		}
	}}
	return jsonrpc.NewLines(in, p.In, func() error { p.Shut(shutGrace); done(); return nil }), nil
}

// confine returns the boundary of a program that somebody else than the user wrote, and a function for its end.
func (v *server) confine() (*sandbox.Confinement, func(), error) {
	done := func() {}
	if !v.entry.Foreign() || v.set.o.Confine == nil {
		return nil, done, nil
	}
	c, end, err := v.set.o.Confine(&v.entry)
	if c != nil && err == nil {
		done = end
	}
	return c, done, err
}

func describeFile(e *entry.Entry) string {
	if e.File == "" {
		return "the command line or settings"
	}
	return e.File
}

// exitNote makes the end of a server's output say how its process ended, with the last line that it printed.
type exitNote struct {
	io.Reader
	log  *log
	exit func() (string, bool)
}

func (r *exitNote) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		text, _ := r.exit()
		if last := r.log.last(); last != "" {
			text += ": " + last
		}
		return 0, errors.New(text)
	}
	return n, err
}
