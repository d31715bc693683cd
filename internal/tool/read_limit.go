package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// newsWait is how long a read waits for a file of the kernel that has nothing to say yet (/proc/kmsg, trace_pipe):
// such files look like empty ones and never end.
const newsWait = 2 * time.Second

// patient reads a file for which waiting may never end: after newsWait, or when ctx is done, it is as if the file
// ended there. release ends the watch on ctx.
type patient struct {
	f      *os.File
	ctx    context.Context
	waited bool // it ended because nothing came
}

func newPatient(ctx context.Context, f *os.File) (p *patient, release func() bool) {
	if f.SetReadDeadline(time.Now().Add(newsWait)) != nil { // a file on disk has no deadline and needs none
		return &patient{f: f, ctx: ctx}, func() bool { return true }
	}
	return &patient{f: f, ctx: ctx}, context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.f.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if p.ctx.Err() != nil {
		return n, p.ctx.Err()
	}
	p.waited = true
	return n, io.EOF
}

func (p *patient) Seek(offset int64, whence int) (int64, error) { return p.f.Seek(offset, whence) }
