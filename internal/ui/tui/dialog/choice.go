package dialog

import "github.com/lathe-dev/lathe/internal/ui/tui/keys"

// cursor is a position in a list that is drawn in a window.
type cursor struct{ at, top int }

// move goes by n places, within count, and around the ends when n is one step.
func (c *cursor) move(n, count int) {
	if count == 0 {
		c.at = 0
		return
	}
	at := c.at + n
	switch {
	case at < 0 && n == -1:
		at = count - 1
	case at >= count && n == 1:
		at = 0
	}
	c.at = min(max(at, 0), count-1)
}

// window moves the window of height rows so that the position is in it.
func (c *cursor) window(height, count int) (from, to int) {
	height = max(height, 1)
	if c.at < c.top {
		c.top = c.at
	}
	if c.at >= c.top+height {
		c.top = c.at - height + 1
	}
	c.top = min(max(c.top, 0), max(count-height, 0))
	return c.top, min(c.top+height, count)
}

// key moves by a key press and reports whether it was one for the list. Page is the height of the window.
func (c *cursor) key(k Key, count, page int) bool {
	switch {
	case k.is(keys.SelectNext, keys.ConfirmNext, keys.MessageDown):
		c.move(1, count)
	case k.is(keys.SelectPrevious, keys.ConfirmPrevious, keys.MessageUp):
		c.move(-1, count)
	case k.is(keys.SelectPageDown, keys.PageDown):
		c.move(max(page-1, 2), count)
	case k.is(keys.SelectPageUp, keys.PageUp):
		c.move(-max(page-1, 2), count)
	case k.is(keys.SelectFirst, keys.Top, keys.MessageTop):
		c.at = 0
	case k.is(keys.SelectLast, keys.Bottom, keys.MessageBottom):
		c.at = max(count-1, 0)
	default:
		return false
	}
	return true
}
