package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
)

// Lines is a transport over a pair of pipes, one message a line.
type Lines struct {
	mu    sync.Mutex // of out
	out   io.Writer
	in    *bufio.Reader
	close func() error
	buf   []byte
}

// NewLines reads from in and writes to out; close ends both.
func NewLines(in io.Reader, out io.Writer, close func() error) *Lines {
	return &Lines{out: out, in: bufio.NewReaderSize(in, 16<<10), close: close}
}

// Send writes one line. A peer that does not read does not block the caller beyond ctx.
func (l *Lines) Send(ctx context.Context, message []byte) error {
	line := append(message[:len(message):len(message)], '\n')
	done := make(chan error, 1)
	go func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err := l.out.Write(line)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("the server takes no more input: %w", err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Receive returns the next line. The bytes are valid until the next call.
func (l *Lines) Receive() ([]byte, error) {
	l.buf = l.buf[:0]
	if cap(l.buf) > 1<<20 {
		l.buf = nil // a long message does not stay in memory
	}
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.buf)+len(part) > MaxMessage {
			return nil, l.skip(append(l.buf, part...), err)
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(l.buf) > 0 && err == io.EOF:
			return l.buf, nil
		default:
			return nil, err
		}
	}
}

// idField finds the id of an answer near the ends of a message that is too long to be read.
var idField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"id"\s*:\s*"?(\d{1,15})"?\s*[,}]`) })

// skip reads a line that is too long to its end.
func (l *Lines) skip(begun []byte, err error) error {
	const ends = 4 << 10
	head := bytes.Clone(begun[:ends])
	tail := bytes.Clone(begun[len(begun)-ends:])
	size := int64(len(begun))
	l.buf = nil
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.in.ReadSlice('\n')
		size += int64(len(part))
		tail = append(tail, part...)
		tail = append(tail[:0], tail[max(0, len(tail)-ends):]...)
	}
	if err != nil && err != io.EOF {
		return err
	}
	return &Lost{ID: lostID(head, tail), Why: fmt.Sprintf(
		"the server sent a message of %d MB; the longest that lathe takes has %d MB", size>>20, MaxMessage>>20)}
}

// lostID is the id that a message begins or ends with.
func lostID(head, tail []byte) json.RawMessage {
	if at := bytes.Index(head, []byte(`"result"`)); at >= 0 {
		if m := idField().FindSubmatch(head[:at+1]); m != nil {
			return m[1]
		}
	}
	if all := idField().FindAllSubmatch(tail, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	return nil
}

// Close ends both pipes.
func (l *Lines) Close() error { return l.close() }
