package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Bounds of the pipe to a process.
const (
	mostQueued = 256     // messages that wait to be written
	maxLine    = 4 << 20 // bytes of the longest line that is read
	maxEvent   = 64 << 10
)

// pipe is the transport to a process: a bounded queue before its standard input, and lines of its standard output.
type pipe struct {
	queue chan []byte
	in    *bufio.Reader
	buf   []byte
	stop  func() // ends the child and closes both of its pipes

	once   sync.Once
	mu     sync.Mutex
	why    error // why it was ended; nil: the process did it
	closed chan struct{}
	wrote  chan struct{} // closed when the writer has ended
}

func newPipe(in io.Reader, out io.Writer, stop func()) *pipe {
	p := &pipe{
		queue: make(chan []byte, mostQueued), in: bufio.NewReaderSize(in, 16<<10), stop: stop,
		closed: make(chan struct{}), wrote: make(chan struct{}),
	}
	go p.write(out)
	return p
}

func (p *pipe) write(out io.Writer) {
	defer close(p.wrote)
	for {
		select {
		case <-p.closed:
			return
		case line := <-p.queue:
			if _, err := out.Write(line); err != nil {
				return // the reader sees the end
			}
		}
	}
}

// Send queues a message, and waits while the queue is full.
func (p *pipe) Send(ctx context.Context, message []byte) error {
	line := append(message[:len(message):len(message)], '\n')
	select {
	case p.queue <- line:
		return nil
	case <-p.closed:
		return errors.New("the process has ended")
	case <-p.wrote:
		return errors.New("the process takes no more input")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// offer queues a line if there is room.
func (p *pipe) offer(line []byte) bool {
	select {
	case p.queue <- line:
		return true
	default:
		return false
	}
}

// Receive returns the next line, which is valid until the next call.
func (p *pipe) Receive() ([]byte, error) {
	p.buf = p.buf[:0]
	for {
		part, err := p.in.ReadSlice('\n')
		if len(p.buf)+len(part) > maxLine {
			return nil, fmt.Errorf("it printed a line of more than %d MB", maxLine>>20)
		}
		if err == nil && len(p.buf) == 0 {
			return part, nil
		}
		p.buf = append(p.buf, part...)
		switch {
		case err == nil:
			return p.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, p.cause(err)
		}
	}
}

// fail sets the reason of an end that this side chose.
func (p *pipe) fail(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = cmp.Or(p.why, why)
}

func (p *pipe) cause(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended")
	}
	return cmp.Or(p.why, err)
}

// Close ends the child.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed); p.stop() })
	<-p.wrote
	return nil
}
