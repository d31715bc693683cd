package lsp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// frames is the transport of the protocol: a header with the length before each message.
type frames struct {
	in    *bufio.Reader
	queue chan []byte
	gone  chan struct{} // closed when nothing can be written any more
	once  sync.Once
	close func() error
}

const (
	queued    = 256     // messages that wait for a server that does not read
	maxHeader = 4 << 10 // bytes of one line of a header
)

func newFrames(in io.Reader, out io.Writer, closeBoth func() error) *frames {
	f := &frames{
		in: bufio.NewReaderSize(in, 16<<10), queue: make(chan []byte, queued), gone: make(chan struct{}),
		close: closeBoth,
	}
	go f.write(out)
	return f
}

func (f *frames) write(out io.Writer) {
	for {
		select {
		case m := <-f.queue:
			head := "Content-Length: " + strconv.Itoa(len(m)) + "\r\n\r\n"
			if _, err := io.WriteString(out, head); err != nil {
				f.stop()
				return
			}
			if _, err := out.Write(m); err != nil {
				f.stop()
				return
			}
		case <-f.gone:
			return
		}
	}
}

func (f *frames) stop() { f.once.Do(func() { close(f.gone) }) }

// Send queues a message. A server that does not read blocks the caller only when many messages wait.
func (f *frames) Send(ctx context.Context, message []byte) error {
	select {
	case f.queue <- bytes.Clone(message):
		return nil
	case <-f.gone:
		return errors.New("the server takes no more input")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Receive returns the next message. Lines that are no header are skipped: some programs print to their standard output.
func (f *frames) Receive() ([]byte, error) {
	size := -1
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		if line == "" && size >= 0 {
			return f.body(size)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 {
				return nil, fmt.Errorf("the server sent a length that is no number: %.40q", value)
			}
		}
	}
}

// line reads a line of a header without its end; the rest of a long one is dropped.
func (f *frames) line() (string, error) {
	var line []byte
	for {
		part, err := f.in.ReadSlice('\n')
		if len(line) < maxHeader {
			line = append(line, part...)
		}
		if err == nil {
			return strings.TrimRight(string(line), "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}

func (f *frames) body(size int) ([]byte, error) {
	if size > jsonrpc.MaxMessage {
		if _, err := io.CopyN(io.Discard, f.in, int64(size)); err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Lost{Why: fmt.Sprintf("the server sent a message of %d MB; the longest that lathe takes has "+
			"%d MB", size>>20, jsonrpc.MaxMessage>>20)}
	}
	var b bytes.Buffer // grows with the data, not with the announced size
	if _, err := io.CopyN(&b, f.in, int64(size)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Close ends both pipes.
func (f *frames) Close() error {
	f.stop()
	return f.close()
}
