package web

import (
	"cmp"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// call is a call of a tool, as far as it is known.
type call struct {
	call  llm.ToolCall
	state string // waiting, running, done, failed or denied
	title string
	view  event.View
	text  string // the result where there is no view
	live  string // the end of its output while it runs
	took  time.Duration
	dir   string // of the session
}

// mostLive is how much of the output of a running call is kept, in bytes.
const mostLive = 16 << 10

// tool takes an event of a call.
func (f *feed) tool(agent string, body event.Body) {
	switch b := body.(type) {
	case event.ToolStart:
		f.show(&call{call: b.Call, state: "running", title: b.Title, view: b.Preview}, cmp.Or(b.Parent, agent))
	case event.ToolOutput:
		if it := f.items[b.CallID]; it != nil && it.call != nil {
			it.call.live += b.Text
			it.call.live = it.call.live[max(0, len(it.call.live)-mostLive):]
			f.dirty[b.CallID] = true
		}
	case event.Denied:
		f.show(&call{call: b.Call, state: "denied", text: b.Decision.Reason}, agent)
	case event.ToolEnd:
		c := &call{call: b.Call, state: "done", title: b.Title, view: b.View, took: b.Duration}
		switch {
		case b.Denied:
			c.state = "denied"
		case b.Result.IsError:
			c.state = "failed"
		}
		if b.View == nil {
			c.text = b.ForPeople()
		}
		f.show(c, cmp.Or(b.Parent, agent))
	}
}

// show puts a call. What an earlier event said of it stays where this one says nothing.
func (f *feed) show(c *call, in string) {
	key := c.call.ID
	it := f.items[key]
	if it == nil {
		it = &entry{change: change{Key: key, In: in}}
	} else if before := it.call; before != nil {
		c.title = cmp.Or(c.title, before.title)
		if c.state == "denied" && c.text == "" {
			c.text = before.text
		}
	}
	c.dir = f.opened.Dir
	it.call, it.Kind, it.HTML = c, "tool "+c.state, c.html()
	delete(f.dirty, key)
	f.put(it)
}

// unfolded reports whether the call is shown whole without a click: a change, or what a command wrote.
func (c *call) unfolded() bool {
	switch c.view.(type) {
	case event.Diff, event.Command, event.Image:
		return true
	}
	return c.live != ""
}

// html is the item of the call.
func (c *call) html() string {
	w := writer{dir: c.dir}
	if c.unfolded() {
		w.tag("<details open>")
	} else {
		w.tag("<details>")
	}
	w.tag(`<summary><span class="dot" role="img"`)
	w.attr(" aria-label=", c.state)
	w.tag("></span>")
	name, title := c.call.Name, cmp.Or(c.title, event.CallTitle(c.call))
	if v, ok := c.view.(event.Subagent); ok && v.Agent != "" {
		name = v.Agent
	}
	w.element("<b>", name, "</b>")
	if title != name {
		first, _, _ := strings.Cut(title, "\n")
		w.element(` <span class="title">`, first, "</span>")
	}
	c.notes(&w)
	w.tag("</summary>")
	c.body(&w)
	w.tag("</details>")
	return w.String()
}

// notes are what a call came to, in the line of its title.
func (c *call) notes(w *writer) {
	w.tag(`<span class="notes">`)
	switch v := c.view.(type) {
	case event.Diff:
		counts(w, v.Added, v.Removed)
	default:
		if s := summary(c.view); s != "" {
			w.line(s)
		}
	}
	switch {
	case c.state == "denied":
		w.tag(" denied")
	case c.took >= time.Second:
		w.line(" " + span(c.took))
	}
	w.tag("</span>")
}

func (c *call) body(w *writer) {
	w.tag(`<div class="body">`)
	switch {
	case c.state == "running" && c.live != "":
		if v, ok := c.view.(event.Command); ok {
			commandLine(w, v.Command)
		}
		output(w, c.live)
	case c.view != nil:
		view(w, c.view, false)
	case c.text != "":
		output(w, c.text)
	}
	w.tag("</div>")
}
