package openai

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

func TestWhatComesBetweenTwoRequestsBelongsToNone(t *testing.T) {
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(2)...)
	k.step()
	k.srv.SendSockets(`{"type":"error","status":500,"error":{"message":"of something else"}}`)
	c := k.model.p.sockets.idle[0]
	if !await.Until(func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.unread) == 1 }) {
		t.Fatal("nothing came")
	}
	k.step()
	k.want("1.1 1.2+")
}

func TestCancellingIsNoBreak(t *testing.T) {
	replies := steps(socketBreaks + 1)
	replies[0].Faults = []llmtest.Fault{{Kind: "stall", At: "event 4", Times: socketBreaks}}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, replies...)
	for range socketBreaks {
		ctx, cancel := context.WithCancel(t.Context())
		for d, err := range k.model.Stream(ctx, &llm.Request{Messages: k.msgs, Tools: k.tools}) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, ok := d.(llm.ReasoningDelta); ok {
				go cancel() // while the reply is being read
			}
		}
		cancel()
	}
	k.step()
	rs := k.srv.Requests()
	if last := rs[len(rs)-1]; last.Socket != 1 {
		t.Errorf("after %d requests the last one was message %d", len(rs), last.Socket)
	}
}

func TestAPingBeforeAFailureHidesNothingOfIt(t *testing.T) {
	r := steps(1)[0]
	r.Shape = []string{"comments"}
	r.Faults = []llmtest.Fault{{Kind: "status", Status: 429, RetryAfter: "0.5"}}
	k := newTalk(t, llmtest.Options{}, Config{}, r)
	k.step()
	if len(k.again) != 1 || k.again[0].Delay != 500*time.Millisecond {
		t.Errorf("%+v", k.again)
	}
}

func TestAPingOfTheServerIsASignOfLife(t *testing.T) {
	r := steps(1)[0]
	r.Shape = []string{"comments"}
	k := newTalk(t, llmtest.Options{}, Config{}, r)
	ws, err := k.model.p.sockets.dial(t.Context(), k.model.p.caller.HTTP, k.model.endpoint, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	q := k.model.responsesParts(&llm.Request{Messages: k.msgs, Tools: k.tools})
	if err := ws.send(t.Context(), q.message("", q.items)); err != nil {
		t.Fatal(err)
	}
	signs := 0
	for event := []byte(nil); eventOf(event).Type != "response.completed"; {
		if event, err = ws.receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(event) == 0 {
			signs++
		}
	}
	if signs == 0 || !await.Until(func() bool { return k.srv.Pongs() >= signs }) {
		t.Errorf("%d signs of life, %d pongs", signs, k.srv.Pongs())
	}
	ws.close()

	c := &socketConn{news: make(chan struct{}, 1)}
	for range 3 {
		c.alive()
	}
	body := &socketReply{conn: c, ctx: t.Context()}
	b := make([]byte, 100)
	if n, err := body.Read(b); err != nil || string(b[:n]) != ":\n\n" || len(c.unread) != 0 {
		t.Errorf("read %q, %v; %d more wait", b[:n], err, len(c.unread))
	}
}
