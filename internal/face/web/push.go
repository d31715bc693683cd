package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Push tells the browsers of a user of open questions and of work that is done, by the push services of their makers
// (RFC 8030). Those carry what they cannot read: it is encrypted for the browser (RFC 8291).
type Push struct {
	File string // where the key and the subscriptions are kept, mode 0600
	// Device is the device of a request, and whether it may answer questions.
	Device func(ctx context.Context) (id string, answers bool)
	Alive  func(device string) bool // it was not revoked
	Client *http.Client             // nil: one that reaches no private address

	mu   sync.Mutex
	told []string // questions that were sent lately
}

// pushState is the file.
type pushState struct {
	Public        string         `json:"public"`
	Private       string         `json:"private"`
	Subscriptions []subscription `json:"subscriptions"`
}

// subscription is a browser's address at its push service.
type subscription struct {
	webpush.Subscription
	Device  string `json:"device"`
	Answers bool   `json:"answers"`
}

// message is what a browser shows.
type message struct {
	Title    string   `json:"title"`
	Body     string   `json:"body,omitempty"`
	Tag      string   `json:"tag"` // a later message with the same takes its place
	Session  string   `json:"session"`
	Question string   `json:"question,omitempty"`
	Actions  []action `json:"actions,omitempty"`
}

// action is an answer that can be given from the notification.
type action struct {
	Choice string `json:"choice"`
	Label  string `json:"label"`
}

const (
	mostSubscriptions = 50
	pushLives         = 12 * time.Hour // a push service keeps a message so long for a phone that is off
	pushWait          = 20 * time.Second
	mostPushText      = 300
)

func (p *Push) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /page/push", func(w http.ResponseWriter, _ *http.Request) {
		s, err := p.change(func(*pushState) {})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, map[string]string{"key": s.Public})
	})
	mux.HandleFunc("POST /page/push", func(w http.ResponseWriter, r *http.Request) {
		var in webpush.Subscription
		if json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<10)).Decode(&in) != nil || !pushable(in.Endpoint) {
			http.Error(w, "this is no subscription at a push service", http.StatusBadRequest)
			return
		}
		device, answers := p.Device(r.Context())
		p.changed(w, func(s *pushState) {
			s.drop(in.Endpoint)
			s.Subscriptions = append(s.Subscriptions, subscription{in, device, answers})
			s.Subscriptions = s.Subscriptions[max(0, len(s.Subscriptions)-mostSubscriptions):]
		})
	})
	mux.HandleFunc("DELETE /page/push", func(w http.ResponseWriter, r *http.Request) {
		var in webpush.Subscription
		_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<10)).Decode(&in) // of nothing nothing is dropped
		p.changed(w, func(s *pushState) { s.drop(in.Endpoint) })
	})
}

// pushable reports whether an endpoint may be that of a push service.
func pushable(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(endpoint) < 2000
}

func (s *pushState) drop(endpoint string) {
	s.Subscriptions = slices.DeleteFunc(s.Subscriptions, func(o subscription) bool { return o.Endpoint == endpoint })
}

func (p *Push) changed(w http.ResponseWriter, f func(*pushState)) {
	if _, err := p.change(f); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// change changes what is kept. The key is made the first time.
func (p *Push) change(f func(*pushState)) (s pushState, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := os.ReadFile(p.File)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil || s.Private == "" {
		if s.Private, s.Public, err = webpush.GenerateVAPIDKeys(); err != nil {
			return s, fmt.Errorf("no key for push messages: %w", err)
		}
	}
	f(&s)
	now, err := json.Marshal(s)
	if err != nil || string(now) == string(b) {
		return s, err
	}
	return s, atomicfile.Write(p.File, now, 0o600)
}

// state reads what is kept; without a file there is nothing.
func (p *Push) state() (s pushState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, err := os.ReadFile(p.File); err == nil {
		_ = json.Unmarshal(b, &s) // a file that is no JSON holds no subscription
	}
	return s
}

// Blocked tells the browsers of the questions that are open in a session.
func (p *Push) Blocked(ctx context.Context, title string, s port.Session) error {
	got, err := s.Read(ctx, port.ReadRequest{What: "questions"})
	if err != nil {
		return err
	}
	for _, e := range got.Questions {
		if a, ok := e.Body.(event.Asked); ok && p.first(a.ID) {
			err = errors.Join(err, p.send(ctx, pushed(title, e.Session, a)))
		}
	}
	return err
}

// first reports whether a question was not sent before.
func (p *Push) first(question string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.told, question) {
		return false
	}
	p.told = append(p.told, question)
	p.told = p.told[max(0, len(p.told)-1000):]
	return true
}

// Done tells the browsers that a session has nothing to do any more.
func (p *Push) Done(ctx context.Context, session, title, state string) error {
	return p.send(ctx, message{Title: cmp.Or(title, "lathe"), Body: "The turn is " + state, Tag: session, Session: session})
}

// Wanted reports whether any browser wants messages.
func (p *Push) Wanted() bool { return len(p.state().Subscriptions) > 0 }

// pushed is the message about a question. A call can be allowed once or denied from it; anything else needs the page.
func pushed(title, session string, a event.Asked) message {
	q := a.Question
	m := message{Title: cmp.Or(title, "lathe"), Tag: session, Session: session, Question: a.ID, Body: q.Title}
	switch v := q.Preview.(type) {
	case event.Command:
		m.Body = v.Command
	case event.Diff:
		m.Body = q.Title + " " + v.Path
	}
	m.Body = term.Truncate(term.EscapeLine(m.Body), mostPushText, "…")
	if q.Permission == nil {
		return m
	}
	for _, o := range q.Options {
		switch o.ID {
		case event.ChoiceOnce:
			m.Actions = append(m.Actions, action{o.ID, "Allow"})
		case event.ChoiceNo:
			m.Actions = append(m.Actions, action{o.ID, "Deny"})
		}
	}
	return m
}

// send sends a message to every browser. A subscription that is over is forgotten.
func (p *Push) send(ctx context.Context, m message) error {
	s := p.state()
	var failed error
	for _, sub := range s.Subscriptions {
		if !p.Alive(sub.Device) {
			p.forget(sub.Endpoint)
			continue
		}
		own := m
		if !sub.Answers {
			own.Actions = nil
		}
		failed = errors.Join(failed, p.sendOne(ctx, s, sub, own))
	}
	return failed
}

func (p *Push) sendOne(ctx context.Context, s pushState, sub subscription, m message) error {
	ctx, cancel := context.WithTimeout(ctx, pushWait)
	defer cancel()
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	answer, err := webpush.SendNotificationWithContext(ctx, b, &sub.Subscription, &webpush.Options{
		HTTPClient: cmp.Or(p.Client, outward), TTL: int(pushLives / time.Second), Urgency: webpush.UrgencyHigh,
		Subscriber: "https://github.com/lathe-dev/lathe", VAPIDPublicKey: s.Public, VAPIDPrivateKey: s.Private,
	})
	if err != nil {
		return fmt.Errorf("a push message: %w", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusGone || answer.StatusCode == http.StatusNotFound {
		p.forget(sub.Endpoint)
	}
	return nil
}

func (p *Push) forget(endpoint string) { _, _ = p.change(func(s *pushState) { s.drop(endpoint) }) }

// outward reaches push services and nothing in this network, whatever an endpoint says.
var outward = &http.Client{
	Timeout:       pushWait,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		DialContext: (&net.Dialer{Timeout: pushWait, Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err == nil && permission.PrivateAddr(at.Addr()) {
				err = errors.New("a push service has no private address: " + strings.Trim(address, "[]"))
			}
			return err
		}}).DialContext,
	},
}
