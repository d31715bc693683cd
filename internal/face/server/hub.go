package server

import (
	"reflect"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// hub watches the files of jobs while there are readers of events.
type hub struct {
	s *Server

	mu      sync.Mutex
	readers map[*changes]bool
	known   map[string]supervisor.Job
	stop    chan struct{}
}

// watchEvery is how often the files of jobs are read.
const watchEvery = 300 * time.Millisecond

// changes are the jobs that changed since a reader took them last: of each the newest state.
type changes struct {
	jobs []supervisor.Job // as the reader joined
	wake chan struct{}
	hub  *hub
	new  map[string]supervisor.Job
}

// join adds a reader.
func (h *hub) join() (*changes, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &changes{wake: make(chan struct{}, 1), hub: h, new: map[string]supervisor.Job{}}
	if len(h.readers) == 0 {
		h.readers, h.known, h.stop = map[*changes]bool{}, nil, make(chan struct{})
		go h.watch(h.stop)
	}
	h.look()
	h.readers[c] = true
	for _, j := range h.known {
		c.jobs = append(c.jobs, j)
	}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.readers, c); len(h.readers) == 0 {
			close(h.stop)
		}
	}
}

func (h *hub) watch(stop chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		h.mu.Lock()
		h.look()
		revoked := h.s.devices.changed()
		for c := range h.readers {
			if revoked || len(c.new) > 0 {
				c.signal()
			}
		}
		h.mu.Unlock()
	}
}

// look compares the jobs with those known. The lock is held.
func (h *hub) look() {
	jobs, _ := h.s.Place.List() // those that can be read
	now := make(map[string]supervisor.Job, len(jobs))
	for _, j := range jobs {
		now[j.ID] = j
		if before, ok := h.known[j.ID]; !ok || !reflect.DeepEqual(before, j) {
			h.tell(j)
		}
	}
	for id, j := range h.known {
		if _, ok := now[id]; !ok {
			h.tell(supervisor.Job{ID: id, SessionID: j.SessionID})
		}
	}
	h.known = now
}

func (h *hub) tell(j supervisor.Job) {
	for c := range h.readers {
		c.new[j.ID] = j
	}
}

func (c *changes) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take returns the jobs that changed.
func (c *changes) take() (out []supervisor.Job) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	for _, j := range c.new {
		out = append(out, j)
	}
	clear(c.new)
	return out
}
