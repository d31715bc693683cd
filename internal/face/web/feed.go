package web

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// change is what a page is sent.
type change struct {
	Op   string `json:"op"`             // reset, put, text, drop, status, state, ask, answered
	Key  string `json:"key,omitempty"`  // of the item
	In   string `json:"in,omitempty"`   // the item that it lies in; empty: the transcript
	Kind string `json:"kind,omitempty"` // of the item: user, reply, thinking, tool, told, notice, end; and its state
	HTML string `json:"html,omitempty"` // of put: the item; of text: what is appended
	Tail string `json:"tail,omitempty"` // of text: what stands behind it until the next change
	Data any    `json:"data,omitempty"` // of reset, status, state, ask and answered
}

// entry is an item of the transcript.
type entry struct {
	change
	doc  *document       // of a text that grows
	text strings.Builder // its HTML that is settled
	tail string
	call *call
}

// feed turns the events of a session into items.
type feed struct {
	emit    func(change)
	order   []string
	items   map[string]*entry
	dirty   map[string]bool // items that grew since the last flush
	asked   []event.Asked
	opened  event.Opened
	status  *event.Status
	state   event.State
	serial  int
	prefix  string // of keys, where there are several feeds
	history bool   // what is applied is history
}

func newFeed(emit func(change)) *feed {
	return &feed{emit: emit, items: map[string]*entry{}, dirty: map[string]bool{}}
}

// apply takes an event.
func (f *feed) apply(e event.Event) {
	agent := event.CallOf(e.Agent)
	switch b := e.Body.(type) {
	case event.Opened:
		f.open(b)
	case event.Status:
		f.status = &b
		f.emit(change{Op: "status", Data: b})
	case event.State:
		f.state = b
		f.emit(change{Op: "state", Data: b})
	case event.Asked:
		f.asked = append(f.asked, b)
		f.emit(change{Op: "ask", Key: b.ID, Data: asking(e.Session, b)})
	case event.Answered:
		f.answered(b)
	case event.Delta:
		if agent == "" {
			f.delta(b.ForPeople())
		}
	case event.PartDone:
		f.partDone(agent, b.ForPeople())
	case event.ToolStart, event.ToolOutput, event.ToolEnd, event.Denied:
		f.tool(agent, b)
	case event.Retry:
		f.retry(agent, b)
	default:
		if agent == "" {
			f.message(b)
		}
	}
}

// open starts with another session.
func (f *feed) open(b event.Opened) {
	f.order, f.items, f.dirty, f.asked, f.opened = nil, map[string]*entry{}, map[string]bool{}, nil, b
	f.emit(f.head())
	f.past(b.History)
	f.opened.History = nil
}

// past adds a history.
func (f *feed) past(list []event.Body) {
	f.history = true
	for _, body := range list {
		f.apply(event.Event{Session: f.opened.Session, Body: body})
	}
	f.history = false
}

func (f *feed) head() change {
	return change{Op: "reset", Data: map[string]any{
		"session": f.opened.Session, "title": f.opened.Title, "dir": f.opened.Dir, "more": f.opened.More,
	}}
}

// snapshot is everything that a page needs to show the session as it is.
func (f *feed) snapshot() []change {
	f.flush()
	list := []change{f.head()}
	for _, key := range f.order {
		it := f.items[key]
		list = append(list, it.change)
		if it.text.Len() > 0 || it.tail != "" {
			list = append(list, change{Op: "text", Key: key, HTML: it.text.String(), Tail: it.tail})
		}
	}
	if f.status != nil {
		list = append(list, change{Op: "status", Data: *f.status})
	}
	list = append(list, change{Op: "state", Data: f.state})
	for _, a := range f.asked {
		list = append(list, change{Op: "ask", Key: a.ID, Data: asking(f.opened.Session, a)})
	}
	return list
}

// put adds an item, or shows it as it is now.
func (f *feed) put(it *entry) {
	it.Op = "put"
	if f.items[it.Key] == nil {
		f.items[it.Key] = it
		f.order = append(f.order, it.Key)
	}
	f.emit(it.change)
}

func (f *feed) drop(key string) {
	delete(f.items, key)
	delete(f.dirty, key)
	for i, k := range f.order {
		if k == key {
			f.order = append(f.order[:i:i], f.order[i+1:]...)
			break
		}
	}
	f.emit(change{Op: "drop", Key: key})
}

// fresh is a key for an item that will not change.
func (f *feed) fresh() string {
	f.serial++
	return f.prefix + "i" + strconv.Itoa(f.serial)
}

// say adds an item that will not change.
func (f *feed) say(kind string, write func(*writer)) {
	var w writer
	write(&w)
	f.put(&entry{change: change{Key: f.fresh(), Kind: kind, HTML: w.String()}})
}

// flush sends what grew since the last time.
func (f *feed) flush() {
	for key := range f.dirty {
		delete(f.dirty, key)
		it := f.items[key]
		switch {
		case it == nil:
		case it.doc != nil:
			settled, tail := it.doc.changes()
			it.text.WriteString(settled)
			it.tail = tail
			f.emit(change{Op: "text", Key: key, HTML: settled, Tail: tail})
		case it.call != nil:
			it.HTML = it.call.html()
			f.emit(it.change)
		}
	}
}

func partKey(message string, index int) string { return message + "." + strconv.Itoa(index) }

// grows is the item of a part that is being written.
func (f *feed) grows(key, in, kind string) *entry {
	it := f.items[key]
	if it == nil {
		it = &entry{change: change{Key: key, In: in, Kind: kind, HTML: shell(kind)}, doc: newDocument()}
		f.put(it)
	}
	return it
}

// shell is the item of a part, in which the page lets its text grow.
func shell(kind string) string {
	var w writer
	switch kind {
	case "thinking":
		w.tag(`<details><summary>Thinking</summary><div class="prose grow"></div></details>`)
	default:
		w.tag(`<div class="prose grow"></div>`)
	}
	return w.String()
}

func (f *feed) delta(b event.Delta) {
	switch d := b.Delta.(type) {
	case llm.TextDelta:
		f.more(partKey(b.MessageID, d.Index), "reply", d.Text)
	case llm.ReasoningDelta:
		f.more(partKey(b.MessageID, d.Index), "thinking", d.Text)
	case llm.ToolDelta:
		if d.ID != "" && d.Name != "" && f.items[d.ID] == nil {
			f.show(&call{call: llm.ToolCall{ID: d.ID, Name: d.Name}, state: "waiting"}, "")
		}
	}
}

func (f *feed) more(key, kind, text string) {
	if text == "" {
		return
	}
	if it := f.grows(key, "", kind); it.doc != nil {
		it.doc.add(text)
		f.dirty[key] = true
	}
}

// partDone settles a part. Mostly its text is what was streamed, and nothing is sent again.
func (f *feed) partDone(agent string, b event.PartDone) {
	key, kind, text := partKey(b.MessageID, b.Index), "", ""
	switch p := b.Part.(type) {
	case llm.Text:
		kind, text = "reply", p.Text
	case llm.Reasoning:
		kind, text = "thinking", p.Text
	}
	if strings.TrimSpace(text) == "" {
		if f.items[key] != nil {
			f.drop(key)
		}
		return
	}
	if f.history {
		key = f.fresh() // parts of before have no ids of their own
	}
	it := f.grows(key, agent, kind)
	if it.doc == nil {
		return
	}
	if it.doc.raw.String() != text || it.doc.missing {
		it.doc = newDocument()
		it.doc.add(text)
		it.text.Reset()
		f.emit(it.change)
	}
	it.doc.end()
	f.dirty[key] = true
	f.flush()
	it.doc = nil
}

// retry drops what the request that failed has brought.
func (f *feed) retry(agent string, b event.Retry) {
	for _, key := range append([]string(nil), f.order...) {
		if it := f.items[key]; it.In == agent && (it.doc != nil || it.call != nil && it.call.state == "waiting") {
			f.drop(key)
		}
	}
	f.say("notice warning", func(w *writer) {
		w.line("The request failed and is sent again in " + span(b.Delay) + " (" + strconv.Itoa(b.Attempt) + " of " +
			strconv.Itoa(b.Max) + "): " + b.Err)
	})
}

func (f *feed) answered(b event.Answered) {
	for i, a := range f.asked {
		if a.ID == b.ID {
			f.asked = append(f.asked[:i:i], f.asked[i+1:]...)
			break
		}
	}
	f.emit(change{Op: "answered", Key: b.ID, Data: map[string]any{
		"from": b.Answer.From, "canceled": b.Answer.Canceled, "choice": b.Answer.Choice,
	}})
}

// message adds what is no part of a reply and no call.
func (f *feed) message(body event.Body) {
	switch b := body.(type) {
	case event.UserMessage:
		f.user(b)
	case event.Notice:
		f.say("notice "+level(b.Level), func(w *writer) { prose(w, b.Text) })
	case event.Compacted:
		f.say("notice info", func(w *writer) { w.line(b.String()) })
		if b.Summary != "" {
			f.told("The summary", b.Summary)
		}
	case event.EvalComplete:
		f.say("notice "+level(b.Level()), func(w *writer) { prose(w, b.String()) })
	case event.ModelFallback:
		f.say("notice warning", func(w *writer) { w.line(b.To + " answers instead of " + b.From + ": " + b.Reason) })
	case event.TurnEnd:
		f.turnEnd(b)
	}
}

// level is a level of a notice as a class.
func level(s string) string {
	if s == "warning" || s == "error" {
		return s
	}
	return "info"
}

func prose(w *writer, text string) {
	w.tag(`<div class="prose">`)
	markdown(w, text)
	w.tag("</div>")
}

func (f *feed) user(b event.UserMessage) {
	if !b.Synthetic {
		f.say("user", func(w *writer) {
			w.tag(`<div class="said">`)
			w.text(strings.TrimSpace(b.Message.PlainText()))
			w.tag("</div>")
			for _, p := range b.Message.Parts {
				if m, ok := p.(llm.Media); ok {
					picture(w, m.MIME, m.Data, m.Name)
				}
			}
			for _, a := range b.Attached {
				w.element(`<span class="chip">`, a, "</span>")
			}
		})
	}
	f.told("Told the model", b.Told...)
}

// told adds texts that the model got and the user did not write, each folded to a line.
func (f *feed) told(what string, texts ...string) {
	for _, text := range texts {
		f.say("told", func(w *writer) {
			w.element("<details><summary>", what, "</summary>")
			prose(w, text)
			w.tag("</details>")
		})
	}
}

// endings say how a turn ended, where that is not plain.
var endings = map[event.EndReason]string{
	event.EndCompleted: "", event.EndRefused: "", event.EndInterrupted: "Interrupted",
	event.EndMaxSteps: "Stopped: the limit of steps is reached", event.EndBudget: "Stopped: the budget is used up",
	event.EndDoomLoop: "Stopped: the same calls came again and again", event.EndStopped: "Stopped by a hook",
}

func (f *feed) turnEnd(b event.TurnEnd) {
	for _, key := range append([]string(nil), f.order...) {
		switch it := f.items[key]; {
		case it.doc != nil:
			it.doc.end()
			f.dirty[key] = true
			f.flush()
			it.doc = nil
		case it.call != nil && (it.call.state == "waiting" || it.call.state == "running"):
			it.call.state = "failed"
			it.Kind, it.HTML = "tool failed", it.call.html()
			f.emit(it.change)
		}
	}
	text, known := endings[b.Reason]
	switch {
	case !known:
		f.say("notice error", func(w *writer) { w.line(cmp.Or("The turn failed: "+b.Err, "The turn failed")) })
	case text != "":
		f.say("end", func(w *writer) { w.line(text) })
	}
}
