package event

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"
)

// keepEvents is the longest queue whose memory is kept for the next one.
const keepEvents = 4096

// ErrLagging ends a subscription that let more events pile up than its Options.Limit.
var ErrLagging = errors.New("event: the reader fell too far behind")

// Bus gives every event its place in one order and hands it to all subscriptions. It is safe for
// concurrent use.
type Bus struct {
	mu     sync.Mutex
	seq    uint64
	subs   []*Subscription
	live   live
	closed bool
}

// NewBus returns a bus without subscriptions. It starts no goroutine.
func NewBus() *Bus { return &Bus{} }

// Options narrows a subscription. The zero value gets everything.
type Options struct {
	Session  string // only events of this session; empty: of all
	NoDeltas bool   // leave out Delta and ToolOutput: their whole follows in PartDone and ToolEnd
	Limit    int    // end with ErrLagging rather than queue more events than this; 0: no limit

	// Gather is how long pieces of a text gather before the reader is woken for them, after the first. 0: not at all.
	Gather time.Duration
}

// Subscribe returns a subscription that gets every event published from now on. When ctx ends it is
// closed, as by [Subscription.Close].
func (b *Bus) Subscribe(ctx context.Context, o Options) *Subscription {
	s, _ := b.join(ctx, o)
	return s
}

// join adds a subscription and returns the live state at that moment.
func (b *Bus) join(ctx context.Context, o Options) (*Subscription, live) {
	s := &Subscription{bus: b, options: o, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	if b.closed {
		s.closed = true
	} else {
		b.subs = append(b.subs, s)
	}
	now := b.live.clone()
	b.mu.Unlock()
	stop := context.AfterFunc(ctx, s.Close)
	s.mu.Lock()
	s.stop = stop
	s.mu.Unlock()
	return s, now
}

// Publish stamps body and queues it for every subscription. Agent is the chain of the agent that it comes
// from and must not be changed afterwards. Publish never waits for a reader. On a closed bus it does nothing.
func (b *Bus) Publish(session string, agent []string, body Body) {
	b.PublishAt("", session, agent, body)
}

// PublishAt publishes an event that an entry of the session's log records; at is the place after it. Events
// of one session must be published in the order of its log.
func (b *Bus) PublishAt(at Cursor, session string, agent []string, body Body) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.seq++
	e := Event{Seq: b.seq, Time: time.Now(), Session: session, Agent: agent, Cursor: at, Body: body}
	b.live.take(e)
	for i := 0; i < len(b.subs); {
		if b.subs[i].push(e) {
			i++
		} else {
			b.remove(i)
		}
	}
}

// Close ends all subscriptions: each still yields the events published before.
func (b *Bus) Close() {
	b.mu.Lock()
	subs := b.subs
	b.subs, b.closed = nil, true
	b.mu.Unlock()
	for _, s := range subs {
		s.end(nil)
	}
}

func (b *Bus) drop(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.subs, s); i >= 0 {
		b.remove(i)
	}
}

// remove makes a new slice: Close may be reading the old one.
func (b *Bus) remove(i int) { b.subs = slices.Concat(b.subs[:i], b.subs[i+1:]) }

// Subscription is one reader's view of the stream. Next and All are for one goroutine; Close may be
// called from any.
type Subscription struct {
	bus     *Bus
	options Options
	wake    chan struct{}

	mu     sync.Mutex
	queue  []pending
	closed bool
	err    error
	stop   func() bool

	gathering bool // a piece woke the reader, and the next ones wait for a moment
	owed      bool // one waits

	batch  []pending // taken from the queue, owned by the reader
	next   int
	replay Replay // events to return before the queue; nil when there are none (left)
}

// pending is a queued event and the text that was merged into it. Text is gathered apart and joined once,
// when it is read: joining at every merge would copy the whole of it each time.
type pending struct {
	Event
	more []byte
}

// Next returns the next event, waiting for one until ctx ends. False means that ctx ended, or that the
// subscription was closed and everything queued before was returned; see Err.
//
// Adjacent deltas of one part, or pieces of one call's output, are merged into one event with the number and
// the time of the last. All other events come one by one.
func (s *Subscription) Next(ctx context.Context) (Event, bool) {
	for {
		if ctx.Err() != nil {
			return Event{}, false
		}
		if e, ok := s.Queued(); ok {
			return e, true
		}
		if s.ended() {
			return Event{}, false
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

// Queued returns the next event as Next does, but waits for none: false means that none is there.
func (s *Subscription) Queued() (Event, bool) {
	for s.next == len(s.batch) {
		if !s.replayed() && !s.take() {
			return Event{}, false
		}
	}
	e := s.batch[s.next].join()
	s.batch[s.next] = pending{}
	s.next++
	return e, true
}

// All yields events until Next would return false.
func (s *Subscription) All(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, ok := s.Next(ctx)
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// Close ends the subscription. Events queued before can still be read.
func (s *Subscription) Close() {
	s.bus.drop(s)
	s.end(nil)
}

// Err is ErrLagging when the subscription was ended for that, else nil.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// take swaps the queue for the batch that was read; both keep their memory.
func (s *Subscription) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	spare := s.batch[:0]
	if cap(spare) > keepEvents {
		spare = nil
	}
	s.batch, s.queue, s.next = s.queue, spare, 0
	return len(s.batch) > 0
}

// ended reports that nothing more will come: closed, and nothing was queued since take looked.
func (s *Subscription) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && len(s.queue) == 0
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.err = true, err
	}
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is already waiting
	}
}

// push is called with the bus locked, so pushes come in order. It says whether the subscription is still
// open.
func (s *Subscription) push(e Event) bool {
	if s.options.Session != "" && s.options.Session != e.Session || s.options.NoDeltas && Merges(e.Body) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if n := len(s.queue); n > 0 && s.queue[n-1].merge(e) {
		return true
	}
	if s.options.Limit > 0 && len(s.queue) >= s.options.Limit {
		s.closed, s.err = true, ErrLagging
	} else {
		s.queue = append(s.queue, pending{Event: e})
	}
	if !s.gathers(e) {
		s.signal()
	}
	return !s.closed
}

// gathers reports that the reader is woken later for a piece that is alone. The first one after a pause wakes it at
// once, and the next ones when the time for gathering has passed. The subscription is locked.
func (s *Subscription) gathers(e Event) bool {
	if s.options.Gather <= 0 || len(s.queue) != 1 || !Merges(e.Body) {
		return false
	}
	if s.gathering {
		s.owed = true
		return true
	}
	s.gathering = true
	time.AfterFunc(s.options.Gather, s.gathered)
	return false
}

// gathered wakes the reader for the pieces that have gathered, and lets the next ones gather.
func (s *Subscription) gathered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gathering = s.owed; s.owed {
		s.owed = false
		s.signal()
		time.AfterFunc(s.options.Gather, s.gathered)
	}
}
