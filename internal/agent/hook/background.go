package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// attended runs a command until it has ended or goes on in the background: from the beginning, where its handler says
// so, or from the line {"async": true} on, which it prints first. Nobody waits for it then, and it does not end with
// the turn.
func (h *Hooks) attended(ctx context.Context, handler *Handler, o occasion, id string, input []byte) Run {
	ran, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	limit := handler.limit()
	timer := time.AfterFunc(limit, func() { cancel(late(limit)) })
	left := make(chan struct{})
	o.leave = func(more time.Duration) {
		unbind()
		if timer.Stop() && more > 0 {
			limit = more
		}
		timer.Reset(limit)
		close(left)
	}
	if handler.Async {
		o.leave(0)
		o.leave = nil
	}
	done := make(chan Run, 1)
	h.running.Go(func() {
		defer cancel(nil)
		defer context.AfterFunc(h.s.Life, func() { cancel(context.Cause(h.s.Life)) })() // also where ctx outlives the turn
		r, stdout := h.timed(ran, handler, o, input)
		timer.Stop()
		unbind()
		select {
		case <-left:
			h.deliver(r, func() { h.record(r, o, id, input, stdout) })
		default:
			h.record(r, o, id, input, stdout)
			done <- r
		}
	})
	select {
	case r := <-done:
		return r
	case <-left:
		return Run{Handler: handler}
	}
}

// deliver keeps what a command in the background says for the next step, and wakes the session where it may.
func (h *Hooks) deliver(r Run, record func()) {
	if h.s.Life.Err() != nil {
		record()
		return
	}
	text := r.context()
	rewake := r.Handler.AsyncRewake && r.Exit == 2
	if rewake {
		text = strings.TrimSpace(cmp.Or(r.Stderr, r.Text) + "\n" + text)
	}
	h.postpone(text)
	record()
	h.show(r)
	h.mu.Lock()
	wakes := h.wakes
	h.mu.Unlock()
	if rewake && wakes != nil {
		wakes()
	}
}

// inBackground reports output whose first line is {"async": true}. The rest is what counts of it: from the next line on
// that begins with a brace, else all of it.
func inBackground(stdout []byte) (rest []byte, ok bool) {
	line, rest, _ := bytes.Cut(bytes.TrimSpace(stdout), []byte("\n"))
	if ok, _ = leaves(line); !ok {
		return stdout, false
	}
	for text := rest; len(text) > 0; {
		if text[0] == '{' {
			var object json.RawMessage
			if json.NewDecoder(bytes.NewReader(text)).Decode(&object) == nil {
				return object, true
			}
		}
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return rest, true
}

// leaves reads the line {"async": true, "asyncTimeout": MILLISECONDS}.
func leaves(line []byte) (ok bool, limit time.Duration) {
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return false, 0
	}
	var out struct {
		Async   bool    `json:"async"`
		Timeout float64 `json:"asyncTimeout"`
	}
	ok = json.Unmarshal(line, &out) == nil && out.Async
	return ok, time.Duration(max(0, min(out.Timeout, mostAsync)) * float64(time.Millisecond))
}

// mostAsync is the longest time that a command gets in the background, in milliseconds: a day.
const mostAsync = 24 * 60 * 60 * 1000

// mostFirst is how long a first line can be that lets a command go on in the background, in bytes.
const mostFirst = 1000

// leaving waits for the first line of a command's output, and calls leave where it says that the command goes on in the
// background.
func leaving(leave func(time.Duration)) func(text []byte) bool {
	if leave == nil {
		return nil
	}
	return func(text []byte) bool {
		text = bytes.TrimLeft(text, " \t\r\n")
		if len(text) == 0 {
			return false
		}
		line, _, whole := bytes.Cut(text, []byte("\n"))
		ok, limit := leaves(line)
		if ok {
			leave(limit)
		}
		return ok || whole || text[0] != '{' || len(text) > mostFirst
	}
}

// Wakes sets the function that is called when a hook in the background wants the model to go on; News has its text.
func (h *Hooks) Wakes(fn func()) {
	if h != nil {
		h.mu.Lock()
		h.wakes = fn
		h.mu.Unlock()
	}
}

// News takes the texts of hooks in the background, as a message that wakes the model; ok is false if there are none.
func (h *Hooks) News() (m llm.Message, ok bool) {
	if h == nil {
		return m, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	text := joined(h.later)
	h.later = nil
	return llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{
		Text:   reminder("Hook: " + text).Text,
		Origin: llm.OriginReminder,
	}}}, text != ""
}

// postpone keeps a text for the next step.
func (h *Hooks) postpone(text string) {
	if text == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.later = append(h.later, text)
}
