package porttest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

func restart(t *testing.T, p Place) {
	if p.Restart == nil {
		t.Skip("the session lives in the process of the test")
	}
	f := p.face(t, port.Face{}, port.From{})
	f.blocked("p1")
	later := text("p2", "later")
	later.When = port.AfterTurn
	f.send(later)
	p.Restart(t)
	f = p.face(t, port.Face{}, port.From{})
	a, e := until[event.Asked](f, nil) // the turn goes on by itself, and asks again
	if r := f.send(text("p2", "later")); r.State != port.Known {
		t.Errorf("%+v", r)
	}
	if err := f.answer(a, e, event.ChoiceOnce); err != nil {
		t.Fatal(err)
	}
	until(f, func(m event.UserMessage) bool { return m.Message.ID == "p2" })
	f.rest()
	f.wantHistory("ask me", "later")
}

func read(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	for i := range 3 {
		f.send(text(fmt.Sprint("p", i), fmt.Sprint("message ", i)))
		f.rest()
	}
	short := p.face(t, port.Face{}, port.From{History: 2})
	opened, _ := until[event.Opened](short, nil)
	got := opened.History
	for more := opened.More; more != ""; {
		page, err := f.Read(t.Context(), port.ReadRequest{What: "history", Before: more, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		got, more = append(page.History.History, got...), page.History.More
	}
	if all := fmt.Sprint(said(got)); all != "[message 0 message 1 message 2]" {
		t.Errorf("%s", all)
	}
	for _, r := range []port.ReadRequest{{What: "file", Name: "../secret"}, {What: "nothing"}} {
		if _, err := f.Read(t.Context(), r); err == nil {
			t.Errorf("%+v was read", r)
		}
	}
	if c, err := f.Read(t.Context(), port.ReadRequest{What: "settings"}); err != nil || len(c.Bytes) == 0 {
		t.Errorf("%+v %v", c, err)
	}
}

// manyAtOnce: each of many requests that are sent at one time has an answer.
func manyAtOnce(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := f.Complete(ctx, event.Query{Kind: "command", Text: "c", Limit: 5}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
