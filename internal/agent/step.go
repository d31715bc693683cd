package agent

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// step is one model call and its tool calls. An error means that no call had started: nothing of the
// reply was kept, and nothing has to be answered.
func (t *turn) step(ctx context.Context) (llm.Message, outcome, error) {
	model, effort := t.Model()
	info := model.Info()
	t.cfg.Publish(event.StepStart{Step: t.end.Steps, Model: info.ID})
	var void llm.Usage // of replies that were thrown away
	began := t.cfg.Clock()
	for {
		req := &llm.Request{
			System: t.system, Tools: t.tools.Load().list(info), Effort: effort, Temperature: t.cfg.Temperature,
			MaxTokens: t.limit(), Spent: t.spent,
			Messages: t.repr.repair(t.cfg.Transcript.Messages(), t.cfg.Transcript.Revision(), info),
		}
		if len(req.Messages) == 0 {
			return llm.Message{}, outcome{}, errors.New("there is nothing to send: the conversation is empty")
		}
		sent := ctx
		if t.cfg.Adjust != nil {
			sent = t.cfg.Adjust(ctx, info, req)
		}
		if t.cfg.OnRequest != nil {
			t.cfg.OnRequest(info, req)
		}
		s := &stream{turn: t, ctx: sent, model: info.ID, queue: t.newQueue(ctx, true)}
		reply, err := s.read(model, req)
		if errors.Is(err, errCutShort) { // nothing was kept: the same request goes out with a higher limit
			void = void.Add(s.usage)
			t.cfg.Publish(event.Retry{
				Attempt: 1, Max: 1,
				Err: "the reply was cut off at the output limit; asking again with a higher one",
			})
			continue
		}
		took := t.cfg.Clock().Sub(began)
		out := s.queue.wait()
		if sum := void.Add(s.usage); err == nil || s.kept() || sum != (llm.Usage{}) {
			t.account(info, sum, reply.Stop, took)
		}
		return reply, s.verdict(&out, err), t.stepError(s, err)
	}
}

// verdict adds the stream's failures to an outcome.
func (s *stream) verdict(out *outcome, err error) outcome {
	out.interrupted = out.interrupted || s.ctx.Err() != nil
	if out.writeErr == nil {
		out.writeErr = s.writeErr
	}
	if err != nil && s.kept() && out.writeErr == nil && !out.interrupted {
		out.broke = err
	}
	return *out
}

// stepError is the error that ends the step without a reply, or nil when the turn goes on with the parts that were
// kept.
func (t *turn) stepError(s *stream, err error) error {
	if err == nil || s.kept() || s.ctx.Err() != nil || s.writeErr != nil {
		return nil
	}
	return err
}

// account adds up the cost of a reply and closes the step.
func (t *turn) account(info llm.ModelInfo, u llm.Usage, stop llm.StopReason, took time.Duration) {
	if t.base == 0 {
		t.base = u.Prompt()
	}
	cost := info.Price.Cost(u)
	t.Spend(cost)
	t.end.Usage = t.end.Usage.Add(u)
	t.end.CostUSD += cost
	t.end.APITime += took
	t.cfg.Publish(event.StepEnd{Step: t.end.Steps, Usage: u, CostUSD: cost, Stop: stop, APITime: took})
}

// errCutShort says that a reply without calls hit the output limit, which can still be raised.
var errCutShort = errors.New("cut off at the output limit")

// stream reads one reply. Complete parts are journalled as soon as that cannot turn out void: when a
// call is ready (nothing is sent again after that), or when the reply is whole. Until then a retry may
// throw them away.
type stream struct {
	*turn
	ctx   context.Context
	model string
	queue *queue

	id       string // lathe's id of the reply
	pieces   []piece
	parts    []llm.Part     // the journalled parts, in their order: the reply as it will be sent
	ids      map[string]int // calls of this reply by the id the provider gave -> index
	called   bool           // a call was handed over
	open     int            // index of the text that streams
	text     strings.Builder
	usage    llm.Usage
	display  display
	writeErr error
}

// piece is the part at one index of the provider's stream.
type piece struct {
	part    llm.Part // nil: not complete
	written bool     // it is in the journal and does not change any more
	handed  bool     // it is a call and in the queue
	again   bool     // the reply has the same call before it
}

// kept reports whether something of the reply is in the journal and must go on from there.
func (s *stream) kept() bool { return s.called || len(s.parts) > 0 }

// read consumes the stream and closes the reply in the journal. On an error after a call, or on an
// interruption, the complete parts are kept as a reply of their own.
func (s *stream) read(model llm.Model, req *llm.Request) (llm.Message, error) {
	s.reset()
	for d, err := range model.Stream(s.ctx, req) {
		if err != nil {
			return s.broke(err)
		}
		if done, ok := d.(llm.Done); ok {
			return s.finish(done.Message)
		}
		if _, again := d.(llm.Sent); again && s.called {
			return s.broke(protocolError("the provider sent the request again after a call had started"))
		}
		if s.take(d); s.writeErr != nil {
			return llm.Message{}, s.writeErr
		}
	}
	return s.broke(protocolError("the provider's stream ended without a result"))
}

func protocolError(msg string) error {
	return &llm.Error{Kind: llm.KindProtocol, Message: msg, Retryable: true}
}

func (s *stream) reset() {
	s.id = "msg_" + uuid.NewString()
	s.pieces, s.parts, s.ids = nil, nil, map[string]int{}
	s.usage = llm.Usage{}
	s.open = -1
	s.text.Reset()
	s.resetDisplay()
}

// take handles one delta other than Done.
func (s *stream) take(d llm.Delta) {
	switch d := d.(type) {
	case llm.Sent:
		s.reset()
		s.cfg.Publish(event.Request{Attempt: d.Attempt, URL: d.URL, Bytes: d.Body})
	case llm.Started:
		if d.ID != "" {
			s.id = d.ID
		}
		s.usage = d.Usage
		s.delta(d)
	case llm.TextDelta:
		if d.Index != s.open {
			s.open = d.Index
			s.text.Reset()
		}
		s.text.WriteString(d.Text)
		s.textDelta(d)
	case llm.Retrying:
		s.retrying(d)
	case llm.PartDone:
		s.complete(d.Index, d.Part)
		if s.called {
			s.flush(d.Index + 1)
			return
		}
		s.cfg.Publish(event.PartReady{
			MessageID: s.id, Index: d.Index, Part: d.Part, Model: s.model, Usage: s.usage,
			Shown: s.shown(d.Index, d.Part),
		})
	case llm.ToolReady:
		s.complete(d.Index, d.Call)
		s.flush(d.Index + 1)
		s.hand(d.Index)
	default:
		s.delta(d)
	}
}

func (s *stream) delta(d llm.Delta) { s.cfg.Publish(event.Delta{MessageID: s.id, Delta: d}) }

func (s *stream) retrying(d llm.Retrying) {
	status := 0
	if e := llm.AsError(d.Err); e != nil {
		status = e.Status
	}
	s.cfg.Publish(event.Retry{Attempt: d.Attempt, Max: d.Max, Delay: d.Delay, Err: d.Err.Error(), Status: status})
}

// complete notes a finished part; one that is in the journal stays as it is.
func (s *stream) complete(i int, p llm.Part) {
	for len(s.pieces) <= i {
		s.pieces = append(s.pieces, piece{})
	}
	if s.pieces[i].written {
		return
	}
	if c, ok := p.(llm.ToolCall); ok {
		c = c.Mended()
		s.pieces[i].again = s.repeats(i, c)
		p = s.own(i, c)
	}
	s.pieces[i].part = p
	if i == s.open {
		s.open = -1
		s.text.Reset()
	}
}

// repeats reports whether a call has the id, name and input of one before it in this reply.
func (s *stream) repeats(i int, c llm.ToolCall) bool {
	at, here := s.ids[c.ID]
	if !here || at == i || c.ID == "" {
		return false
	}
	before, ok := s.pieces[at].part.(llm.ToolCall)
	return ok && before.Name == c.Name && bytes.Equal(before.Input, c.Input)
}

// own gives a call an id that no other call of the conversation has: results find their calls by it.
func (s *stream) own(i int, c llm.ToolCall) llm.ToolCall {
	c.ID = freshID(c.ID, func(id string) bool {
		at, here := s.ids[id]
		return (here && at != i) || s.repr.uses(id)
	})
	s.ids[c.ID] = i
	return c
}

// flush journals the complete parts below n and then shows them.
func (s *stream) flush(n int) {
	for i := 0; i < n && i < len(s.pieces) && s.writeErr == nil; i++ {
		p := &s.pieces[i]
		if p.part == nil || p.written {
			continue
		}
		shown := s.shown(i, p.part)
		err := s.record(func() error {
			return s.cfg.Transcript.AddPart(context.WithoutCancel(s.ctx), len(s.parts), p.part)
		}, event.PartDone{MessageID: s.id, Index: i, Part: p.part, Model: s.model, Usage: s.usage, Shown: shown})
		if err != nil {
			s.failed(err)
			return
		}
		p.written = true
		s.parts = append(s.parts, p.part)
	}
}

// failed stops everything: nothing may happen unrecorded.
func (s *stream) failed(err error) {
	s.writeErr = err
	s.queue.failWrite(err)
}

// hand puts the call at an index into the queue, once.
func (s *stream) hand(i int) {
	p := &s.pieces[i]
	c, ok := p.part.(llm.ToolCall)
	if !ok || !p.written || p.handed || s.writeErr != nil {
		return
	}
	p.handed, s.called = true, true
	s.queue.add(c, p.again)
}

// finish closes a reply that came whole.
func (s *stream) finish(m llm.Message) (llm.Message, error) {
	if m.Usage != nil {
		s.usage = *m.Usage
	}
	if m.Stop == llm.StopMaxTokens && !s.called && len(m.Calls()) == 0 && s.raise() {
		return m, errCutShort
	}
	if len(s.parts) == 0 { // the whole counts, whatever was announced
		s.pieces, s.ids = nil, map[string]int{}
	}
	announced := maps.Clone(s.ids)
	for i, p := range m.Parts {
		if !s.has(i, p, announced) {
			s.complete(i, p)
		}
	}
	return s.close(m.ID, m.Stop)
}

// has reports whether a part of the whole reply was complete before: at its index, or, a call, at another.
func (s *stream) has(i int, p llm.Part, announced map[string]int) bool {
	if i < len(s.pieces) && s.pieces[i].part != nil {
		return true
	}
	c, ok := p.(llm.ToolCall)
	_, known := announced[c.ID]
	return ok && known
}

// broke keeps the complete parts when the stream failed after a call, and the text so far when the
// user interrupted it.
func (s *stream) broke(err error) (llm.Message, error) {
	stop := llm.StopBroken
	if s.ctx.Err() != nil {
		stop = llm.StopInterrupted
		if text := strings.TrimRight(s.text.String(), " \n"); text != "" && s.open >= 0 {
			s.complete(s.open, llm.Text{Text: text})
		}
	} else if !s.called {
		return llm.Message{}, err
	}
	m, closeErr := s.close("", stop)
	if closeErr != nil {
		return m, closeErr
	}
	return m, err
}

// close journals the rest of the parts and the end of the reply, and hands over the calls that the
// provider did not announce (those whose input cannot be read among them).
func (s *stream) close(id string, stop llm.StopReason) (llm.Message, error) {
	if id == "" {
		id = s.id
	}
	s.flush(len(s.pieces))
	if s.writeErr != nil {
		return llm.Message{}, s.writeErr
	}
	usage := s.usage
	m := llm.Message{ID: id, Role: llm.Assistant, Parts: s.parts, Model: s.model, Usage: &usage, Stop: stop}
	if len(m.Parts) == 0 {
		return m, nil
	}
	if err := s.record(func() error { return s.cfg.Transcript.AddReply(context.WithoutCancel(s.ctx), m) }); err != nil {
		s.failed(err)
		return m, err
	}
	s.cfg.Publish(event.Response{Message: m})
	for i := range s.pieces {
		s.hand(i)
	}
	return m, nil
}
