package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

const (
	lately     = 200                   // events of the history with which a page begins
	earlier    = 500                   // events of each part before
	mostItems  = 1500                  // items of a feed, before the next page begins with the history afresh
	mostBehind = 1000                  // changes that are kept for pages that come back
	frameTime  = 50 * time.Millisecond // text that grows is sent this often
	lingering  = 20 * time.Second      // that a feed is kept for a page that comes back
)

// watch is the feed of one session for all pages that show it.
type watch struct {
	id string // of this watch, so that a page of an earlier one does not go on in this

	mu      sync.Mutex
	feed    *feed
	ready   bool
	log     [][]byte // the last changes, as JSON
	next    int      // the number of the change after them
	wake    chan struct{}
	readers int
	err     error // it has ended
	stop    context.CancelFunc
}

// open is what reaches a session.
type open func(ctx context.Context) (port.Session, func(), error)

// watches are those of all sessions.
type watches struct {
	mu  sync.Mutex
	all map[string]*watch
}

// join returns the watch of a session, which begins if there is none, and what leaves it. ctx has the principal.
func (s *watches) join(ctx context.Context, session string, reach open) (*watch, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[session]
	if w == nil || w.over() {
		w = &watch{id: rand.Text()[:8], wake: make(chan struct{})}
		w.feed = newFeed(w.send)
		if s.all == nil {
			s.all = map[string]*watch{}
		}
		s.all[session] = w
		life, stop := context.WithCancel(context.WithoutCancel(ctx))
		w.stop = stop
		go w.run(life, reach)
	}
	w.mu.Lock()
	w.readers++
	w.mu.Unlock()
	return w, func() { s.leave(session, w) }
}

// leave ends the watch a while after its last reader has gone, so that a page that is loaded again gets the reply that
// is being written.
func (s *watches) leave(session string, w *watch) {
	w.mu.Lock()
	w.readers--
	last := w.readers == 0
	w.mu.Unlock()
	if !last {
		return
	}
	time.AfterFunc(lingering, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.readers > 0 {
			return
		}
		if w.stop(); s.all[session] == w {
			delete(s.all, session)
		}
	})
}

func (w *watch) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil || w.readers == 0 && len(w.feed.order) > mostItems
}

// send notes a change. The lock is held.
func (w *watch) send(c change) {
	b, err := json.Marshal(c)
	if err != nil {
		return
	}
	if len(w.log) == mostBehind {
		w.log = append(w.log[:0:0], w.log[mostBehind/2:]...)
	}
	w.log, w.next = append(w.log, b), w.next+1
}

// run applies the events of the session until ctx or the session ends.
func (w *watch) run(ctx context.Context, reach open) {
	err := w.follow(ctx, reach)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.err = errEnded
	}
	w.rouse()
}

var errEnded = errors.New("the session has ended")

// rouse wakes all readers. The lock is held.
func (w *watch) rouse() {
	close(w.wake)
	w.wake = make(chan struct{})
}

func (w *watch) follow(ctx context.Context, reach open) error {
	defer w.stop()
	s, end, err := reach(ctx)
	if err != nil {
		return err
	}
	defer end()
	for {
		events, err := s.Attach(ctx, port.From{History: lately})
		if err != nil {
			return err
		}
		err = w.read(ctx, events)
		events.Close()
		if !errors.Is(err, port.ErrResync) {
			return err
		}
	}
}

// read applies events. Text that grows is rendered once a frame, however many pieces it came in.
func (w *watch) read(ctx context.Context, events port.Events) error {
	type got struct {
		e   event.Event
		err error
	}
	next := make(chan got)
	go func() {
		for {
			e, err := events.Next(ctx)
			select {
			case next <- got{e, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var frame <-chan time.Time // of what grew
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case g := <-next:
			if g.err != nil {
				return g.err
			}
			if w.apply(g.e) && frame == nil {
				frame = time.After(frameTime)
			}
		case <-frame:
			frame = nil
			w.mu.Lock()
			w.feed.flush()
			w.rouse()
			w.mu.Unlock()
		}
	}
}

// apply takes an event, and reports whether something grew that is to be sent.
func (w *watch) apply(e event.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.next
	w.feed.apply(e)
	if _, ok := e.Body.(event.State); ok {
		w.ready = true // it follows what a reader that attaches gets
	}
	if w.next != before {
		w.rouse()
	}
	return len(w.feed.dirty) > 0
}

// position reads the id of the last change that a page got. False: it begins afresh.
func (w *watch) position(last string) (int, bool) {
	id, number, _ := strings.Cut(last, "-")
	n, err := strconv.Atoi(number)
	return n, err == nil && id == w.id
}

// take returns the changes from a position on, and the next one. Without a position, or where too much was missed, it
// is the transcript as it is now. wait is closed when there is more.
func (w *watch) take(at int, known bool) (list [][]byte, next int, wait <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.next - len(w.log)
	switch {
	case w.err != nil:
		return nil, at, nil, w.err
	case !w.ready:
		return nil, -1, w.wake, nil
	case known && at >= from && at <= w.next:
		return append([][]byte(nil), w.log[at-from:]...), w.next, w.wake, nil
	}
	for _, c := range w.feed.snapshot() {
		if b, err := json.Marshal(c); err == nil {
			list = append(list, b)
		}
	}
	return list, w.next, w.wake, nil
}
