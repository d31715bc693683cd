package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// mostURLs is how many addresses a refused call may have the user open.
const mostURLs = 5

// asked returns the questions with which a server refused a call until the user opened their addresses
// (URLElicitationRequired).
func asked(err error) (out []json.RawMessage, ok bool) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != jsonrpc.NeedsURL {
		return nil, false
	}
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(e.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > mostURLs {
		return nil, false
	}
	return data.Elicitations, true
}

// openAll asks the user to open the addresses and waits until the server reports that they are done with. Nil: the call
// may be tried again, once.
func (v *server) openAll(ctx context.Context, questions []json.RawMessage) error {
	for _, raw := range questions {
		var e elicitation
		if err := json.Unmarshal(raw, &e); err != nil || e.Mode != "url" {
			return errors.New("it wants the user to open an address, and names none that can be read")
		}
		done := v.page(e.ID)
		err := v.open(ctx, e, raw, done)
		v.forgetPage(e.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// open puts one address to the user.
func (v *server) open(ctx context.Context, e elicitation, raw json.RawMessage, done <-chan struct{}) error {
	out, fault := v.elicit(ctx, raw)
	if fault != nil {
		return fault
	}
	if a, ok := out.(elicited); !ok || a.Action != "accept" {
		return fmt.Errorf("it wants the user to open an address first, and the user did not: %s",
			e.Message[:min(len(e.Message), 200)])
	}
	w := v.caller(func(w *View) bool { return w.seat.Ask != nil })
	if w == nil || v.set.o.Elicit != nil {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pageTime): // a server need not report it
			return nil
		}
	}
	return v.untilDone(ctx, w, e, done)
}

// pageTime is how long lathe waits for the report that a page is done, where the user cannot say so.
const pageTime = 2 * time.Minute

// untilDone waits for the server's report, or the user's word: a server need not report it.
func (v *server) untilDone(ctx context.Context, w *View, e elicitation, done <-chan struct{}) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	v.set.spawn(func() {
		select {
		case <-done:
			stop()
		case <-asking.Done():
		}
	})
	q := v.asked(e)
	q.Title = "Is the page of the MCP server " + v.entry.Name + " done?"
	q.Text = e.URL
	q.Reason = "the call goes on then"
	q.Options = []event.Option{{ID: "accept", Label: "Yes, go on"}, {ID: "decline", Label: "No, give up the call"}}
	a, err := w.seat.Ask(asking, q)
	select {
	case <-done:
		return nil
	default:
	}
	if err == nil && !a.Canceled && a.Choice == "accept" {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("it wants the user to open an address first, and the user gave it up")
}

// mostPages is how many pages of a server are remembered.
const mostPages = 100

// page returns a channel that is closed when the server reports that the user is done with an address.
func (v *server) page(id string) chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pages == nil {
		v.pages = map[string]chan struct{}{}
	}
	if v.pages[id] == nil && len(v.pages) < mostPages {
		v.pages[id] = make(chan struct{})
	}
	return v.pages[id] // nil, which is never closed, beyond the limit
}

func (v *server) forgetPage(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pages, id)
}

// completed takes the server's report that the user is done with an address. It may come before lathe knows of the
// address.
func (v *server) completed(id string) {
	page := v.page(id)
	if page == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-page:
		return
	default:
		close(page)
	}
	v.set.spawn(func() { v.notify("elicitation_complete", "The page of the MCP server "+v.entry.Name+" is done") })
}

// notify runs the hooks of notifications beside the caller.
func (v *server) notify(kind, text string) {
	if w := v.caller(func(w *View) bool { return w.seat.Notify != nil }); w != nil {
		v.set.spawn(func() { w.seat.Notify(v.set.life, kind, text) })
	}
}
