package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lathe-dev/lathe/internal/llm"
)

// maxCallLine is the longest call that is read: a Write of a large file.
const maxCallLine = 64 << 20

// callLines reads calls from JSON lines. Reading happens beside the caller, so that a signal ends the wait
// for a line that never comes; a line is read only when it is asked for.
type callLines struct {
	in    *bufio.Reader
	limit int // bytes of a line
	line  int
	ended bool
	ask   chan struct{}
	lines chan readLine
}

type readLine struct {
	text []byte
	err  error
}

// errTooLong means that a line was skipped.
var errTooLong = fmt.Errorf("the line has more than %d MB", maxCallLine>>20)

func newCallLines(in io.Reader) *callLines {
	return &callLines{in: bufio.NewReaderSize(in, 64<<10), limit: maxCallLine}
}

// next returns the next call, io.EOF, a *Error when stdin cannot be read any more, or the problem with
// this line.
func (c *callLines) next(ctx context.Context) (llm.ToolCall, error) {
	if c.ask == nil {
		c.ask, c.lines = make(chan struct{}), make(chan readLine, 1)
		go c.read()
	}
	for !c.ended {
		select {
		case c.ask <- struct{}{}:
		case <-ctx.Done():
			return llm.ToolCall{}, ctx.Err()
		}
		select {
		case l := <-c.lines:
			c.line++
			c.ended = errors.Is(l.err, io.EOF)
			call, skip, err := c.parse(l)
			if skip {
				continue
			}
			return call, err
		case <-ctx.Done():
			return llm.ToolCall{}, ctx.Err()
		}
	}
	return llm.ToolCall{}, io.EOF
}

func (c *callLines) parse(l readLine) (call llm.ToolCall, skip bool, err error) {
	switch text := bytes.TrimSpace(bytes.TrimPrefix(l.text, []byte("\ufeff"))); {
	case errors.Is(l.err, errTooLong):
		return call, false, fmt.Errorf("line %d: %w", c.line, l.err)
	case l.err != nil && !c.ended:
		return call, false, &Error{Code: exitUsage, Msg: "reading stdin", Err: l.err}
	case len(text) == 0 && c.ended:
		return call, false, io.EOF
	case len(text) == 0:
		return call, true, nil
	default:
		call, err = parseCall(text)
		if err != nil {
			err = fmt.Errorf(`line %d: %w; a call is a line like {"tool":"Read","input":{"file_path":"README.md"}}`, c.line, err)
		}
		return call, false, err
	}
}

func parseCall(text []byte) (llm.ToolCall, error) {
	var v struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	switch err := json.Unmarshal(text, &v); {
	case err != nil:
		return llm.ToolCall{}, fmt.Errorf("not a JSON object with a tool: %w", err)
	case v.Tool == "":
		return llm.ToolCall{}, errors.New(`"tool" is missing`)
	case v.Input == nil:
		return llm.ToolCall{}, errors.New(`"input" is missing`)
	case v.Input[0] != '{':
		return llm.ToolCall{}, errors.New(`"input" is not an object`)
	}
	return llm.ToolCall{Name: v.Tool, Input: v.Input}, nil
}

// read hands over one line each time it is asked, and ends with the input.
func (c *callLines) read() {
	for range c.ask {
		text, err := c.readLine()
		c.lines <- readLine{text, err}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

func (c *callLines) readLine() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := c.in.ReadSlice('\n')
		if long = long || len(line)+len(piece) > c.limit; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long:
			return nil, errTooLong // also at the end: the next read reports that
		default:
			return line, err
		}
	}
}
