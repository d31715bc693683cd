package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// elicits reports whether a question becomes a form, or an address to open, of the client.
func (s *openSession) elicits(q event.Question) bool {
	can := s.a.can().Elicitation
	if q.Elicitation != nil && q.Elicitation.Mode == "url" {
		return can.URL != nil
	}
	return can.Form != nil && (q.Elicitation != nil || len(q.Parts) > 0)
}

// elicit asks a question by elicitation/create.
func (s *openSession) elicit(ctx context.Context, q event.Question) (event.Answer, error) {
	in := elicitationParams{SessionID: s.id, Mode: "form", Message: message(q)}
	if q.Call != nil {
		in.ToolCallID = q.Call.ID
	}
	switch {
	case q.Elicitation == nil:
		in.Schema = formOf(q.Parts)
	case q.Elicitation.Mode == "url":
		in.Mode, in.URL, in.ID = "url", q.Elicitation.URL, q.Elicitation.ID
	default:
		in.Schema = q.Schema
	}
	var out elicitationResult
	err := s.a.conn.Call(ctx, "elicitation/create", in, &out, nil)
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused && ctx.Err() == nil {
		return event.Answer{Canceled: true}, nil
	}
	switch {
	case err != nil:
		return event.Answer{}, errors.Join(errOpen, err)
	case out.Action == "decline":
		return event.Answer{Choice: "decline"}, nil
	case out.Action != "accept":
		return event.Answer{Canceled: true}, nil
	case q.Elicitation == nil:
		return answersOf(q.Parts, out.Content), nil
	case q.Elicitation.Mode == "url":
		return event.Answer{Choice: "accept"}, nil
	}
	if out.Content == nil {
		out.Content = map[string]json.RawMessage{}
	}
	content, err := json.Marshal(out.Content)
	return event.Answer{Choice: "accept", Input: content}, err
}

func message(q event.Question) string {
	var all []string
	for _, s := range []string{q.Title, q.Text, q.Reason} {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n\n")
}

// formField is a property of a form.
type formField struct {
	Type        string     `json:"type"` // string or array
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	OneOf       []formPick `json:"oneOf,omitempty"`
	Items       *formItems `json:"items,omitempty"`
}

type formItems struct {
	AnyOf []formPick `json:"anyOf"`
}

type formPick struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// own is the end of the name of the field for an answer in words.
const own = "_own"

// formOf is the schema of a form with the parts of a question: what is chosen, and an answer in words.
func formOf(parts []event.Question) json.RawMessage {
	fields := map[string]formField{}
	for i, p := range parts {
		name := "q" + strconv.Itoa(i+1)
		var picks []formPick
		for _, o := range p.Options {
			picks = append(picks, formPick{o.ID, strings.TrimSuffix(o.Label+": "+o.Help, ": ")})
		}
		f := formField{Type: "string", Title: p.Text, Description: p.Title, OneOf: picks}
		if p.Multi {
			f.Type, f.OneOf, f.Items = "array", nil, &formItems{picks}
		}
		fields[name] = f
		if p.Free && len(picks) > 0 {
			fields[name+own] = formField{Type: "string", Title: "In your words: " + p.Text}
		}
	}
	b, err := json.Marshal(map[string]any{"type": "object", "properties": fields})
	if err != nil {
		return nil // strings and lists are always written
	}
	return b
}

// answersOf are the answers of a form.
func answersOf(parts []event.Question, content map[string]json.RawMessage) event.Answer {
	var out event.Answer
	for i, p := range parts {
		name := "q" + strconv.Itoa(i+1)
		var one event.Answer
		if p.Multi {
			_ = json.Unmarshal(content[name], &one.Choices) // what is of another type counts as no answer
		} else if len(p.Options) > 0 {
			_ = json.Unmarshal(content[name], &one.Choice)
		} else {
			_ = json.Unmarshal(content[name], &one.Text)
		}
		if p.Free && len(p.Options) > 0 {
			_ = json.Unmarshal(content[name+own], &one.Text)
		}
		out.Parts = append(out.Parts, one)
	}
	return out
}
