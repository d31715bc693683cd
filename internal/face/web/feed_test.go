package web

import (
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// watcher collects the changes of a feed.
type watcher struct{ list []change }

func (w *watcher) feed() *feed { return newFeed(func(c change) { w.list = append(w.list, c) }) }

func (w *watcher) last() change { return w.list[len(w.list)-1] }

func delta(text string) event.Event {
	return event.Event{Body: event.Delta{MessageID: "m", Delta: llm.TextDelta{Text: text}}}
}

func done(text string) event.Event {
	return event.Event{Body: event.PartDone{MessageID: "m", Part: llm.Text{Text: text}}}
}

func TestATextThatWasStreamedIsNotSentAgain(t *testing.T) {
	var w watcher
	f := w.feed()
	for _, s := range []string{"# T\n\n", "one ", "**two", "**\n"} {
		f.apply(delta(s))
		f.flush()
	}
	puts := 0
	f.apply(done("# T\n\none **two**\n"))
	var html strings.Builder
	for _, c := range w.list {
		if c.Op == "put" {
			puts++
		}
		html.WriteString(c.HTML)
	}
	if got := html.String(); puts != 1 || strings.Count(got, "<h2>T</h2>") != 1 || !strings.HasSuffix(got, "<strong>two</strong></p>") {
		t.Errorf("%d items, %s", puts, got)
	}
	if w.last().Tail != "" {
		t.Errorf("the tail stays: %+v", w.last())
	}
}

func TestATextThatDiffersFromItsPiecesReplacesThem(t *testing.T) {
	var w watcher
	f := w.feed()
	f.apply(delta("the key is sk-1"))
	f.flush()
	f.apply(done("the key is [masked]"))
	var texts []string
	for _, c := range f.snapshot() {
		if c.Op == "text" {
			texts = append(texts, c.HTML)
		}
	}
	if len(texts) != 1 || texts[0] != "<p>the key is [masked]</p>" {
		t.Errorf("%q", texts)
	}
}

func TestCallsOfAnAgentLieInItsCall(t *testing.T) {
	var w watcher
	f := w.feed()
	start := func(id, name string, agent ...string) {
		f.apply(event.Event{Agent: agent, Body: event.ToolStart{Call: llm.ToolCall{ID: id, Name: name}, Title: name}})
	}
	start("a", "Task")
	start("b", "Grep", "explore/a")
	if c := w.last(); c.In != "a" || c.Kind != "tool running" {
		t.Errorf("%+v", c)
	}
	f.apply(event.Event{Agent: []string{"explore/a"}, Body: event.ToolEnd{
		Call: llm.ToolCall{ID: "b", Name: "Grep"}, View: event.Listing{Items: []string{"x"}, Total: 1}, Duration: 2 * time.Second,
	}})
	if c := w.last(); c.Kind != "tool done" || c.In != "a" || !strings.Contains(c.HTML, "1 result") || !strings.Contains(c.HTML, "2.0 s") {
		t.Errorf("%+v", c)
	}
	f.apply(event.Event{Body: event.TurnEnd{Reason: event.EndInterrupted}})
	if f.items["a"].Kind != "tool failed" || w.last().HTML != "Interrupted" {
		t.Errorf("%+v %+v", f.items["a"].change, w.last())
	}
}

func TestARetryTakesBackWhatTheRequestBrought(t *testing.T) {
	var w watcher
	f := w.feed()
	f.apply(delta("half"))
	f.apply(event.Event{Body: event.Retry{Attempt: 1, Max: 3, Err: "overloaded", Delay: time.Second}})
	if len(f.order) != 1 || !strings.Contains(w.last().HTML, "overloaded") {
		t.Errorf("%v %+v", f.order, w.last())
	}
}

func TestLiveOutputKeepsItsColours(t *testing.T) {
	var w watcher
	f := w.feed()
	f.apply(event.Event{Body: event.ToolStart{Call: llm.ToolCall{ID: "a", Name: "Bash"}, Preview: event.Command{Command: "make"}}})
	f.apply(event.Event{Body: event.ToolOutput{CallID: "a", Text: "\x1b[32mok\x1b[0m 10%\r20%\n"}})
	f.flush()
	if h := w.last().HTML; !strings.Contains(h, `<span class="ansi fg2">ok</span>`) && !strings.Contains(h, "20%") {
		t.Errorf("%s", h)
	}
}

func TestAQuestionThatWasAnsweredIsOverForLaterPages(t *testing.T) {
	var w watcher
	f := w.feed()
	f.apply(event.Event{Session: "s", Body: event.Asked{ID: "q", Question: event.Question{Title: "Sure?", Options: []event.Option{
		{ID: "a", Label: "A", Preview: "# P <b>"},
	}}}})
	if q := w.last().Data.(question); q.Options[0].Preview != "<h2>P &lt;b&gt;</h2>" {
		t.Errorf("%+v", q)
	}
	f.apply(event.Event{Session: "s", Body: event.Answered{ID: "q", Answer: event.Answer{From: "Ann"}}})
	for _, c := range f.snapshot() {
		if c.Op == "ask" {
			t.Errorf("it is asked again: %+v", c)
		}
	}
}
