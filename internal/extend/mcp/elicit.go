package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// Elicitation: a server asks the user, by a form or by an address to open.

const (
	maxElicited = 4 << 10 // bytes of a server's question
	maxAddress  = 8 << 10 // bytes of an address that the user is to open
	mostFields  = 20      // of a form
	mostTries   = 3       // to fill in a form
)

// elicitation is a server's request for an answer of the user.
type elicitation struct {
	Mode    string          `json:"mode"` // form or url; empty: form
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
	URL     string          `json:"url"`
	ID      string          `json:"elicitationId"`
}

// elicited is the user's answer: accept, decline or cancel.
type elicited struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// elicit asks the user. Where no one answers it is cancelled.
func (v *server) elicit(ctx context.Context, params json.RawMessage) (any, *jsonrpc.Error) {
	var e elicitation
	if err := json.Unmarshal(params, &e); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: err.Error()}
	}
	if len(e.URL) > maxAddress {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: fmt.Sprintf("the address is longer than %d bytes",
			maxAddress)}
	}
	e.Message = strings.ToValidUTF8(e.Message[:min(len(e.Message), maxElicited)], "\uFFFD")
	if by, ok := v.byHooks(ctx, e, nil); ok {
		return by, nil
	}
	kind := "elicitation_dialog"
	if e.Mode == "url" {
		kind = "elicitation_url_dialog"
	}
	v.notify(kind, "The MCP server "+v.entry.Name+" asks: "+e.Message)
	out, fault := v.elicitUser(ctx, e, params)
	if answer, ok := out.(elicited); ok && fault == nil {
		v.notify("elicitation_response", "The MCP server "+v.entry.Name+" got the answer "+answer.Action)
	}
	if answer, ok := out.(elicited); ok && fault == nil {
		if by, ok := v.byHooks(ctx, e, &answer); ok {
			return by, nil
		}
	}
	return out, fault
}

// byHooks lets hooks answer, before the user is asked or, with the user's answer, after; ok is false where none does.
func (v *server) byHooks(ctx context.Context, e elicitation, answer *elicited) (out elicited, ok bool) {
	w := v.caller(func(w *View) bool { return w.seat.Elicit != nil && w.seat.Elicited != nil })
	if w == nil {
		return out, false
	}
	fields := map[string]any{"mode": cmp.Or(e.Mode, "form")}
	for name, text := range map[string]string{"message": e.Message, "url": e.URL, "elicitation_id": e.ID} {
		if text != "" {
			fields[name] = text
		}
	}
	fire := w.seat.Elicit
	if answer != nil {
		fire = w.seat.Elicited
		delete(fields, "message")
		fields["action"], fields["content"] = answer.Action, answer.Content
	} else if len(e.Schema) > 0 {
		fields["requested_schema"] = e.Schema
	}
	action, content, ok := fire(ctx, v.entry.Name, fields)
	if !ok {
		return out, false
	}
	out.Action = action
	if action == "accept" && len(content) > 0 && json.Unmarshal(content, &out.Content) != nil {
		return elicited{Action: "cancel"}, true
	}
	return out, true
}

// elicitUser asks the host program or the user.
func (v *server) elicitUser(ctx context.Context, e elicitation, params json.RawMessage) (any, *jsonrpc.Error) {
	if ask := v.set.o.Elicit; ask != nil {
		return v.elicitHost(ctx, ask, params)
	}
	w := v.caller(func(w *View) bool { return w.seat.Ask != nil })
	if w == nil {
		v.log.note("it asked the user, and nobody answers in this run: " + e.Message)
		if w := v.caller(func(w *View) bool { return w.seat.Notice != nil }); w != nil {
			w.seat.Notice(fmt.Sprintf("the MCP server %s asked %q; nobody answers in this run, so it was cancelled",
				v.entry.Name, e.Message[:min(len(e.Message), 200)]))
		}
		return elicited{Action: "cancel"}, nil
	}
	switch e.Mode {
	case "", "form":
		return v.askForm(ctx, w, e)
	case "url":
		return v.askURL(ctx, w, e)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "the mode " + strconv.Quote(e.Mode) + " is not known"}
}

// elicitHost passes the question on to the host. One that knows no such questions cancels it.
func (v *server) elicitHost(ctx context.Context, ask func(context.Context, string, json.RawMessage) (json.RawMessage,
	error), params json.RawMessage,
) (any, *jsonrpc.Error) {
	raw, err := ask(ctx, v.entry.Name, params)
	var out elicited
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil || !slices.Contains([]string{"accept", "decline", "cancel"}, out.Action) {
		v.log.note(fmt.Sprintf("its question to the user was cancelled: %v", err))
		return elicited{Action: "cancel"}, nil
	}
	return out, nil
}

// asked is the part of a question that all of a server's have.
func (v *server) asked(e elicitation) event.Question {
	return event.Question{
		Title: "The MCP server " + v.entry.Name + " asks", Text: e.Message, Schema: e.Schema,
		Reason:      "the answer goes to this server; give it no passwords and no keys",
		Elicitation: &event.Elicitation{Server: v.entry.Name, Mode: cmp.Or(e.Mode, "form"), URL: e.URL, ID: e.ID},
	}
}

// askURL shows the address that the user is to open.
func (v *server) askURL(ctx context.Context, w *View, e elicitation) (any, *jsonrpc.Error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "the address is no http or https address"}
	}
	q := v.asked(e)
	q.Title = "The MCP server " + v.entry.Name + " wants you to open an address of " + u.Host
	q.Text = strings.TrimSpace(e.Message + "\n\n" + e.URL)
	q.Reason = "only if you expect it: the page is the server's, and lathe does not see it"
	q.Options = []event.Option{{ID: "accept", Label: "Yes, I open it"}, {ID: "decline", Label: "No"}}
	a, err := w.seat.Ask(ctx, q)
	switch {
	case err != nil || a.Canceled:
		return elicited{Action: "cancel"}, nil
	case a.Choice == "accept":
		return elicited{Action: "accept"}, nil
	}
	return elicited{Action: "decline"}, nil
}

// field is one property of a form.
type field struct {
	name     string
	required bool
	schema   fieldSchema
}

type fieldSchema struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Format      string          `json:"format"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []choice        `json:"oneOf"`
	Items       *struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
		OneOf []choice `json:"oneOf"`
	} `json:"items"`
	MinLength *int     `json:"minLength"`
	MaxLength *int     `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinItems  *int     `json:"minItems"`
	MaxItems  *int     `json:"maxItems"`
}

type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// fields reads the properties of a form in the order in which they are written.
func fields(schema json.RawMessage) (out []field, err error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w", err)
	}
	if len(s.Properties) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("the form has no object of properties")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := field{}
		f.name, _ = t.(string)
		if err := d.Decode(&f.schema); err != nil {
			return nil, fmt.Errorf("the field %q of the form cannot be read: %w", f.name, err)
		}
		f.required = slices.Contains(s.Required, f.name)
		out = append(out, f)
	}
	if len(out) > mostFields {
		return nil, fmt.Errorf("the form has %d fields; lathe asks for %d at most", len(out), mostFields)
	}
	return out, nil
}

// Answers to a field beside its values.
const (
	leaveOut   = "lathe:leave-out"
	useDefault = "lathe:default"
)

// question is the field as a question.
func (f *field) question() event.Question {
	s := &f.schema
	q := event.Question{Title: cmp.Or(s.Title, f.name), Text: cmp.Or(s.Description, s.Title, f.name)}
	add := func(id, label string) { q.Options = append(q.Options, event.Option{ID: id, Label: cmp.Or(label, id)}) }
	for i, v := range s.Enum {
		label := v
		if i < len(s.EnumNames) {
			label = s.EnumNames[i]
		}
		add(v, label)
	}
	for _, c := range s.OneOf {
		add(c.Const, c.Title)
	}
	switch {
	case s.Type == "boolean":
		add("true", "Yes")
		add("false", "No")
	case s.Type == "array" && s.Items != nil:
		q.Multi = true
		for _, v := range s.Items.Enum {
			add(v, v)
		}
		for _, c := range slices.Concat(s.Items.AnyOf, s.Items.OneOf) {
			add(c.Const, c.Title)
		}
	}
	q.Free = len(q.Options) == 0
	if len(s.Default) > 0 {
		add(useDefault, "The proposed value: "+shortJSON(s.Default))
	}
	if f.required {
		q.Title += " (required)"
	} else {
		add(leaveOut, "Leave it out")
	}
	if q.Free && len(q.Options) > 0 {
		q.Own = "Write a value"
	}
	return q
}

func shortJSON(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text[:min(len(text), 200)]
}

// value is the answer to the field, or nil if it was left out.
func (f *field) value(a event.Answer) (any, error) {
	s := &f.schema
	chosen := slices.Clone(a.Choices)
	if a.Choice != "" {
		chosen = append(chosen, a.Choice)
	}
	switch {
	case slices.Contains(chosen, leaveOut) && !f.required:
		return nil, nil
	case slices.Contains(chosen, useDefault) && len(s.Default) > 0:
		var v any
		err := json.Unmarshal(s.Default, &v)
		return v, err
	case s.Type == "array":
		if f.amiss(len(chosen), s.MinItems, s.MaxItems) {
			return nil, fmt.Errorf("%s: choose %s", f.name, span(s.MinItems, s.MaxItems))
		}
		return chosen, nil
	case s.Type == "boolean":
		return slices.Contains(chosen, "true"), nil
	case len(chosen) > 0:
		return chosen[0], nil
	case s.Type == "integer" || s.Type == "number":
		return f.number(a.Text)
	}
	if f.amiss(len([]rune(a.Text)), s.MinLength, s.MaxLength) {
		return nil, fmt.Errorf("%s: write %s characters", f.name, span(s.MinLength, s.MaxLength))
	}
	return a.Text, nil
}

func (f *field) amiss(n int, least, most *int) bool {
	return least != nil && n < *least || most != nil && n > *most
}

func span(least, most *int) string {
	switch {
	case least == nil:
		return fmt.Sprintf("at most %d", *most)
	case most == nil:
		return fmt.Sprintf("at least %d", *least)
	}
	return fmt.Sprintf("%d to %d", *least, *most)
}

func (f *field) number(text string) (any, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	s := &f.schema
	switch {
	case err != nil || math.IsInf(n, 0) || math.IsNaN(n):
		return nil, fmt.Errorf("%s: %q is no number", f.name, text)
	case s.Type == "integer" && n != math.Trunc(n):
		return nil, fmt.Errorf("%s: %q is no whole number", f.name, text)
	case s.Minimum != nil && n < *s.Minimum:
		return nil, fmt.Errorf("%s: it is at least %g", f.name, *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return nil, fmt.Errorf("%s: it is at most %g", f.name, *s.Maximum)
	}
	if s.Type == "integer" {
		return int64(n), nil
	}
	return n, nil
}

// askForm puts the fields of a form to the user, first whether to answer at all. A value that does not fit is asked for
// again.
func (v *server) askForm(ctx context.Context, w *View, e elicitation) (any, *jsonrpc.Error) {
	list, err := fields(e.Schema)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: err.Error()}
	}
	q := v.asked(e)
	consent := event.Question{
		Title: q.Title, Text: e.Message,
		Options: []event.Option{{ID: "accept", Label: "Answer"}, {ID: "decline", Label: "Decline"}},
	}
	if len(list) == 0 {
		consent.Options[0].Label = "Yes"
	}
	q.Parts = []event.Question{consent}
	for i := range list {
		q.Parts = append(q.Parts, list[i].question())
	}
	for range mostTries {
		a, err := w.seat.Ask(ctx, q)
		if err != nil || a.Canceled {
			return elicited{Action: "cancel"}, nil
		}
		out, fault := filledIn(list, a)
		if fault == nil {
			return out, nil
		}
		q.Reason = fault.Error()
	}
	return elicited{Action: "cancel"}, nil
}

// filledIn makes the answer to a form: of the answers to its parts, or of an object that a host gives as a whole.
func filledIn(list []field, a event.Answer) (elicited, error) {
	if len(a.Input) > 0 {
		var content map[string]any
		if err := json.Unmarshal(a.Input, &content); err != nil {
			return elicited{}, fmt.Errorf("the answer is no object: %w", err)
		}
		return elicited{Action: "accept", Content: content}, nil
	}
	if len(a.Parts) == 0 {
		if a.Choice == "accept" {
			return elicited{Action: "accept"}, nil
		}
		return elicited{Action: "decline"}, nil
	}
	if a.Parts[0].Choice != "accept" {
		return elicited{Action: "decline"}, nil
	}
	out := elicited{Action: "accept", Content: map[string]any{}}
	for i := range list {
		if i+1 >= len(a.Parts) {
			break
		}
		value, err := list[i].value(a.Parts[i+1])
		if err != nil {
			return elicited{}, err
		}
		if value != nil {
			out.Content[list[i].name] = value
		}
	}
	return out, nil
}
