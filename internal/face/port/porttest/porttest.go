// Package porttest is the conformance suite of the port: every way to a session passes it, in the same process or
// through a wire.
package porttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Place is a session on a scripted model, which answers every prompt, and asks for permission first where the prompt
// has the word "ask".
type Place struct {
	// Face connects another face to the session.
	Face func(t *testing.T, f port.Face) port.Session
	// Restart ends the process of the session at once, as kill -9 does, and begins another that goes on with it; nil: the
	// session lives in the test's process.
	Restart func(t *testing.T)
	// Without are the tests that this way cannot express, by name, with the reason.
	Without map[string]string
}

// suite are the tests by their names.
var suite = map[string]func(*testing.T, Place){
	"Prompt":           prompts,
	"SamePromptOnce":   samePrompt,
	"Queue":            queue,
	"NamedTurn":        namedTurn,
	"QuestionsReach":   questions,
	"FirstAnswer":      firstAnswer,
	"AnswersByPolicy":  policies,
	"CursorGetsMissed": cursors,
	"TurnWithoutFace":  withoutFace,
	"SameOrder":        sameOrder,
	"Restart":          restart,
	"Read":             read,
	"ManyAtOnce":       manyAtOnce,
}

// Names are the names of the tests, for ways to a session that cannot express all of them.
func Names() []string { return slices.Sorted(maps.Keys(suite)) }

// Run runs the suite; open makes a fresh place.
func Run(t *testing.T, open func(t *testing.T) Place) {
	for name, test := range suite {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			if why := p.Without[name]; why != "" {
				t.Skip(why)
			}
			test(t, p)
		})
	}
}

// face is a face of a test, with what it read.
type face struct {
	port.Session
	t      *testing.T
	events port.Events
	begun  bool // the State at its beginning was read
	read   []event.Event
}

func (p Place) face(t *testing.T, who port.Face, from port.From) *face {
	t.Helper()
	f := &face{Session: p.Face(t, who), t: t}
	events, err := f.Attach(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Close)
	f.events = events
	return f
}

// patience is how long a test waits for an event.
const patience = 20 * time.Second

// until reads events until one of the type passes.
func until[T event.Body](f *face, pass func(T) bool) (T, event.Event) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for {
		e, err := f.events.Next(ctx)
		if err != nil {
			var none T
			f.t.Fatalf("no %T: %v; read: %s", none, err, kinds(f.read))
		}
		f.read = append(f.read, e)
		f.validate(e)
		if _, ok := e.Body.(event.State); ok {
			f.begun = true
		}
		if b, ok := e.Body.(T); ok && (pass == nil || pass(b)) {
			return b, e
		}
	}
}

// validate holds an event to the published schema.
func (f *face) validate(e event.Event) {
	f.t.Helper()
	schema, err := schemas()
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		f.t.Fatal(err)
	}
	var got struct {
		Kind string `json:"kind"`
		Body any    `json:"body"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		f.t.Fatal(err)
	}
	s := schema["event:"+got.Kind]
	if s == nil {
		f.t.Errorf("the schema has no event %s", got.Kind)
	} else if err := s.Validate(got.Body); err != nil {
		f.t.Errorf("%s does not fit its schema: %v\n%s", got.Kind, err, raw)
	}
}

// schemas are the definitions of the published schema.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	raw, err := port.Schema()
	if err != nil {
		return nil, err
	}
	var whole struct {
		Defs map[string]*jsonschema.Schema `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, err
	}
	out := map[string]*jsonschema.Resolved{}
	for name := range whole.Defs {
		root := &jsonschema.Schema{Ref: "#/$defs/" + name, Defs: map[string]*jsonschema.Schema{}}
		for other, s := range whole.Defs {
			root.Defs[other] = s.CloneSchemas()
		}
		if out[name], err = root.Resolve(nil); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
})

func kinds(all []event.Event) (out []string) {
	for _, e := range all {
		out = append(out, e.Body.Kind())
	}
	return out
}

// rest reads until nothing runs.
func (f *face) rest() {
	f.t.Helper()
	until(f, func(s event.State) bool { return s.Doing == event.Idle })
}

func (f *face) send(p port.Prompt) port.Receipt {
	f.t.Helper()
	if !f.begun {
		until[event.State](f, nil)
	}
	r, err := f.Prompt(f.t.Context(), p)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func text(id, text string) port.Prompt { return port.Prompt{ID: id, Message: llm.UserText(text)} }

// said are the prompts of a history, by their ids.
func said(bodies []event.Body) (out []string) {
	for _, b := range bodies {
		if u, ok := b.(event.UserMessage); ok && !u.Synthetic {
			out = append(out, u.Message.PlainText())
		}
	}
	return out
}

func (f *face) wantHistory(want ...string) {
	f.t.Helper()
	events, err := f.Attach(f.t.Context(), port.From{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.events = events
	opened, _ := until[event.Opened](f, nil)
	if got := fmt.Sprint(said(opened.History)); got != fmt.Sprint(want) {
		f.t.Errorf("the conversation has %v, not %v", got, want)
	}
}

func prompts(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	if r := f.send(text("p1", "hello")); r != (port.Receipt{ID: "p1", State: port.Begun}) {
		t.Errorf("%+v", r)
	}
	if s, _ := until(f, func(s event.State) bool { return s.Doing == event.Working }); s.Turn != "p1" {
		t.Errorf("%+v", s)
	}
	if m, _ := until[event.UserMessage](f, nil); m.Message.ID != "p1" || m.Message.PlainText() != "hello" {
		t.Errorf("%+v", m)
	}
	until[event.PartDone](f, nil)
	until[event.TurnEnd](f, nil)
	f.rest()
}

func samePrompt(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	f.send(text("p1", "hello"))
	f.rest()
	if r := f.send(text("p1", "hello")); r.State != port.Known {
		t.Errorf("%+v", r)
	}
	other := p.face(t, port.Face{}, port.From{})
	if r := other.send(text("p1", "hello")); r.State != port.Known {
		t.Errorf("%+v", r)
	}
	other.wantHistory("hello")
}

// blocked begins a turn that asks, and returns the question.
func (f *face) blocked(id string) (event.Asked, event.Event) {
	f.t.Helper()
	f.send(text(id, "ask me"))
	return until[event.Asked](f, nil)
}

func (f *face) answer(a event.Asked, e event.Event, choice string) error {
	return f.Answer(f.t.Context(), port.Answer{Session: e.Session, ID: a.ID, Answer: event.Answer{Choice: choice}})
}

func queue(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	a, e := f.blocked("p1")
	for _, id := range []string{"p2", "p3", "p4"} {
		next := text(id, "message "+id)
		next.When = port.AfterTurn
		if r := f.send(next); r.State != port.ForAfter {
			t.Errorf("%+v", r)
		}
	}
	if r := f.send(text("p5", "message p5")); r.State != port.ForStep {
		t.Errorf("%+v", r)
	}
	edited := llm.UserText("edited")
	for _, q := range []port.QueueChange{
		{Do: "edit", ID: "p3", Message: &edited},
		{Do: "move", ID: "p4", To: 0},
		{Do: "drop", ID: "p2"},
	} {
		out, err := f.Queue(t.Context(), q)
		if err != nil {
			t.Errorf("%+v: %v", q, err)
		}
		if q.Do == "drop" && (out.Dropped == nil || out.Dropped.PlainText() != "message p2") {
			t.Errorf("%+v", out)
		}
	}
	out, err := f.Queue(t.Context(), port.QueueChange{})
	want := "[{p5 message p5 false} {p4 message p4 true} {p3 edited true}]"
	if got := fmt.Sprint(out.Waiting); err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	if _, err := f.Queue(t.Context(), port.QueueChange{Do: "drop", ID: "p9"}); err == nil {
		t.Error("what does not wait was dropped")
	}
	if err := f.answer(a, e, event.ChoiceOnce); err != nil {
		t.Fatal(err)
	}
	f.rest()
	f.wantHistory("ask me", "message p5", "message p4", "edited")
}

func namedTurn(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	a, e := f.blocked("p1")
	late := text("p2", "too late")
	late.Turn = "p0"
	if _, err := f.Prompt(t.Context(), late); !errors.Is(err, port.ErrTurnOver) {
		t.Errorf("%v", err)
	}
	if err := f.Interrupt(t.Context(), "p0"); !errors.Is(err, port.ErrTurnOver) {
		t.Errorf("%v", err)
	}
	late.Turn = "p1"
	if r := f.send(late); r.State != port.ForStep {
		t.Errorf("%+v", r)
	}
	if err := f.answer(a, e, event.ChoiceOnce); err != nil {
		t.Fatal(err)
	}
	f.rest()
	f.wantHistory("ask me", "too late")
}

func questions(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	want, _ := f.blocked("p1")
	late := p.face(t, port.Face{}, port.From{})
	got, e := until[event.Asked](late, nil)
	if got.ID != want.ID || got.Question.Permission == nil || got.Question.Call == nil {
		t.Errorf("%+v", got)
	}
	if s, _ := until[event.State](late, nil); s.Doing != event.Blocked || s.For != "permission" {
		t.Errorf("%+v", s)
	}
	if err := late.answer(got, e, event.ChoiceOnce); err != nil {
		t.Fatal(err)
	}
	f.rest()
	late.rest()
}

func firstAnswer(t *testing.T, p Place) {
	f := p.face(t, port.Face{Principal: "ann"}, port.From{})
	other := p.face(t, port.Face{Principal: "ben"}, port.From{})
	a, e := f.blocked("p1")
	asked, _ := until(other, func(u event.UserMessage) bool { return u.Message.ID == "p1" })
	if asked.Message.From != "ann" {
		t.Errorf("the prompt of ann is from %q", asked.Message.From)
	}
	if err := other.answer(a, e, event.ChoiceOnce); err != nil {
		t.Fatal(err)
	}
	told, _ := until[event.Answered](f, nil)
	if told.ID != a.ID || told.Answer.From != "ben" {
		t.Errorf("%+v", told)
	}
	if err := f.answer(a, e, event.ChoiceNo); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("%v", err)
	}
	f.rest()
}

func policies(t *testing.T, p Place) {
	owner := p.face(t, port.Face{Principal: "ann"}, port.From{})
	a, e := owner.blocked("p1")
	for _, who := range []port.Face{{Principal: "ben", Answers: "author"}, {Principal: "ann", Answers: "none"}} {
		f := p.face(t, who, port.From{})
		if err := f.answer(a, e, event.ChoiceOnce); !errors.Is(err, port.ErrRefused) {
			t.Errorf("%+v: %v", who, err)
		}
	}
	author := p.face(t, port.Face{Principal: "ann", Answers: "author", Remote: true}, port.From{})
	if err := author.answer(a, e, event.ChoiceOnce); err != nil {
		t.Error(err)
	}
	owner.rest()
}

func cursors(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	f.send(text("p1", "first"))
	f.rest()
	var last event.Cursor
	for _, e := range f.read {
		if e.Cursor != "" {
			last = e.Cursor
		}
	}
	f.events.Close()
	other := p.face(t, port.Face{}, port.From{})
	other.send(text("p2", "second"))
	other.rest()
	again := p.face(t, port.Face{}, port.From{After: last})
	until[event.State](again, nil)
	var bodies []event.Body
	for _, e := range again.read {
		if _, ok := e.Body.(event.Opened); ok {
			t.Error("it starts over")
		}
		bodies = append(bodies, e.Body)
	}
	if got := said(bodies); len(got) != 1 || got[0] != "second" {
		t.Errorf("missed: %v in %s", got, kinds(again.read))
	}
}

func withoutFace(t *testing.T, p Place) {
	f := p.face(t, port.Face{}, port.From{})
	f.send(text("p1", "hello"))
	f.events.Close()
	if c, ok := f.Session.(interface{ Close() error }); ok {
		_ = c.Close()
	}
	if !await.Until(func() bool {
		now, err := p.Face(t, port.Face{}).Read(t.Context(), port.ReadRequest{What: "status"})
		return err == nil && now.State.Doing == event.Idle
	}) {
		t.Fatal("the turn does not end")
	}
	late := p.face(t, port.Face{}, port.From{})
	opened, _ := until[event.Opened](late, nil)
	ends := 0
	for _, b := range opened.History {
		if end, ok := b.(event.TurnEnd); ok && end.Reason == event.EndCompleted {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("%d turns ended well: %v", ends, opened.History)
	}
}

func sameOrder(t *testing.T, p Place) {
	a, b := p.face(t, port.Face{}, port.From{}), p.face(t, port.Face{}, port.From{})
	for _, f := range []*face{a, b} {
		until[event.State](f, nil)
		f.read = nil
	}
	a.send(text("p1", "hello"))
	a.rest()
	b.rest()
	durable := func(f *face) (out []string) {
		for _, e := range f.read {
			if e.Cursor != "" {
				out = append(out, e.Body.Kind()+" "+string(e.Cursor))
			}
		}
		return out
	}
	if got, want := fmt.Sprint(durable(a)), fmt.Sprint(durable(b)); got != want || got == "[]" {
		t.Errorf("%s\n%s", got, want)
	}
}
