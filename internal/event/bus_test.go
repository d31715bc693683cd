package event_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func textDelta(msg string, index int, s string) event.Body {
	return event.Delta{MessageID: msg, Delta: llm.TextDelta{Index: index, Text: s}}
}

// rest closes the bus and returns the events that a subscription still has.
func rest(t *testing.T, b *event.Bus, s *event.Subscription) []event.Event {
	t.Helper()
	b.Close()
	var out []event.Event
	for e := range s.All(t.Context()) {
		out = append(out, e)
	}
	return out
}

func bodies(es []event.Event) []event.Body {
	var out []event.Body
	for _, e := range es {
		out = append(out, e.Body)
	}
	return out
}

func TestEventsAreNumberedWithoutGapsAndInOrder(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 500 {
				b.Publish(fmt.Sprint("s", w), nil, event.StepStart{Step: i})
			}
		})
	}
	wg.Wait()
	got := rest(t, b, s)
	if len(got) != 4000 {
		t.Fatalf("%d events, want 4000", len(got))
	}
	steps := map[string]int{}
	for i, e := range got {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
		if i > 0 && e.Time.Before(got[i-1].Time) {
			t.Fatalf("event %d is older than the one before it", e.Seq)
		}
		if step := e.Body.(event.StepStart).Step; step != steps[e.Session] {
			t.Fatalf("session %s: step %d came where %d was due", e.Session, step, steps[e.Session])
		}
		steps[e.Session]++
	}
}

func TestEverySubscriptionSeesTheSameOrder(t *testing.T) {
	b := event.NewBus()
	subs := []*event.Subscription{b.Subscribe(t.Context(), event.Options{}), b.Subscribe(t.Context(), event.Options{})}
	var wg sync.WaitGroup
	seqs := make([][]uint64, len(subs))
	for i, s := range subs {
		wg.Go(func() {
			for e := range s.All(t.Context()) {
				seqs[i] = append(seqs[i], e.Seq)
			}
		})
	}
	for i := range 2000 {
		b.Publish("s", nil, event.Notice{Text: fmt.Sprint(i)})
	}
	b.Close()
	wg.Wait()
	if len(seqs[0]) != 2000 {
		t.Errorf("%d events, want 2000", len(seqs[0]))
	}
	if diff := cmp.Diff(seqs[0], seqs[1]); diff != "" {
		t.Errorf("two readers saw different orders (-first +second):\n%s", diff)
	}
}

func shownDelta(msg string, index int, s, shown string) event.Body {
	return event.Delta{MessageID: msg, Delta: llm.TextDelta{Index: index, Text: s}, Shown: &shown}
}

func TestASlowReaderGetsAdjacentDeltasMerged(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{})
	delta := func(d llm.Delta) event.Body { return event.Delta{MessageID: "m", Delta: d} }
	for _, body := range []event.Body{
		delta(llm.Started{ID: "x"}),
		delta(llm.ReasoningDelta{Index: 0, Text: "th"}),
		delta(llm.ReasoningDelta{Index: 0, Text: "ink"}),
		delta(llm.ReasoningDelta{Index: 0, Signature: "sig"}),
		delta(llm.ReasoningDelta{Index: 0, Text: "again"}),
		textDelta("m", 1, "a"), textDelta("m", 1, "b"), textDelta("m", 1, "c"),
		textDelta("m", 2, "d"), textDelta("n", 2, "e"),
		shownDelta("n", 2, "f", "F"), textDelta("n", 2, "g"), shownDelta("n", 2, "h", "H"),
		delta(llm.ToolDelta{Index: 3, ID: "c1", Name: "Read"}),
		delta(llm.ToolDelta{Index: 3, JSON: `{"a"`}),
		delta(llm.ToolDelta{Index: 3, JSON: `:1}`}),
		delta(llm.ToolDelta{Index: 3, ID: "c2", Name: "Read"}),
		event.ToolOutput{CallID: "c1", Text: "1"},
		event.ToolOutput{CallID: "c1", Text: "2"},
		event.ToolOutput{CallID: "c2", Text: "3"},
	} {
		b.Publish("s", nil, body)
	}
	want := []event.Body{
		delta(llm.Started{ID: "x"}),
		delta(llm.ReasoningDelta{Index: 0, Text: "think", Signature: "sig"}),
		delta(llm.ReasoningDelta{Index: 0, Text: "again"}),
		textDelta("m", 1, "abc"), textDelta("m", 2, "d"), textDelta("n", 2, "e"),
		shownDelta("n", 2, "f", "F"), textDelta("n", 2, "g"), shownDelta("n", 2, "h", "H"),
		delta(llm.ToolDelta{Index: 3, ID: "c1", Name: "Read", JSON: `{"a":1}`}),
		delta(llm.ToolDelta{Index: 3, ID: "c2", Name: "Read"}),
		event.ToolOutput{CallID: "c1", Text: "12"},
		event.ToolOutput{CallID: "c2", Text: "3"},
	}
	got := rest(t, b, s)
	if diff := cmp.Diff(want, bodies(got)); diff != "" {
		t.Errorf("merged stream (-want +got):\n%s", diff)
	}
	if got[3].Seq != 8 {
		t.Errorf("the merged text has number %d, want that of its last piece, 8", got[3].Seq)
	}
}

func TestPiecesOfDifferentSessionsAndAgentsAreNotMerged(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{})
	b.Publish("s", nil, textDelta("m", 0, "a"))
	b.Publish("s", []string{"sub"}, textDelta("m", 0, "b"))
	b.Publish("t", []string{"sub"}, textDelta("m", 0, "c"))
	if got := rest(t, b, s); len(got) != 3 {
		t.Errorf("got %d events, want 3", len(got))
	}
}

// stream draws one body; its text is unique, to be found again.
func stream(t *rapid.T, i int) event.Body {
	text := fmt.Sprintf("<%d>", i)
	index := rapid.IntRange(0, 1).Draw(t, "index")
	msg := rapid.SampledFrom([]string{"m", "n"}).Draw(t, "message")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return event.Notice{Text: text}
	case 1:
		return event.ToolOutput{CallID: msg, Text: text}
	case 2:
		d := llm.ReasoningDelta{Index: index, Text: text}
		if rapid.Bool().Draw(t, "signed") {
			d = llm.ReasoningDelta{Index: index, Signature: text}
		}
		return event.Delta{MessageID: msg, Delta: d}
	case 3:
		d := llm.ToolDelta{Index: index, JSON: text}
		if rapid.Bool().Draw(t, "first") {
			d.ID = text
		}
		return event.Delta{MessageID: msg, Delta: d}
	}
	return textDelta(msg, index, text)
}

// flat writes a stream in a form that merging must not change: a run of pieces of one thing is the thing's
// name once, then the pieces.
func flat(es []event.Event) string {
	var b strings.Builder
	last := ""
	for _, e := range es {
		name, text := "", ""
		switch x := e.Body.(type) {
		case event.Notice:
			name, text = "notice", x.Text
		case event.ToolOutput:
			name, text = "output "+x.CallID, x.Text
		case event.Delta:
			switch d := x.Delta.(type) {
			case llm.TextDelta:
				name, text = fmt.Sprint("text ", x.MessageID, d.Index), d.Text
			case llm.ReasoningDelta:
				name, text = fmt.Sprint("reasoning ", x.MessageID, d.Index), d.Text
				if d.Signature != "" {
					text += "(" + d.Signature + ")"
				}
			case llm.ToolDelta:
				name, text = fmt.Sprint("tool ", x.MessageID, d.Index), d.JSON
				if d.ID != "" {
					text = "[" + d.ID + "]" + d.JSON
				}
			}
		}
		if name = e.Session + strings.Join(e.Agent, "/") + name; name != last {
			b.WriteString("\n" + name + ": ")
			last = name
		}
		b.WriteString(text)
	}
	return b.String()
}

func TestMergingLosesNothingAndKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := event.NewBus()
		slow, whole := b.Subscribe(context.Background(), event.Options{}), []event.Event(nil)
		var got []event.Event
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			body, agent := stream(t, i), rapid.SampledFrom([][]string{nil, {"sub"}}).Draw(t, "agent")
			b.Publish("s", agent, body)
			whole = append(whole, event.Event{Session: "s", Agent: agent, Body: body})
			if rapid.IntRange(0, 9).Draw(t, "read") == 0 {
				e, _ := slow.Next(context.Background())
				got = append(got, e)
			}
		}
		b.Close()
		for e := range slow.All(context.Background()) {
			got = append(got, e)
		}
		if diff := cmp.Diff(flat(whole), flat(got)); diff != "" {
			t.Fatalf("the merged stream differs (-published +read):\n%s", diff)
		}
		for i := 1; i < len(got); i++ {
			if got[i].Seq <= got[i-1].Seq {
				t.Fatalf("number %d after %d", got[i].Seq, got[i-1].Seq)
			}
		}
		if n := len(got); n > 0 && got[n-1].Seq != uint64(len(whole)) {
			t.Fatalf("the last number is %d, want %d", got[n-1].Seq, len(whole))
		}
	})
}

func TestPublishDoesNotWaitForAReader(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{})
	for range 100_000 {
		b.Publish("s", nil, textDelta("m", 0, "word "))
	}
	got := rest(t, b, s)
	if len(got) != 1 || len(got[0].Body.(event.Delta).Delta.(llm.TextDelta).Text) != 500_000 {
		t.Errorf("got %d events for one part", len(got))
	}
}

func TestASubscriptionCanBeNarrowed(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{Session: "a", NoDeltas: true})
	b.Publish("b", nil, event.Notice{Text: "other session"})
	b.Publish("a", nil, textDelta("m", 0, "x"))
	b.Publish("a", nil, event.ToolOutput{CallID: "c", Text: "x"})
	b.Publish("a", nil, event.Notice{Text: "mine"})
	got := rest(t, b, s)
	if diff := cmp.Diff([]event.Body{event.Notice{Text: "mine"}}, bodies(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAReaderThatStandsStillIsCutAtItsLimit(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{Limit: 3})
	for range 10 {
		b.Publish("s", nil, event.Notice{})
	}
	if got := rest(t, b, s); len(got) != 3 {
		t.Errorf("got %d events, want the 3 that fit", len(got))
	}
	if !errors.Is(s.Err(), event.ErrLagging) {
		t.Errorf("Err is %v, want ErrLagging", s.Err())
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	b := event.NewBus()
	s := b.Subscribe(t.Context(), event.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		_, ok := s.Next(ctx)
		ended <- ok
	}()
	cancel()
	if <-ended {
		t.Error("Next returned an event that nobody published")
	}
	b.Publish("s", nil, event.Notice{Text: "later"})
	if e, ok := s.Next(t.Context()); !ok || e.Seq != 1 {
		t.Errorf("got %v %v; a cancelled wait must not close the subscription", e, ok)
	}
}

func TestTheSubscriptionsContextClosesIt(t *testing.T) {
	b := event.NewBus()
	ctx, cancel := context.WithCancel(t.Context())
	s := b.Subscribe(ctx, event.Options{})
	b.Publish("s", nil, event.Notice{Text: "before"})
	cancel()
	n := 0
	for e := range s.All(t.Context()) { // ends only when the context has closed it
		if n++; e.Seq != 1 {
			t.Errorf("got event %d", e.Seq)
		}
	}
	if n != 1 || s.Err() != nil {
		t.Errorf("read %d events, error %v; want 1, none", n, s.Err())
	}
}

func TestAClosedBusTakesAndGivesNothing(t *testing.T) {
	b := event.NewBus()
	b.Close()
	b.Publish("s", nil, event.Notice{})
	s := b.Subscribe(t.Context(), event.Options{})
	if e, ok := s.Next(t.Context()); ok {
		t.Errorf("got %v", e)
	}
	b.Close()
	s.Close()
}

func BenchmarkPublishToOneReader(b *testing.B) {
	bus := event.NewBus()
	s := bus.Subscribe(b.Context(), event.Options{})
	read := make(chan int)
	go func() {
		n := 0
		for range s.All(context.Background()) {
			n++
		}
		read <- n
	}()
	body := event.StepStart{Step: 1}
	b.ReportAllocs()
	for b.Loop() {
		bus.Publish("session", nil, body)
	}
	bus.Close()
	b.ReportMetric(float64(<-read)/float64(b.N), "events-read/op")
}

func BenchmarkPublishDeltas(b *testing.B) {
	for _, n := range []int{0, 1, 3} {
		b.Run(fmt.Sprint(n, "-stuck-readers"), func(b *testing.B) {
			bus := event.NewBus()
			for range n {
				bus.Subscribe(b.Context(), event.Options{})
			}
			body := textDelta("m", 0, "word ")
			b.ReportAllocs()
			for b.Loop() {
				bus.Publish("session", nil, body)
			}
		})
	}
}
