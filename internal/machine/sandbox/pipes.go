package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Piped is a long-lived child that is spoken to through its standard input and output: a language server, an MCP
// server. Both ends are files, so deadlines work on them. Read Out to its end, or the child blocks when the pipe is
// full.
type Piped struct {
	*Proc
	In  io.WriteCloser // the child's standard input
	Out io.ReadCloser  // the child's standard output; ends when all processes that hold it have ended
}

// StartPiped starts spec, of which Stdin and Stdout must be nil. The tree ends as with Start: with its leader, ctx or
// the Runner. Call Shut, or close In and Out.
func (r *Runner) StartPiped(ctx context.Context, spec Spec) (*Piped, error) {
	if spec.Stdin != nil || spec.Stdout != nil {
		return nil, errors.New("sandbox: a piped child has its own standard input and output")
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sandbox: no pipe for the input: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		in.Close()
		return nil, fmt.Errorf("sandbox: no pipe for the output: %w", err)
	}
	spec.Stdin, spec.Stdout = childIn, childOut
	p, err := r.Start(ctx, spec)
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return &Piped{Proc: p, In: in, Out: out}, nil
}

// Shut closes the input, which asks such a child to end, and ends the tree if it still runs after grace. It discards
// the rest of the output, and returns when the tree is gone.
func (p *Piped) Shut(grace time.Duration) Exit {
	p.In.Close()
	drained := make(chan struct{})
	go func() { defer close(drained); _, _ = io.Copy(io.Discard, p.Out) }() // it must not block on a full pipe
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
	}
	exit := p.End()
	p.Out.Close() // also where a process out of reach keeps it open
	<-drained
	return exit
}
