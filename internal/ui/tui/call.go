package tui

import (
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
	"github.com/lathe-dev/lathe/internal/ui/tui/view"
)

// Limits of the text that is kept of a call.
const (
	tailBytes    = 16 << 10 // of the output of a command that runs
	liveChildren = 3        // calls of a subagent that are shown while it works
	mostChildren = 500      // calls of a subagent that are kept
)

// call is the state of a tool call.
type call struct {
	call     llm.ToolCall
	title    string
	state    theme.State
	preview  event.View
	view     event.View
	text     string // the result in words, where there is no view
	tail     string // the end of its output, while it runs
	began    time.Time
	took     time.Duration
	children []child // the calls of its subagent
	earlier  int     // children that are not kept
}

// child is a call of a subagent, which is shown as one line.
type child struct {
	id, name, title string
	state           theme.State
}

// print adds output of the call. Only the end is kept: the result has all of it.
func (c *call) print(s string) {
	c.tail += s
	if len(c.tail) > 2*tailBytes {
		c.tail = strings.ToValidUTF8(c.tail[len(c.tail)-tailBytes:], "")
		if i := strings.IndexByte(c.tail, '\n'); i >= 0 {
			c.tail = c.tail[i+1:]
		}
	}
}

func (c *call) addChild(ch child) {
	c.children = append(c.children, ch)
	if n := len(c.children) - mostChildren; n > 0 {
		c.children, c.earlier = append(c.children[:0], c.children[n:]...), c.earlier+n
	}
}

func (c *call) child(id string) *child {
	for i := len(c.children) - 1; i >= 0; i-- {
		if c.children[i].id == id {
			return &c.children[i]
		}
	}
	return nil
}

// shown is the shape to draw for the state that the call is in.
func (c *call) shown() event.View {
	switch {
	case c.state == theme.Waiting:
		return nil
	case c.state == theme.Running:
		if v, ok := c.preview.(event.Command); ok {
			return v
		}
		return nil
	case c.view == nil && c.text != "":
		return event.TextView{Text: c.text}
	}
	return c.view
}

// layCall lays a call out: the line with its title and state, the calls of its subagent, and
// the body of its shape, which is laid out only where it is seen.
func (it *item) layCall(width int) {
	o := it.viewOptions(width)
	it.lines = []string{view.Header(it.tool.shown(), o)}
	it.lines = append(it.lines, it.childLines(width)...)
	it.body = nil
	if it.tool.state != theme.Waiting {
		o.Width = max(width-indent, 1)
		it.body = view.New(it.tool.shown(), o)
	}
	it.height = len(it.lines)
	if it.body != nil {
		it.height += it.body.Height()
	}
}

// indent is how far the body of a call is from the edge.
const indent = 2

// childLines are the calls of a subagent: the last ones while it works, and all of them when expanded.
func (it *item) childLines(width int) []string {
	c, th := it.tool, it.look.theme
	children, earlier := c.children, c.earlier
	switch {
	case it.expanded():
	case c.state != theme.Running:
		return nil
	default:
		n := max(len(children)-liveChildren, 0)
		children, earlier = children[n:], earlier+n
	}
	var out []string
	if earlier > 0 {
		out = append(out, th.Dim.Render("  "+plural(earlier, "earlier call")))
	}
	for _, ch := range children {
		text := term.EscapeLine(ch.name)
		if ch.title != "" && ch.title != ch.name {
			text += " " + term.EscapeLine(ch.title)
		}
		out = append(out, "  "+th.State(ch.state).Render(ch.state.Symbol())+" "+
			th.Dim.Render(term.Truncate(text, max(width-4, 1), "…")))
	}
	return out
}

func (it *item) viewOptions(width int) view.Options {
	o := view.Options{
		Width: width, Theme: it.look.theme, Links: it.look.links, Expanded: it.expanded(), Key: it.look.key,
		State: theme.Done,
	}
	c := it.tool
	if c == nil {
		return o
	}
	o.State, o.Tool, o.Title, o.Live, o.Duration = c.state, c.call.Name, c.title, c.tail, c.took
	if c.state == theme.Running {
		if !it.look.reduced {
			o.Spinner = 1 + it.look.spin
		}
		if !c.began.IsZero() {
			o.Duration = it.look.now().Sub(c.began)
		}
	}
	return o
}

// short is a duration in a few characters.
func short(d time.Duration) string { return view.Duration(d) }
