package agent

import (
	"context"
	"errors"
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
	req := &llm.Request{
		System: t.system, Tools: t.specs, Effort: effort, MaxTokens: t.limit(),
		Messages: t.repr.repair(t.cfg.Transcript.Messages(), info),
	}
	if len(req.Messages) == 0 {
		return llm.Message{}, outcome{}, errors.New("there is nothing to send: the conversation is empty")
	}
	t.cfg.Publish(event.StepStart{Step: t.end.Steps, Model: info.ID})
	s := &stream{turn: t, ctx: ctx, model: info.ID, queue: t.newQueue(ctx, true)}
	began := t.cfg.Clock()
	reply, err := s.read(model, req)
	took := t.cfg.Clock().Sub(began)
	if errors.Is(err, errCutShort) {
		// Nothing was kept: the same request goes out once more with a higher limit.
		t.cfg.Publish(event.Retry{Attempt: 1, Max: 1, Err: "the reply was cut off at the output limit; asking again with a higher one"})
		t.account(info, s.usage, llm.StopMaxTokens, took)
		return t.step(ctx)
	}
	out := s.queue.wait()
	if err == nil || s.kept() {
		t.account(info, s.usage, reply.Stop, took)
	}
	return reply, s.verdict(&out, err), t.stepError(s, err)
}

// verdict adds to an outcome what went wrong with the stream.
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

// stepError is the error that ends the step without a reply, or nil when what was kept goes on.
func (t *turn) stepError(s *stream, err error) error {
	if err == nil || s.kept() || s.ctx.Err() != nil || s.writeErr != nil {
		return nil
	}
	return err
}

// account adds up what a reply cost and closes the step.
func (t *turn) account(info llm.ModelInfo, u llm.Usage, stop llm.StopReason, took time.Duration) {
	cost := info.Price.Cost(u)
	t.spent += cost
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
	done     []llm.Part
	have     []bool // done[i] is complete
	written  []bool // done[i] is in the journal
	called   bool   // a call was handed over
	open     int    // index of the text that streams
	text     strings.Builder
	usage    llm.Usage
	writeErr error
}

// kept reports whether something of the reply is in the journal and must go on from there.
func (s *stream) kept() bool { return s.called || s.anyWritten() }

func (s *stream) anyWritten() bool {
	for _, w := range s.written {
		if w {
			return true
		}
	}
	return false
}

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
		if s.take(d); s.writeErr != nil {
			return llm.Message{}, s.writeErr
		}
	}
	return s.broke(&llm.Error{Kind: llm.KindProtocol, Message: "the provider's stream ended without a result", Retryable: true})
}

func (s *stream) reset() {
	s.id = "msg_" + uuid.NewString()
	s.done, s.have, s.written = nil, nil, nil
	s.open = -1
	s.text.Reset()
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
		s.delta(d)
	case llm.Retrying:
		s.retrying(d)
	case llm.PartDone:
		s.complete(d.Index, d.Part)
		if s.called {
			s.flush(d.Index + 1)
		}
	case llm.ToolReady:
		s.complete(d.Index, d.Call)
		s.flush(d.Index + 1)
		if s.writeErr == nil {
			s.called = true
			s.queue.add(d.Call)
		}
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

// complete notes a finished part.
func (s *stream) complete(i int, p llm.Part) {
	for len(s.done) <= i {
		s.done, s.have, s.written = append(s.done, nil), append(s.have, false), append(s.written, false)
	}
	s.done[i], s.have[i] = p, true
	if i == s.open {
		s.open = -1
		s.text.Reset()
	}
}

// flush journals the complete parts below n and then shows them.
func (s *stream) flush(n int) {
	for i := 0; i < n && i < len(s.done) && s.writeErr == nil; i++ {
		if !s.have[i] || s.written[i] {
			continue
		}
		if err := s.cfg.Transcript.AddPart(context.WithoutCancel(s.ctx), i, s.done[i]); err != nil {
			s.writeErr = err
			return
		}
		s.written[i] = true
		s.cfg.Publish(event.PartDone{MessageID: s.id, Index: i, Part: s.done[i], Model: s.model, Usage: s.usage})
	}
}

// finish closes a reply that came whole.
func (s *stream) finish(m llm.Message) (llm.Message, error) {
	if m.Usage != nil {
		s.usage = *m.Usage
	}
	if m.Stop == llm.StopMaxTokens && !s.called && len(m.Calls()) == 0 && s.raise() {
		return m, errCutShort
	}
	for i, p := range m.Parts {
		if i >= len(s.have) || !s.have[i] {
			s.complete(i, p)
		}
	}
	s.called = s.called || len(m.Calls()) > 0
	return s.close(m.ID, m.Stop)
}

// broke keeps what was complete when the stream failed after a call, and what was to be read when the
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
	s.flush(len(s.done))
	if s.writeErr != nil {
		return llm.Message{}, s.writeErr
	}
	usage := s.usage
	m := llm.Message{ID: id, Role: llm.Assistant, Model: s.model, Usage: &usage, Stop: stop}
	for i, p := range s.done {
		if s.have[i] {
			m.Parts = append(m.Parts, p)
		}
	}
	if len(m.Parts) == 0 {
		return m, nil
	}
	if err := s.cfg.Transcript.AddReply(context.WithoutCancel(s.ctx), m); err != nil {
		s.writeErr = err
		return m, err
	}
	s.cfg.Publish(event.Response{Message: m})
	for _, c := range m.Calls() {
		s.queue.add(c)
	}
	return m, nil
}
