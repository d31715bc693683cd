package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// eventful is a conversation of several steps: calls beside each other, a failure, a refusal, a message cut off.
func eventful(t *testing.T, p *place) {
	t.Helper()
	for i := range 4 {
		p.write(t, fmt.Sprintf("%d.txt", i), fmt.Sprintf("file %d\n", i))
	}
	p.user(t, `{"permissions": {"allow": ["Bash(echo *)"], "deny": ["Bash(rm *)"]}}`)
}

func eventfulScript() *llmtest.Script {
	read := func(n int) llmtest.Part {
		return llmtest.Tool("Read", map[string]any{"file_path": fmt.Sprintf("${WORKDIR}/%d.txt", n)})
	}
	run := func(c string) llmtest.Part { return llmtest.Tool("Bash", map[string]any{"command": c}) }
	return llmtest.Replies(
		llmtest.Say(llmtest.Thinking("hm"), llmtest.Text("I read."), read(0), read(1), read(2), read(3), read(9)),
		llmtest.Say(llmtest.Text("I run."), run("echo one"), run("rm -rf x"), run("echo two")),
		llmtest.Say(run("echo three"), read(1), llmtest.Tool("bash", map[string]any{"cmd": "echo other spelling"}),
			llmtest.Tool("bash", map[string]any{"cmd": "rm -rf y"})),
		llmtest.Say(llmtest.Text("Done.")),
		llmtest.Say(run("echo four")),
		llmtest.Say(llmtest.Text("Again.")),
	)
}

// drain reads the replay of a reader, to the Status that ends it.
func drain(t *testing.T, r port.Events) []event.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out []event.Event
	for {
		e, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(event.Status); ok {
			return out
		}
		out = append(out, e)
	}
}

// attach reads the replay of a new reader.
func (s *seat) attach(o port.From) []event.Event {
	s.t.Helper()
	r, err := s.Attach(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	return drain(s.t, r)
}

// recorded lists the events that have a place in the log, by place and content.
func recorded(events []event.Event) []string {
	var out []string
	for _, e := range events {
		if _, ok := e.Body.(event.Opened); ok || e.Cursor == "" {
			continue
		}
		out = append(out, string(e.Cursor)+" "+identity(e.Body))
	}
	return out
}

func identity(b event.Body) string {
	switch b := b.(type) {
	case event.UserMessage:
		return "user " + b.Message.PlainText()
	case event.PartDone:
		part, _ := llm.MarshalPart(b.Part)
		return "part " + b.MessageID + " " + string(part)
	case event.ToolStart:
		return "start " + calls(b.Call)
	case event.Denied:
		return "denied " + calls(b.Call) + " " + b.Decision.Reason
	case event.ToolEnd:
		view, _ := event.MarshalView(b.View)
		return "end " + calls(b.Call) + " " + b.Result.PlainText() + " " + b.Title + " " + string(view)
	case event.TurnEnd:
		return "turn " + string(b.Reason)
	case event.Compacted:
		return "compacted " + b.String()
	}
	return b.Kind()
}

func calls(c llm.ToolCall) string { return c.ID + " " + c.Name + " " + string(c.Input) }

// live reads events of the seat until a number of turns is over.
func (s *seat) live(turns int) []event.Event {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	var out []event.Event
	for turns > 0 {
		e, err := s.Next(ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, e)
		if _, ok := e.Body.(event.TurnEnd); ok {
			turns--
		}
	}
	return out
}

func wantSame(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("%s: %d events, not %d; they differ at %d:\nwant %s\ngot  %s", what, len(got), len(want), i,
				strings.Join(want[min(i, len(want)):min(i+2, len(want))], "\n     "),
				strings.Join(got[min(i, len(got)):min(i+2, len(got))], "\n     "))
		}
	}
}

func TestAReaderThatComesBackGetsEveryRecordedEventOnce(t *testing.T) {
	p := newPlace(t, eventfulScript())
	eventful(t, p)
	s := p.open(t, nil)
	go func() {
		_ = s.Prompt(t.Context(), llm.UserText("look"))
		input, _ := json.Marshal(map[string]string{"file_path": p.dir + "/2.txt"})
		s.session().Invoke(t.Context(), []llm.ToolCall{
			{ID: "made_1", Name: "Read", Input: input},
			{ID: "made_2", Name: "Nope", Input: input},
		})
		if _, err := s.Command(t.Context(), "compact", "--force"); err != nil {
			t.Error(err)
		}
		_ = s.Prompt(t.Context(), llm.UserText("again"))
	}()
	events := s.live(2)
	want := recorded(events)
	if len(want) < 30 {
		t.Fatalf("only %d recorded events: %s", len(want), strings.Join(want, "\n"))
	}
	id := s.session().ID()
	check := func(s *seat) {
		t.Helper()
		wantSame(t, "from the start", want, recorded(s.attach(port.From{After: event.CursorAt(id, "", 0)})))
		n := 0
		for _, e := range events {
			if e.Cursor == "" || e.Body.Kind() == "opened" {
				continue
			}
			n++
			got := s.attach(port.From{After: e.Cursor})
			wantSame(t, fmt.Sprintf("after %s (%s)", e.Cursor, e.Body.Kind()), want[n:], recorded(got))
			if len(got) != len(want)-n {
				t.Fatalf("after %s came %d events, %d of them recorded", e.Cursor, len(got), len(want)-n)
			}
		}
	}
	check(s)
	if err := s.Close(); err != nil { // and over a restart
		t.Fatal(err)
	}
	check(p.open(t, func(o *Options) { o.Session.Resume = id }))
}

func TestAReaderThatComesAndGoesDuringATurnMissesNothing(t *testing.T) {
	for seed := range uint64(6) {
		p := newPlace(t, eventfulScript())
		eventful(t, p)
		s := p.open(t, nil)
		ended := make(chan error, 1)
		rng := rand.New(rand.NewPCG(seed, 1))
		var got []event.Event
		cursor := event.CursorAt(s.session().ID(), "", 0)
		over := func() bool {
			return slices.ContainsFunc(got, func(e event.Event) bool { return e.Body.Kind() == "turn.end" })
		}
		go func() { ended <- s.Prompt(t.Context(), llm.UserText("look")) }()
		for !over() {
			r, err := s.Attach(t.Context(), port.From{After: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for n := rng.IntN(12); n >= 0 && !over(); n-- {
				e, err := r.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, e); e.Cursor != "" {
					cursor = e.Cursor
				}
			}
			r.Close()
		}
		s.wait(ended)
		wantSame(t, fmt.Sprint("seed ", seed), recorded(s.live(1)), recorded(got))
	}
}

func TestReadersOfOneConsoleSeeTheSameAndAnyOfThemAnswers(t *testing.T) {
	p := newPlace(t, slow("Done."))
	s := p.open(t, nil)
	var readers []port.Events
	for range 3 {
		r, err := s.Attach(t.Context(), port.From{})
		if err != nil {
			t.Fatal(err)
		}
		drain(t, r)
		readers = append(readers, r)
	}
	id, ended := s.begin("go")
	front := s.session().ID()
	if open := s.Questions(); len(open) != 1 || open[0].Session != front || open[0].Body.(event.Asked).ID != id {
		t.Errorf("open questions: %v", open)
	}
	late, err := s.Attach(t.Context(), port.From{}) // an open question is published again to late readers
	if err != nil {
		t.Fatal(err)
	}
	events := drain(t, late)
	kinds := ""
	for _, e := range events {
		kinds += e.Body.Kind() + " "
	}
	if !strings.HasPrefix(kinds, "opened ") || !strings.HasSuffix(kinds, "asked ") {
		t.Errorf("a reader that comes while a question is open gets %s", kinds)
	}
	readers[0].Close() // the others go on
	if err := s.Answer("another", id, event.Answer{Choice: event.ChoiceOnce}); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("an answer to another session: %v", err)
	}
	if err := s.Answer(front, "nothing", event.Answer{Choice: event.ChoiceOnce}); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("an answer to no question: %v", err)
	}
	if err := s.Answer(front, id, event.Answer{Choice: event.ChoiceOnce}); err != nil {
		t.Fatal(err)
	}
	s.wait(ended)
	if err := s.Answer(front, id, event.Answer{Choice: event.ChoiceNo}); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("a second answer: %v", err)
	}
	var want []string
	for i, r := range append(readers[1:], late) {
		var seen []string
		answered := false
		for len(seen) == 0 || !strings.HasSuffix(seen[len(seen)-1], "turn completed") {
			e, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := e.Body.(event.Answered); ok && a.ID == id {
				answered = a.Answer.Choice == event.ChoiceOnce
			}
			seen = append(seen, recorded([]event.Event{e})...)
		}
		if !answered {
			t.Errorf("reader %d did not see the answer", i)
		}
		if i == 0 {
			want = seen
		} else if len(seen) > len(want) || !slices.Equal(seen, want[len(want)-len(seen):]) {
			t.Errorf("reader %d saw %q, not %q", i, seen, want)
		}
	}
	if _, err := readers[0].Next(t.Context()); err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("a reader that was closed: %v", err)
	}
}

func TestAReaderThatComesDuringATurnIsToldWhatRuns(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Text("I wait."), llmtest.Tool("Bash", map[string]any{"command": "cat fifo"})),
		llmtest.Say(llmtest.Text("Done."))))
	makeFifo(t, p.dir+"/fifo")
	s := p.open(t, nil)
	id, ended := s.begin("go")
	if err := s.Answer(s.session().ID(), id, event.Answer{Choice: event.ChoiceOnce}); err != nil {
		t.Fatal(err)
	}
	start := until[event.ToolStart](s, nil)
	events := s.attach(port.From{History: 100})
	var got event.ToolStart
	var text event.PartDone
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.ToolStart:
			got = b
		case event.PartDone:
			if _, ok := b.Part.(llm.Text); ok {
				text = b
			}
		}
	}
	if got.Call.ID != start.Call.ID || got.Title != start.Title || got.Preview == nil {
		t.Errorf("the running call comes as %+v, not %+v", got, start)
	}
	if text.MessageID == "" || text.Part == nil {
		t.Errorf("the part of the open reply comes as %+v", text)
	}
	p.write(t, "fifo", "released\n")
	s.wait(ended)
}

func TestHistoriesComeInPagesThatJoin(t *testing.T) {
	p := newPlace(t, eventfulScript())
	eventful(t, p)
	s := p.open(t, nil)
	s.prompt("look")
	s.prompt("again")
	whole := s.attach(port.From{})[0].Body.(event.Opened)
	if whole.More != "" || len(whole.History) < 20 {
		t.Fatalf("%d events, more %q", len(whole.History), whole.More)
	}
	for _, n := range []int{1, 2, 3, 7, 1000} {
		first := s.attach(port.From{History: n})[0].Body.(event.Opened)
		pages, more := first.History, first.More
		for more != "" {
			page, next, err := s.History(more, n)
			if err != nil || len(page) == 0 || next == more {
				t.Fatalf("page of %d before %s: %d events, %v", n, more, len(page), err)
			}
			pages, more = append(page, pages...), next
		}
		var want, got []string
		for _, b := range whole.History {
			want = append(want, identity(b))
		}
		for _, b := range pages {
			got = append(got, identity(b))
		}
		wantSame(t, fmt.Sprintf("pages of %d", n), want, got)
	}
	line, err := json.Marshal(event.Event{Body: whole})
	if err != nil {
		t.Fatal(err)
	}
	var back event.Event
	if err := json.Unmarshal(line, &back); err != nil || len(back.Body.(event.Opened).History) != len(whole.History) {
		t.Errorf("%v: %v", err, back.Body)
	}
	if _, _, err := s.History("nonsense", 3); !errors.Is(err, event.ErrCursor) {
		t.Errorf("a page before nonsense: %v", err)
	}
}

func TestACursorOfABranchThatWasLeftBeginsAnew(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.prompt("first")
	events := s.live(1)
	kept := events[len(events)-1].Cursor
	s.prompt("second")
	events = s.live(1)
	left := events[len(events)-1].Cursor
	pick := s.command("rewind", "").Pick
	s.command("rewind", pick.Items[0].ID)
	s.prompt("third")
	if got := s.attach(port.From{After: left}); got[0].Body.Kind() != "opened" {
		t.Errorf("after %s came %v", left, recorded(got))
	}
	got := recorded(s.attach(port.From{After: kept}))
	if len(got) != 3 || !strings.HasSuffix(got[0], "user third") {
		t.Errorf("after %s came %v", kept, got)
	}
	for _, c := range []event.Cursor{
		"x", ":", "other:1", event.Cursor(s.session().ID() + ":zzzz"),
		event.Cursor(s.session().ID() + ":1.x"),
	} {
		if got := s.attach(port.From{After: c}); got[0].Body.Kind() != "opened" {
			t.Errorf("after %s came %v", c, recorded(got))
		}
	}
}

func TestAQuestionOfASessionThatIsNotInFrontIsShownAsSuch(t *testing.T) {
	p := newPlace(t, slow("Done."))
	s := p.open(t, nil)
	other, err := s.inst.NewSession(t.Context(), conversation.SessionOptions{Bus: s.bus, Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := other.Prompt(ctx, llm.UserText("work elsewhere"))
		ended <- err
	}()
	q := until(s, func(a event.Asked) bool { return a.Question.Permission != nil })
	if q.Of != "session work elsewhere" || !strings.Contains(q.Attributed().Reason, "session work elsewhere") {
		t.Errorf("the question is of %q: %q", q.Of, q.Attributed().Reason)
	}
	s.command("new", "") // another front, and the question is published again
	if again := until(s, func(a event.Asked) bool { return a.ID == q.ID }); again.Of != q.Of {
		t.Errorf("published again, it is of %q", again.Of)
	}
	if err := s.Answer(s.session().ID(), q.ID, event.Answer{}); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("answered for the session in front: %v", err)
	}
	cancel() // a cancelled turn closes its questions
	if a := until(s, func(a event.Answered) bool { return a.ID == q.ID }); !a.Answer.Canceled {
		t.Errorf("%+v", a)
	}
	s.wait(ended)
	if open := s.Questions(); len(open) != 0 {
		t.Errorf("still open: %v", open)
	}
}
