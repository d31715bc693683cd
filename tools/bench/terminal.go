package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// screen is a pseudo-terminal of 120 x 40 with a program at its other end.
type screen struct {
	file    *os.File
	chunks  chan chunk
	bytes   int       // that the program has written
	last    time.Time // of the latest bytes
	letters []rune    // to type: each occurs nowhere else, so its echo is found however the screen is redrawn
}

type chunk struct {
	at   time.Time
	data []byte
}

// terminal measures an interactive program: a start, keys while idle, a streamed reply, keys while another one streams.
func terminal(ctx context.Context, p *program, _ options) (figures, error) {
	srv := llmtest.New(streamScript(), llmtest.Options{Lenient: true})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		return nil, err
	}
	defer srv.Close()
	cmd, err := p.command(srv.URL(), "")
	if err != nil {
		return nil, err
	}
	started := time.Now()
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m := startMeter(cmd.Process.Pid)
	defer context.AfterFunc(ctx, func() { killTree(cmd.Process.Pid) })()
	defer cmd.Wait() //nolint:errcheck // it is killed before
	defer killTree(cmd.Process.Pid)
	if _, err := term.MakeRaw(int(file.Fd())); err != nil { // the terminal itself must not echo the keys
		return nil, err
	}
	s := &screen{file: file, chunks: make(chan chunk, 1<<16)}
	for r := 'Б'; r <= 'я'; r++ {
		s.letters = append(s.letters, r, r-'Б'+'Բ')
	}
	go s.read()
	f, err := s.play(srv, cmd.Process.Pid, started)
	m.readPSS()
	m.stop()
	return append(f, figure{"peak memory, MB", m.peak}, figure{"proportional memory (PSS), MB", m.pss}), err
}

// play goes through the measurements.
func (s *screen) play(srv *llmtest.Server, pid int, started time.Time) (figures, error) {
	paint, ok := s.until(30*time.Second, func([]byte) bool { return true })
	if _, shown := s.key(10 * time.Second); !ok || !shown {
		return nil, errors.New("a key does not show: is there a dialog before the prompt?")
	}
	ready := s.last
	s.quiet(500 * time.Millisecond)
	idle := s.keys(30, func() bool { return false })
	before, written := cpu(pid), s.bytes
	s.send("\r")
	streamed := func() []llmtest.Request { return conversation(srv.Requests()) }
	for end := time.Now().Add(2 * time.Minute); len(streamed()) < 1 || streamed()[0].Ended.IsZero(); {
		if time.Now().After(end) {
			return nil, errors.New("the first reply did not end")
		}
		s.pause(50 * time.Millisecond)
	}
	s.quiet(500 * time.Millisecond)
	behind := s.last.Sub(streamed()[0].Ended)
	used, written := cpu(pid)-before, s.bytes-written
	s.key(2 * time.Second)
	s.send("\r")
	s.pause(300 * time.Millisecond)
	busy := s.keys(30, func() bool { r := streamed(); return len(r) > 1 && !r[1].Ended.IsZero() })
	return figures{
		{"start to first output, ms", ms(paint.Sub(started))},
		{"start to first key shown, ms", ms(ready.Sub(started))},
		{"key to echo, ms", quantile(idle, 0.5)},
		{"key to echo, 95th percentile, ms", quantile(idle, 0.95)},
		{"key to echo while a reply streams, ms", quantile(busy, 0.5)},
		{"key to echo while a reply streams, 95th percentile, ms", quantile(busy, 0.95)},
		{"reply of 200 kB: CPU, s", used},
		{"reply of 200 kB: last change after its end, ms", ms(max(0, behind))},
		{"reply of 200 kB: written to the terminal, kB", float64(written) / 1000},
	}, nil
}

func (s *screen) read() {
	defer close(s.chunks)
	for {
		b := make([]byte, 64<<10)
		n, err := s.file.Read(b)
		if err != nil {
			return
		}
		s.chunks <- chunk{time.Now(), b[:n]}
	}
}

func (s *screen) send(keys string) { _, _ = s.file.WriteString(keys) } // a program that has ended shows as silence

// until reads, for at most limit, until done says so of all that the program wrote since the call.
func (s *screen) until(limit time.Duration, done func([]byte) bool) (time.Time, bool) {
	timeout := time.After(limit)
	var all []byte
	for {
		select {
		case c, ok := <-s.chunks:
			if !ok {
				return time.Time{}, false
			}
			s.bytes, s.last = s.bytes+len(c.data), c.at
			all = append(all, c.data...)
			for question, answer := range answers {
				if bytes.Contains(c.data, []byte(question)) {
					s.send(answer)
				}
			}
			if done(all) {
				return c.at, true
			}
		case <-timeout:
			return time.Time{}, false
		}
	}
}

// answers are what a terminal says to the questions that a program may wait for when it starts.
var answers = map[string]string{
	"\x1b[c": "\x1b[?62;22c", "\x1b[0c": "\x1b[?62;22c", "\x1b[6n": "\x1b[1;1R", "\x1b[?2026$p": "\x1b[?2026;2$y",
	"\x1b]10;?": "\x1b]10;rgb:cccc/cccc/cccc\x1b\\", "\x1b]11;?": "\x1b]11;rgb:0000/0000/0000\x1b\\",
}

// pause goes on reading for a time.
func (s *screen) pause(d time.Duration) { s.until(d, func([]byte) bool { return false }) }

// quiet waits until the program has written nothing for a time, at most 8 seconds.
func (s *screen) quiet(silence time.Duration) {
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); {
		if _, more := s.until(silence, func([]byte) bool { return true }); !more {
			return
		}
	}
}

// key types the next letter and returns the time until it shows.
func (s *screen) key(limit time.Duration) (time.Duration, bool) {
	letter := string(s.letters[0])
	s.letters = s.letters[1:]
	typed := time.Now()
	s.send(letter)
	at, ok := s.until(limit, func(b []byte) bool { return bytes.Contains(b, []byte(letter)) })
	return at.Sub(typed), ok
}

// keys types n letters, about 90 ms apart, unless stop says so before, and returns the times in ms.
func (s *screen) keys(n int, stop func() bool) []float64 {
	var out []float64
	for i := range n {
		if stop() {
			break
		}
		if took, ok := s.key(3 * time.Second); ok {
			out = append(out, ms(took))
		}
		s.pause(time.Duration(70+7*(i%7)) * time.Millisecond)
	}
	return out
}
