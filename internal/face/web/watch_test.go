package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// played is a session whose events a test gives.
type played struct {
	port.Session
	events chan event.Event
	opens  int
}

func (p *played) Attach(context.Context, port.From) (port.Events, error) {
	p.opens++
	return p, nil
}

func (p *played) Next(ctx context.Context) (event.Event, error) {
	select {
	case e, ok := <-p.events:
		if !ok {
			return e, io.EOF
		}
		if e.Body == nil {
			return e, port.ErrResync
		}
		return e, nil
	case <-ctx.Done():
		return event.Event{}, ctx.Err()
	}
}

func (p *played) Close() {}

func (p *played) play(bodies ...event.Body) {
	for _, b := range bodies {
		p.events <- event.Event{Session: "s", Body: b}
	}
}

// reader reads one stream of the page.
type reader struct {
	t    *testing.T
	body io.ReadCloser
	last string
	left string
}

func newReader(t *testing.T, url, last string) *reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/page/stream?session=s", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", last)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return &reader{t: t, body: answer.Body}
}

// until reads changes up to the first of an operation, and returns all.
func (r *reader) until(op string) (all []change) {
	r.t.Helper()
	buf := make([]byte, 4096)
	for {
		block, rest, ok := strings.Cut(r.left, "\n\n")
		if !ok {
			n, err := r.body.Read(buf)
			if err != nil && n == 0 {
				r.t.Fatalf("the stream ended with %v after %+v", err, all)
			}
			r.left += string(buf[:n])
			continue
		}
		r.left = rest
		for line := range strings.SplitSeq(block, "\n") {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				r.last = id
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var c change
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					r.t.Fatal(err)
				}
				if all = append(all, c); c.Op == op {
					return all
				}
			}
		}
	}
}

func newPlayed(t *testing.T) (*played, string) {
	s := &played{events: make(chan event.Event)}
	p := New(Options{Session: func(context.Context, string) (port.Session, func(), error) { return s, func() {}, nil }})
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return s, server.URL
}

func text(s string) event.Delta { return event.Delta{MessageID: "m", Delta: llm.TextDelta{Text: s}} }

func TestAPageThatComesBackGetsWhatItMissedOnce(t *testing.T) {
	s, url := newPlayed(t)
	first := newReader(t, url, "")
	s.play(event.Opened{Session: "s", Title: "T"}, event.Status{}, event.State{Doing: event.Working}, text("one "))
	first.until("text")
	s.play(event.State{Doing: event.Blocked}) // the id comes with the last change of a batch
	for first.last == "" {
		first.until("state")
	}
	last := first.last
	_ = first.body.Close()
	s.play(text("two "), event.Notice{Level: "info", Text: "meanwhile"})

	again := newReader(t, url, last)
	for _, c := range again.until("put") {
		if c.Op == "reset" {
			t.Error("it begins afresh")
		}
	}
	fresh := newReader(t, url, "") // one that is loaded gets the reply as far as it is written
	all := fmt.Sprint(fresh.until("state"))
	if !strings.Contains(all, "one two") || !strings.Contains(all, "meanwhile") || strings.Count(all, "reset") != 1 {
		t.Errorf("%s", all)
	}
	if s.opens != 1 {
		t.Errorf("the session was attached to %d times", s.opens)
	}
	other := newReader(t, url, "zzz-1") // of a server that was restarted
	if all := other.until("state"); all[1].Op != "reset" {
		t.Errorf("%+v", all)
	}
}

func TestAWatchThatFellBehindBeginsAfresh(t *testing.T) {
	s, url := newPlayed(t)
	r := newReader(t, url, "")
	s.play(event.Opened{Session: "s"}, event.State{})
	r.until("state")
	s.events <- event.Event{} // too much was not read
	s.play(event.Opened{Session: "s", History: []event.Body{event.UserMessage{Message: llm.UserText("all of it")}}}, event.State{})
	if all := fmt.Sprint(r.until("state")); !strings.Contains(all, "reset") || !strings.Contains(all, "all of it") {
		t.Errorf("%s", all)
	}
	close(s.events)
	r.until("gone")
}

func TestAPageThatMissedTooMuchBeginsAfresh(t *testing.T) {
	s, url := newPlayed(t)
	r := newReader(t, url, "")
	s.play(event.Opened{Session: "s"}, event.State{})
	r.until("state")
	_ = r.body.Close()
	for range mostBehind + 10 {
		s.play(event.Notice{Text: "x"})
	}
	again := newReader(t, url, r.last)
	if all := again.until("state"); all[1].Op != "reset" || len(all) < mostBehind {
		t.Errorf("%d changes, the second is %s", len(all), all[1].Op)
	}
}
