package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// ask puts a question of the session to the client, beside the events. It ends when another face answers.
func (s *openSession) ask(e event.Event, a event.Asked) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	if s.asking[a.ID] != nil { // it came again after a break
		s.mu.Unlock()
		cancel()
		return
	}
	s.asking[a.ID] = cancel
	s.mu.Unlock()
	q := a.Attributed()
	if len(e.Agent) == 0 && q.Call != nil {
		s.show.announce(*q.Call, q.Text)
	}
	if t, ok := q.Preview.(event.TextView); ok && q.Consult {
		s.show.proposed(t.Text)
	}
	about := s.about(a.ID, q)
	go func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.asking, a.ID)
			s.mu.Unlock()
		}()
		answer, err := s.answerTo(ctx, about, q)
		if err != nil {
			return // another face answered, or will
		}
		_ = s.port.Answer(s.ctx, port.Answer{Session: e.Session, ID: a.ID, Answer: answer}) // the first answer counts
	}()
}

// about is the call that a question is about, as the client shows it: the whole command in its title, its content and
// its input.
func (s *openSession) about(id string, q event.Question) toolCall {
	call := llm.ToolCall{ID: "question-" + id, Name: "Question"}
	if q.Call != nil {
		call = *q.Call
	}
	u := s.show.describe(call, q.Text)
	if q.Permission == nil {
		u.Title = q.Title
	} else if command := event.CallInput(call, "command"); command != "" {
		u.Title = command
		u.Content = contents(fenced(command, "sh"))
	}
	u.Status = "pending"
	why := q.Reason
	if q.Text != "" && q.Text != u.Title {
		why = strings.TrimSpace(q.Text + "\n\n" + why)
	}
	if q.Outside != "" {
		why = strings.TrimSpace(why + "\n\nIt reaches " + q.Outside)
	}
	u.Content = append(u.Content, contents(strings.TrimSpace(why+"\n\n"+q.Undo))...)
	u.Content = append(u.Content, s.show.content(q.Preview)...)
	return u
}

// errOpen leaves a question to another face.
var errOpen = errors.New("the question stays open")

func (s *openSession) answerTo(ctx context.Context, about toolCall, q event.Question) (event.Answer, error) {
	if s.elicits(q) {
		return s.elicit(ctx, q)
	}
	if len(q.Parts) == 0 {
		return s.choose(ctx, about, q)
	}
	out := event.Answer{}
	for _, p := range q.Parts {
		one := about
		one.Title = strings.TrimSpace(p.Title + ": " + p.Text)
		one.Content = contents(p.Text)
		if len(p.Options) == 0 { // a text, which this client cannot give
			out.Parts = append(out.Parts, event.Answer{})
			continue
		}
		answer, err := s.choose(ctx, one, p)
		if err != nil {
			return out, err
		}
		if answer.Canceled {
			return event.Answer{Canceled: true}, nil
		}
		out.Parts = append(out.Parts, answer)
	}
	return out, nil
}

// choose asks the client to choose one of the options of a question.
func (s *openSession) choose(ctx context.Context, about toolCall, q event.Question) (event.Answer, error) {
	in := permissionParams{SessionID: s.id, ToolCall: about}
	for _, o := range q.Options {
		in.Options = append(in.Options, permissionOption{ID: o.ID, Name: o.Label, Kind: optionKind(o.ID)})
	}
	var out permissionResult
	var params any = in
	if s.a.drafts() {
		params = draft(in)
	}
	err := s.a.conn.Call(ctx, "session/request_permission", params, &out, nil)
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && ctx.Err() == nil {
		return event.Answer{Choice: event.ChoiceNo, Text: "the editor could not ask: " + refused.Message}, nil
	}
	if err != nil {
		return event.Answer{}, errors.Join(errOpen, err)
	}
	if out.Outcome.Outcome != "selected" {
		return event.Answer{Canceled: true}, nil
	}
	for _, o := range q.Options {
		if o.ID == out.Outcome.OptionID {
			return event.Answer{Choice: o.ID}, nil
		}
	}
	return event.Answer{Canceled: true}, nil
}

// optionKind is the kind of a choice.
func optionKind(id string) string {
	switch id {
	case event.ChoiceSession, event.ChoiceAlways, event.ChoiceEdits, "trust":
		return "allow_always"
	case event.ChoiceNever:
		return "reject_always"
	case event.ChoiceNo, event.ChoiceStop, "leave", "drop", "decline":
		return "reject_once"
	}
	return "allow_once"
}
