package acp

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// openSession is a session that the client has open.
type openSession struct {
	a      *Agent
	id     string
	jobID  string
	place  placeParams // by which the client opened it
	port   *port.Stay
	events port.Events

	ctx   context.Context // ends when the client leaves the session
	end   context.CancelCauseFunc
	ready chan struct{} // closed when it is known what the session does
	sent  chan struct{} // closed when the client knows that it has the session

	show *shower // of the goroutine that reads the events

	mu      sync.Mutex
	job     supervisor.Job // as it was started last
	status  event.Status
	prompts map[string]*prompt // that the client waits for, by id
	asking  map[string]func()  // ends the requests to the client, by the id of the question
	fresh   bool               // the client made it, and nothing was said in it
	wake    chan struct{}      // tells the reader of the events that a process is needed again
	back    chan struct{}      // closed when it has the events of the next process; nil: it has them
	meant   bool               // the end of the process is meant, and the next one runs
	last    event.Cursor       // of the events that were read
}

// open connects to the process of a session, and shows its history before it returns if replay is set.
func (a *Agent) open(ctx context.Context, p placeParams, job supervisor.Job, replay, fresh bool) (opened, error) {
	s := &openSession{
		a: a, id: p.SessionID, jobID: job.ID, place: p, job: job, ready: make(chan struct{}), sent: make(chan struct{}),
		prompts: map[string]*prompt{}, asking: map[string]func(){}, fresh: fresh, wake: make(chan struct{}, 1),
	}
	s.ctx, s.end = context.WithCancelCause(a.life)
	door, can := a.Door, a.can()
	a.mu.Lock()
	door.Face = port.Face{
		Kind: "editor", Name: a.name, Buffers: can.FS.Read || can.FS.Write, Answer: s.answerProcess,
	}
	a.mu.Unlock()
	stay, err := door.Stay(ctx, job.ID)
	if err != nil {
		return opened{}, err
	}
	s.port = stay
	s.show = &shower{s: s, calls: map[string]*shown{}, said: map[string]*strings.Builder{}}
	from := port.From{History: 1}
	if replay {
		from.History = 0
	}
	if s.events, err = stay.Attach(s.ctx, from); err != nil {
		return opened{}, errors.Join(err, stay.Close())
	}
	a.mu.Lock()
	a.sessions[s.id] = s
	a.mu.Unlock()
	go s.follow(replay)
	select {
	case <-s.ready:
	case <-s.ctx.Done():
		return opened{}, context.Cause(s.ctx)
	case <-ctx.Done():
		a.drop(s)
		return opened{}, ctx.Err()
	}
	out := opened{Options: s.options(ctx), Modes: s.modes(), sent: sync.OnceFunc(func() { close(s.sent) })}
	if fresh {
		out.SessionID = s.id
	}
	return out, nil
}

// follow tells the client of the session's events until it leaves.
func (s *openSession) follow(replay bool) {
	defer func() {
		s.a.drop(s)
		s.events.Close()
		_ = s.port.Close() // the session goes on
		s.endPrompts(outcome{err: context.Cause(s.ctx)}, func(*prompt) bool { return true })
	}()
	var early []event.Event // what comes before the client knows the session, and is not in its history
	for ready := false; ; {
		e, err := s.events.Next(s.ctx)
		if errors.Is(err, io.EOF) && ready {
			if err = s.attachAgain(); err == nil {
				continue
			}
		}
		if err != nil {
			s.end(err)
			return
		}
		if e.Cursor != "" {
			s.last = e.Cursor
		}
		switch b := e.Body.(type) {
		case event.Opened:
			if replay && !ready {
				s.replay(b)
			}
			continue
		case event.Status:
			s.setStatus(b)
		}
		if ready {
			s.take(e)
			continue
		}
		if e.Cursor != "" { // of the turn that runs
			if replay {
				s.show.event(e)
			}
			continue
		}
		early = append(early, e)
		if _, ok := e.Body.(event.State); ok {
			ready = true
			close(s.ready)
			select {
			case <-s.sent:
			case <-s.ctx.Done():
				return
			}
			s.show.commands()
			for _, e := range early {
				s.take(e)
			}
		}
	}
}

// attachAgain goes on with the events of the next process, when the client wants something of the session: who attaches
// early would start the process that is to be replaced.
func (s *openSession) attachAgain() error {
	s.mu.Lock()
	meant := s.meant
	if s.back == nil {
		s.back = make(chan struct{})
	}
	s.mu.Unlock()
	s.events.Close()
	if !meant {
		s.endPrompts(outcome{err: errors.New("the process of the session was ended")}, func(*prompt) bool { return true })
	}
	select {
	case <-s.wake:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	events, err := s.port.Attach(s.ctx, port.From{After: s.last, History: 1})
	if err == nil {
		s.events = events
	}
	return err
}

// attached notes that the events of a process come.
func (s *openSession) attached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.meant = false; s.back != nil {
		close(s.back)
		s.back = nil
	}
}

// awake waits until the events of a process come.
func (s *openSession) awake(ctx context.Context) error {
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	if back == nil {
		return nil
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	select {
	case <-back:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// replay shows a history, the earlier pages first.
func (s *openSession) replay(o event.Opened) {
	all := o.History
	for more := o.More; more != ""; {
		page, err := s.port.Read(s.ctx, port.ReadRequest{What: "history", Before: more, Limit: 1000})
		if err != nil || page.History == nil {
			break // what is there is shown
		}
		all, more = append(page.History.History, all...), page.History.More
	}
	s.show.replaying = true
	for _, b := range all {
		s.show.event(event.Event{Session: o.Session, Body: b})
	}
	s.show.replaying = false
}

func (s *openSession) setStatus(now event.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = now
}

func (s *openSession) state() event.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// unused reports whether the client made the session and nobody said anything in it.
func (s *openSession) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh
}

// take handles an event of the running session.
func (s *openSession) take(e event.Event) {
	switch b := e.Body.(type) {
	case event.UserMessage:
		s.mu.Lock()
		p := s.prompts[b.Message.ID]
		s.fresh = false
		s.mu.Unlock()
		if p != nil {
			if p.began = true; !p.shows {
				return // the client has shown it
			}
		}
	case event.Asked:
		s.ask(e, b)
		return
	case event.Answered:
		s.mu.Lock()
		end := s.asking[b.ID]
		s.mu.Unlock()
		if end != nil {
			end()
		}
		return
	case event.Returned:
		s.endPrompts(outcome{stop: "refusal"}, func(p *prompt) bool { return p.id == b.Message.ID })
	case event.StepEnd:
		if len(e.Agent) == 0 {
			s.show.stop = b.Stop
		}
	case event.TurnEnd:
		if len(e.Agent) == 0 {
			s.show.event(e)
			s.turnEnded(b)
			return
		}
	case event.State:
		s.attached()
		s.stateChanged(b)
		s.does(b)
		return
	}
	s.show.event(e)
}

// update tells the client something of the session. A client that is gone is noticed by the connection.
func (s *openSession) update(u any) {
	if s.a.drafts() {
		if u = draft(u); u == nil {
			return
		}
	}
	_ = s.a.conn.Notify(s.ctx, "session/update", notification{s.id, u})
}

// setMode is session/set_mode.
func (a *Agent) setMode(ctx context.Context, p setModeParams) (struct{}, error) {
	s, err := a.session(p.SessionID)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.set(ctx, "mode", p.ModeID)
}

// setOption is session/set_config_option.
func (a *Agent) setOption(ctx context.Context, p setOptionParams) (setOptionResult, error) {
	s, err := a.session(p.SessionID)
	if err != nil {
		return setOptionResult{}, err
	}
	value := strings.Trim(string(p.Value), `"`)
	if err := s.set(ctx, p.ConfigID, value); err != nil {
		return setOptionResult{}, err
	}
	return setOptionResult{s.options(ctx)}, nil
}

// setTitle is session/set_title.
func (a *Agent) setTitle(ctx context.Context, p titleParams) (titleResult, error) {
	s, err := a.session(p.SessionID)
	if err == nil {
		err = s.awake(ctx)
	}
	title := strings.Join(strings.Fields(p.Title), " ")
	if title == "" {
		err = badParams("the title is empty")
	}
	if err == nil {
		_, err = s.port.Command(ctx, port.Command{Name: "rename", Args: title})
	}
	return titleResult{title}, err
}

// set changes an option to one of its values.
func (s *openSession) set(ctx context.Context, id, value string) error {
	if err := s.awake(ctx); err != nil {
		return err
	}
	for _, o := range s.options(ctx) {
		if o.ID != id {
			continue
		}
		for _, v := range o.Options {
			if v.Value != value {
				continue
			}
			if id == sandboxOption {
				return s.setSandbox(ctx, value)
			}
			if _, err := s.port.Command(ctx, port.Command{Name: id, Args: value}); err != nil {
				return fault(jsonrpc.InvalidRequest, "%v", err)
			}
			now, err := s.port.Read(ctx, port.ReadRequest{What: "status"})
			if err == nil && now.Status != nil {
				s.setStatus(*now.Status)
			}
			return err
		}
		return badParams("%s cannot be %q here", id, value)
	}
	return badParams("there is no option %q", id)
}
