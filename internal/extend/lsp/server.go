package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// server is one definition at work in one root: a process at a time, or none.
type server struct {
	p    *Pool
	def  *Definition
	root string
	argv []string

	mu       sync.Mutex
	run      *run // nil: none was started, or it ended in order
	failures int  // in a row
	next     time.Time
	gaveUp   error
	last     error // why it failed last
	ended    bool
	open_    map[string]bool // documents that a new process opens
}

// How a server that fails is started again.
const (
	maxFailures  = 4
	firstBackoff = 500 * time.Millisecond
	steady       = 5 * time.Minute // a process that lived so long was no failure of the start
	shutGrace    = 300 * time.Millisecond
)

func newServer(p *Pool, d *Definition, root string, argv []string) *server {
	return &server{p: p, def: d, root: root, argv: argv, open_: map[string]bool{}}
}

// changed reports whether the settings want another server.
func (s *server) changed(d *Definition, argv []string) bool {
	if !slices.Equal(s.argv, argv) {
		return true
	}
	if s.def == d {
		return false
	}
	a, _ := json.Marshal(s.def)
	b, _ := json.Marshal(d)
	return !bytes.Equal(a, b)
}

func (s *server) name() string { return s.def.Name }

// start starts the process in the background unless it runs or was given up.
func (s *server) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil || s.gaveUp != nil || s.ended {
		if s.run != nil {
			s.run.use()
		}
		return
	}
	r := newRun(s)
	s.run = r
	wait := time.Until(s.next)
	if !s.p.background(func() { s.launch(r, wait) }) {
		s.run = nil
	}
}

// current returns the run; nil: none.
func (s *server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

func (s *server) running() bool {
	r := s.current()
	return r != nil && r.isReady()
}

// launch starts the process, waits for initialize and then for its end.
func (s *server) launch(r *run, wait time.Duration) {
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-s.p.life.Done():
		}
	}
	began := time.Now()
	err := s.p.life.Err()
	if err == nil {
		err = r.begin()
	}
	if err == nil {
		s.reopen(r)
		s.p.background(r.remember)
		r.mark(nil)
		err = r.attend()
	}
	r.end()
	r.mark(errors.Join(errNotRunning, err))
	s.over(r, err, time.Since(began))
}

var errNotRunning = errors.New("the language server does not run")

// over notes how a process ended; nil: in order.
func (s *server) over(r *run, err error, lived time.Duration) {
	s.mu.Lock()
	if s.run == r {
		s.run = nil
	}
	for path := range r.openPaths() {
		s.open_[path] = true
	}
	if err == nil || s.ended || s.p.life.Err() != nil {
		s.mu.Unlock()
		return
	}
	if lived > steady {
		s.failures = 0
	}
	s.failures++
	s.last = err
	s.next = time.Now().Add(firstBackoff << min(s.failures-1, 8))
	var tooMuch *limitError
	if s.failures >= maxFailures || errors.As(err, &tooMuch) && s.failures > 1 {
		s.gaveUp = err
	}
	gaveUp := s.gaveUp
	s.mu.Unlock()
	if gaveUp != nil && s.p.o.Notice != nil {
		s.p.o.Notice(fmt.Sprintf("The language server %s is not used any more in %s: %v. /lsp restart %s starts it again.",
			s.name(), s.root, gaveUp, s.name()))
	}
}

// restart forgets failures and starts over.
func (s *server) restart() {
	s.mu.Lock()
	r := s.run
	s.failures, s.next, s.gaveUp, s.last = 0, time.Time{}, nil, nil
	s.mu.Unlock()
	if r != nil {
		r.stop(nil)
		r.waitEnd()
	}
	s.start()
}

// shut ends the process for good.
func (s *server) shut() {
	s.mu.Lock()
	s.ended = true
	r := s.run
	s.mu.Unlock()
	if r != nil {
		r.stop(nil)
		r.waitEnd()
	}
}

// reopen opens the documents of the process before.
func (s *server) reopen(r *run) {
	s.mu.Lock()
	paths := s.open_
	s.open_ = map[string]bool{}
	s.mu.Unlock()
	for path := range paths {
		_, _ = r.sync(path)
	}
}

// open opens a document when the process is ready, or notes it for then.
func (s *server) open(path string) {
	r := s.current()
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.p.life, ms(s.p.o.Settings().StartMs))
	defer cancel()
	if r.wait(ctx) == nil {
		_ = r.touch(path)
	}
}

// filesChanged passes on changes on disk.
func (s *server) filesChanged(paths []string) {
	if r := s.current(); r != nil && r.isReady() {
		r.filesChanged(paths)
	}
}

// ReadText reads a file that a server may get: UTF-8 text that is not large.
func ReadText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDocument {
		return "", errNotSent
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if !plain(data) {
		return "", errNotSent
	}
	return string(data), nil
}
