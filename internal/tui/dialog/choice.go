package dialog

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
	switch k.Action {
	case Next:
		c.move(1, count)
	case Previous:
		c.move(-1, count)
	case PageDown:
		c.move(max(page-1, 2), count)
	case PageUp:
		c.move(-max(page-1, 2), count)
	case Top:
		c.at = 0
	case Bottom:
		c.at = max(count-1, 0)
	default:
		return false
	}
	return true
}
