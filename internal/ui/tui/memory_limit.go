package tui

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// Memory for the results of calls. The session keeps them whole on disk; the transcript keeps the newest whole
// and only the ends of older ones.
const (
	mostResults = 24 << 20 // bytes of shapes in all
	keptEnd     = 1 << 10  // bytes at each end of an older one
	keptItems   = 20       // of an older list
)

// limitMemory counts the result of a call, and shortens the oldest results when all together are too large.
func (t *transcript) limitMemory(it *item) {
	t.results += it.tool.size()
	for t.results > mostResults && t.shortened < len(t.items) {
		old := t.items[t.shortened]
		if old == it {
			return
		}
		t.shortened++
		if c := old.tool; c != nil && !old.live() {
			t.results -= c.size()
			c.shorten()
			t.results += c.size()
			old.touch()
		}
	}
}

func (c *call) size() int { return len(c.text) + viewSize(c.view) }

func viewSize(v event.View) int {
	switch v := v.(type) {
	case event.Command:
		return len(v.Command) + len(v.Output)
	case event.Diff:
		return len(v.Unified)
	case event.TextView:
		return len(v.Text)
	case event.Subagent:
		return len(v.Result)
	case event.Image:
		return len(v.Data)
	case event.UnknownView:
		return len(v.JSON)
	case event.Listing:
		n := 0
		for _, s := range v.Items {
			n += len(s)
		}
		return n
	}
	return 0
}

// shorten leaves the ends.
func (c *call) shorten() {
	c.text = ends(c.text)
	switch v := c.view.(type) {
	case event.Command:
		v.Output = ends(v.Output)
		c.view = v
	case event.Diff:
		v.Unified = beginning(v.Unified)
		c.view = v
	case event.TextView:
		v.Text = ends(v.Text)
		c.view = v
	case event.Subagent:
		v.Result = ends(v.Result)
		c.view = v
	case event.Listing:
		if len(v.Items) > keptItems {
			v.Total = max(v.Total, len(v.Items))
			v.Items, v.Truncated = append([]string(nil), v.Items[:keptItems]...), true
			c.view = v
		}
	case event.Image:
		v.Data = nil
		c.view = v
	case event.UnknownView:
		c.view = event.TextView{Text: ends(string(v.JSON))}
	}
}

// ends is the first and the last lines of a long text. They are copied, so that the rest can be freed.
func ends(s string) string {
	if len(s) <= 3*keptEnd {
		return s
	}
	head, tail := s[:keptEnd], s[len(s)-keptEnd:]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	return strings.Clone(strings.ToValidUTF8(head, "") + "\n… the session has all of it …\n" + strings.ToValidUTF8(tail,
		""))
}

// beginning is the first hunks of a diff, whole lines of them.
func beginning(s string) string {
	if len(s) <= 3*keptEnd {
		return s
	}
	s = s[:2*keptEnd]
	return strings.Clone(strings.ToValidUTF8(s[:strings.LastIndexByte(s, '\n')+1], ""))
}
