package llm

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"
)

// Pings, comments and empty deltas are no content: a host that sends only these is given up.
func TestAReplyWithoutContentIsNoticed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": keep-alive\n\ndata: \n\n")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	c := caller(t)
	c.ContentTimeout = 50 * time.Millisecond
	n := 0
	RetryPolicy{Max: 3, Base: 1}.Run(t.Context(), nil, func(ctx context.Context, try int, yield func(Delta) bool) error {
		n++
		return c.Exchange(ctx, try, &Outgoing{URL: s.URL, Header: http.Header{}, Body: body("{}")}, yield,
			func(r *Reply, yield func(Delta) bool) Decoder { return &pinged{r, yield} })
	}, func(d Delta, err error) bool {
		if err != nil {
			mustFail(t, err, KindStall, true, "no content for 50ms")
		}
		return true
	})
	if n != 2 {
		t.Errorf("%d attempts", n)
	}
}

// pinged yields an empty delta for each event.
type pinged struct {
	reply *Reply
	yield func(Delta) bool
}

func (p *pinged) Decode(ctx context.Context) error {
	for events := p.reply.Events(); ; p.yield(TextDelta{}) {
		if _, err := events.Next(); err != nil {
			return p.reply.Failed(ctx, err)
		}
	}
}

func (p *pinged) Message() Message { return Message{} }
