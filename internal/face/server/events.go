package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// eventsQuery chooses what a stream brings.
type eventsQuery struct {
	Session  []string `json:"-" query:"session" doc:"follow these sessions as long as they have a process; without: all that work"`
	History  int      `json:"-" query:"history" doc:"events in opened, with which a session begins; 50"`
	NoDeltas bool     `json:"-" query:"nodeltas" doc:"leave out pieces of text and output: their whole follows"`
	NoList   bool     `json:"-" query:"nolist" doc:"leave out session.changed and session.removed"`
	Kind     []string `json:"-" query:"kind" doc:"only events of these kinds"`
	After    string   `json:"-" query:"after" doc:"as Last-Event-ID, where a header cannot be sent"`
}

// Kinds of the events that are the server's own.
const (
	kindHello     = "hello"           // the first: Hello
	kindChanged   = "session.changed" // Session
	kindRemoved   = "session.removed"
	kindResync    = "resync"    // the reader fell behind: opened follows, or the session sleeps and its history is to be read
	kindHeartbeat = "heartbeat" // every heartbeat seconds
)

// Hello begins a stream.
type Hello struct {
	Lathe     string `json:"lathe"`
	Heartbeat int    `json:"heartbeat" jsonschema:"seconds between heartbeats: a stream that is silent for twice as long is dead"`
}

const heartbeat = 15 * time.Second

// own is an event of the server.
type own struct {
	Kind    string    `json:"kind"`
	Time    time.Time `json:"time"`
	Session string    `json:"session,omitempty"`
	Body    any       `json:"body,omitempty"`
}

// item is an event on its way to a reader.
type item struct {
	data   []byte
	cursor event.Cursor
}

// stream is one reader of events.
type stream struct {
	s     *Server
	who   Principal
	query eventsQuery
	items chan item // without room: a slow reader holds up its own sessions only, in their processes

	following map[string]context.CancelFunc // by job
	ended     chan string                   // jobs that are not followed any more
	cursors   cursors
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	who, _ := From(r.Context())
	x := &stream{
		s: s, who: who, items: make(chan item), following: map[string]context.CancelFunc{}, ended: make(chan string),
	}
	in, err := operation{in: typeOf[eventsQuery](), method: r.Method}.read(w, r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	x.query = *in.(*eventsQuery)
	end, p := s.rates.stream(who.key)
	if p != nil {
		writeProblem(w, p)
		return
	}
	defer end()
	s.count.streams.Add(1)
	defer s.count.streams.Add(-1)
	x.cursors = parseCursors(cmp.Or(r.Header.Get("Last-Event-ID"), x.query.After))
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy is not to hold events back
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x.run(ctx, w)
}

// run sends events until the reader goes, or may not read any more.
func (x *stream) run(ctx context.Context, w http.ResponseWriter) {
	changes, leave := x.s.hub.join()
	defer leave()
	out := &sender{w: w, rc: http.NewResponseController(w)}
	out.own(kindHello, "", Hello{x.s.Lathe, int(heartbeat / time.Second)})
	for _, j := range changes.jobs {
		x.changed(ctx, out, j, true)
	}
	x.missed(out)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for out.flush() == nil {
		select {
		case <-ctx.Done():
			return
		case it := <-x.items:
			x.s.count.events.Add(1)
			x.cursors.note(it.cursor)
			out.event(it, x.cursors)
		case <-changes.wake:
			if x.revoked() {
				return
			}
			for _, j := range changes.take() {
				x.changed(ctx, out, j, false)
			}
		case job := <-x.ended:
			x.following[job]()
			delete(x.following, job)
			if j, err := x.s.Place.Read(job); err == nil && x.wants(j, false) {
				x.follow(ctx, j)
			}
		case <-beat.C:
			if x.revoked() {
				return
			}
			out.own(kindHeartbeat, "", nil)
		}
	}
}

// revoked reports whether the device may not read any more.
func (x *stream) revoked() bool { return !x.who.Local && !x.s.devices.has(x.who.ID) }

// changed tells of a job, and follows it if it is wanted.
func (x *stream) changed(ctx context.Context, out *sender, j supervisor.Job, first bool) {
	now := fromJob(j)
	switch {
	case x.query.NoList || first && !now.Live:
	case j.CWD == "":
		out.own(kindRemoved, cmp.Or(j.SessionID, j.ID), nil)
	default:
		out.own(kindChanged, now.ID, now)
	}
	if x.wants(j, !first || x.cursors.of(j.SessionID) != "") {
		x.follow(ctx, j)
	}
}

// missed tells a reader that comes back of sessions that went on and have no process any more.
func (x *stream) missed(out *sender) {
	for _, at := range x.cursors {
		id := sessionOf(at)
		if j, ok := x.s.job(id); ok && j.Live() || len(x.query.Session) > 0 && !slices.Contains(x.query.Session, id) {
			continue
		}
		log, err := x.s.Store.OpenReadOnly(id)
		if err != nil {
			continue // it is gone, as the list says
		}
		if log.Head() != "" && event.CursorAt(id, log.Head(), 0) != at {
			out.own(kindResync, id, nil)
		}
		_ = log.Close() // it only read
	}
}

// wants reports whether a job is to be followed now: one that the reader named while it has a process, and else one
// that works or has news, so that a reader of everything keeps no process from its rest.
func (x *stream) wants(j supervisor.Job, news bool) bool {
	if len(x.query.Session) > 0 {
		return j.Live() && (slices.Contains(x.query.Session, j.SessionID) || slices.Contains(x.query.Session, j.ID))
	}
	return j.Live() && (news || restarts(j))
}

// follow begins to read the events of a job.
func (x *stream) follow(ctx context.Context, j supervisor.Job) {
	if _, already := x.following[j.ID]; already {
		return
	}
	life, stop := context.WithCancel(ctx)
	x.following[j.ID] = stop
	from := port.From{After: x.cursors.of(j.SessionID), History: cmp.Or(x.query.History, 50)}
	go func() {
		x.read(life, j, from)
		select {
		case x.ended <- j.ID:
		case <-ctx.Done():
		}
	}()
}

// restAfter is how long a session that does nothing is followed, unless the reader named it.
const restAfter = time.Minute

// read sends the events of a job to the reader until its process ends or it rests.
func (x *stream) read(ctx context.Context, j supervisor.Job, from port.From) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	stay := port.NewStay(nil, func(ctx context.Context) (*port.Client, error) {
		c, err := port.Dial(ctx, x.s.Place.Socket(j.ID), x.who.face())
		if err != nil {
			if now, bad := x.s.Place.Read(j.ID); bad != nil || !restarts(now) {
				gone() // it is asleep; the list tells when it wakes
			}
		}
		return c, err
	})
	defer func() { _ = stay.Close() }()
	events, err := stay.Attach(ctx, from)
	if err != nil {
		return
	}
	defer events.Close()
	idle := time.AfterFunc(restAfter, gone)
	defer idle.Stop()
	for {
		e, err := events.Next(ctx)
		if errors.Is(err, port.ErrResync) {
			x.s.count.resyncs.Add(1)
			if !x.send(ctx, ownEvent(kindResync, j.SessionID, nil)) {
				return
			}
			events.Close()
			if events, err = stay.Attach(ctx, port.From{History: from.History}); err == nil {
				continue
			}
		}
		if err != nil {
			return
		}
		if b, ok := e.Body.(event.State); ok {
			if idle.Stop(); b.Doing == event.Idle && len(x.query.Session) == 0 {
				idle.Reset(restAfter)
			}
		}
		if !x.passes(e) {
			continue
		}
		b, err := json.Marshal(e)
		if err != nil || !x.send(ctx, item{b, e.Cursor}) {
			return
		}
	}
}

// restarts reports whether a process that is gone is started again by itself.
func restarts(j supervisor.Job) bool {
	return j.State == supervisor.Working || j.State == supervisor.Blocked
}

func (x *stream) passes(e event.Event) bool {
	kind := e.Body.Kind()
	if x.query.NoDeltas && (kind == "delta" || kind == event.ToolOutput{}.Kind()) {
		return false
	}
	return len(x.query.Kind) == 0 || slices.Contains(x.query.Kind, kind)
}

func (x *stream) send(ctx context.Context, it item) bool {
	select {
	case x.items <- it:
		return true
	case <-ctx.Done():
		return false
	}
}

// sender writes a stream.
type sender struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
	err error
}

func ownEvent(kind, session string, body any) item {
	b, _ := json.Marshal(own{kind, time.Now().UTC(), session, body}) // it has only plain fields
	return item{data: b}
}

func (o *sender) own(kind, session string, body any) { o.event(ownEvent(kind, session, body), nil) }

// event adds an event. JSON has no newlines of its own.
func (o *sender) event(it item, at cursors) {
	if it.cursor != "" {
		o.buf.WriteString("id: " + at.String() + "\n")
	}
	o.buf.WriteString("data: ")
	o.buf.Write(it.data)
	o.buf.WriteString("\n\n")
}

func (o *sender) flush() error {
	if o.buf.Len() == 0 {
		return o.err
	}
	_ = o.rc.SetWriteDeadline(time.Now().Add(writeWait)) // a reader that does not read is let go
	_, err := o.w.Write(o.buf.Bytes())
	o.buf.Reset()
	o.err = errors.Join(err, o.rc.Flush())
	return o.err
}

// cursors are the newest cursor of each session, the newest last.
type cursors []event.Cursor

// mostCursors keeps Last-Event-ID far below the limit of a header. A session that is not in it begins with opened.
const mostCursors = 64

// parseCursors reads the form of String. What is no cursor is left out.
func parseCursors(text string) (out cursors) {
	for c := range strings.SplitSeq(text, ",") {
		if id, _, _, err := event.Cursor(c).Split(); err == nil && id != "" && len(c) < 200 {
			out.note(event.Cursor(c))
		}
	}
	return out
}

func (c cursors) String() string {
	all := make([]string, len(c))
	for i := range c {
		all[i] = string(c[i])
	}
	return strings.Join(all, ",")
}

func sessionOf(c event.Cursor) string {
	id, _, _ := strings.Cut(string(c), ":")
	return id
}

// of is the cursor of a session; empty: there is none.
func (c cursors) of(session string) event.Cursor {
	for _, at := range c {
		if sessionOf(at) == session {
			return at
		}
	}
	return ""
}

// note takes a newer cursor.
func (c *cursors) note(at event.Cursor) {
	if at == "" {
		return
	}
	if n := len(*c); n > 0 && sessionOf((*c)[n-1]) == sessionOf(at) {
		(*c)[n-1] = at
		return
	}
	*c = append(slices.DeleteFunc(*c, func(o event.Cursor) bool { return sessionOf(o) == sessionOf(at) }), at)
	*c = (*c)[max(0, len(*c)-mostCursors):]
}
