package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
)

// await waits for the end of the command, at most for d.
func (s *shellRun) await(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// report is the state and the output that the model has not seen yet.
func (s *shellRun) report(ctx context.Context, most int, filter *regexp.Regexp) (*agent.Result, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	now := s.state()
	if now.Status != ShellRunning {
		s.tellEnd()
	}
	text, err := s.unread(ctx, now, most, filter)
	if err != nil {
		return nil, err
	}
	var notes []string
	s.mu.Lock()
	fault, came := s.fault, s.came
	s.mu.Unlock()
	switch {
	case fault != nil:
		notes = append(notes, "Some of the output could not be kept: "+fault.Error())
	case came > now.Size:
		notes = append(notes, fmt.Sprintf("Of the %s of output only the first %s were kept, in %s", size(came),
			size(now.Size), cmp.Or(now.Output, "the session's blobs")))
	case now.Output != "":
		notes = append(notes, "All of the output is in "+now.Output)
	}
	head := now.String()
	if text == "" {
		head += " No new output."
	}
	r := agent.TextResult(compose(head, text, notes))
	r.Title = now.ID + ": " + bashTitle(bashInput{Command: now.Command})
	r.View = event.Command{
		Command: now.Command, Dir: now.Dir, Output: text, ExitCode: now.ExitCode, Duration: now.Duration,
		OutputRef: now.Output, Background: now.ID,
	}
	r.Meta = now.meta()
	r.Meta["stdout"], r.Meta["stderr"] = text, ""
	return r, nil
}

// String says in words how the command is doing.
func (b BackgroundShell) String() string {
	took := b.Duration.Round(100 * time.Millisecond)
	switch b.Status {
	case ShellRunning:
		return fmt.Sprintf("%s is running, for %s so far.", b.ID, took)
	case ShellKilled:
		return fmt.Sprintf("%s was ended after %s.", b.ID, took)
	}
	return fmt.Sprintf("%s ended with exit code %d after %s.", b.ID, b.ExitCode, took)
}

func (b BackgroundShell) meta() map[string]any {
	m := map[string]any{"shellId": b.ID, "command": b.Command, "status": string(b.Status)}
	if b.Status != ShellRunning {
		m["exitCode"] = b.ExitCode
	}
	if b.Output != "" {
		m["persistedOutputPath"], m["persistedOutputSize"] = b.Output, b.Size
	}
	return m
}

// partial is how long an unfinished line may be and still be shown again when it is whole.
const partial = 64 << 10

// unread reads the output since the last call, without escapes, as the filter lets it through, shortened in
// the middle to limit characters. An unfinished last line is shown, and once more when it is whole.
func (s *shellRun) unread(ctx context.Context, now BackgroundShell, limit int, filter *regexp.Regexp) (string, error) {
	out := &bashText{limit: limit, handed: true}
	emit := out.text
	lines := lineFilter{filter: filter, emit: out.text}
	if filter != nil {
		emit = lines.add
	}
	buf := make([]byte, 64<<10)
	next := s.read
	for at := s.read; at < now.Size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := s.readAt(buf[:min(int64(len(buf)), now.Size-at)], at)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return "", fmt.Errorf("the output of %s cannot be read: %w", s.id, err)
		}
		at += int64(n)
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			next = at - int64(n) + int64(i) + 1
		}
		out.scratch = out.plain.add(out.scratch[:0], buf[:n])
		out.lines.add(out.scratch, emit)
		if now.Status != ShellRunning || at-next > partial {
			next = at
		}
	}
	out.scratch = out.plain.end(out.scratch[:0])
	out.lines.add(out.scratch, emit)
	out.lines.end(emit)
	lines.end()
	s.read = next
	if out.tails == 0 {
		return string(out.head), nil
	}
	return out.shorten(now.Output), nil
}

// lineFilter lets lines through that match.
type lineFilter struct {
	filter *regexp.Regexp
	emit   func([]byte)
	line   []byte
}

func (f *lineFilter) add(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			i = len(p)
		}
		f.line = append(f.line, p[:i]...)
		if p[i-1] == '\n' || len(f.line) > partial {
			f.end()
		}
		p = p[i:]
	}
}

func (f *lineFilter) end() {
	if f.filter != nil && len(f.line) > 0 && f.filter.Match(bytes.TrimSuffix(f.line, []byte("\n"))) {
		f.emit(f.line)
	}
	f.line = f.line[:0]
}

// stopped is the result of a command that was ended on request.
func (s *shellRun) stopped(now BackgroundShell) *agent.Result {
	s.tellEnd()
	r := agent.TextResult(now.String())
	r.Title = now.ID
	r.View = event.Command{
		Command: now.Command, Dir: now.Dir, ExitCode: now.ExitCode, Duration: now.Duration, OutputRef: now.Output,
		Background: now.ID, Cancelled: now.Status == ShellKilled,
	}
	r.Meta = now.meta()
	return r
}
