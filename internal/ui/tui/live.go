package tui

// composeInline lays out the live part of an inline screen: unfinished items, and the prompt. Finished
// items are printed above it for good.
func (m *model) composeInline() frame {
	most := max(m.h-1, 1) // all of it has to stay on the screen
	f, popup := m.bottom(max(most-2, 1))
	m.log.resize(m.w, max(most-len(f.lines), 0))
	m.unprinted = append(m.unprinted, m.commit()...)
	room := most - len(f.lines)
	var lines []string
	for i := m.done; i < len(m.log.items) && room > 0; i++ {
		it := m.log.items[i]
		h := m.log.height(i)
		from := 0
		if i == m.done {
			from = m.printed
		}
		lines = it.slice(lines, from, h)
	}
	lines = lines[max(len(lines)-room, 0):]
	lines = append(lines, popup...)
	if over := len(lines) + len(f.lines) - most; over > 0 {
		lines = lines[min(over, len(lines)):]
	}
	if toasts := m.toasts.Lines(m.w, m.look.theme); len(toasts) > 0 && len(lines)+len(toasts)+len(f.lines) <= most {
		lines = append(lines, toasts...)
	}
	f.cy += len(lines)
	f.lines = append(lines, f.lines...)
	n := m.printable(len(f.lines))
	f.above, m.unprinted = m.unprinted[:n:n], m.unprinted[n:]
	return f
}

// printable is how many finished lines go into a frame, above so many rows of the live part. While a frame may meet
// another width than it is written for, the rows that have to be written again then should still be on the screen, even
// if they became twice as many. The rest follows when the terminal has confirmed the frame.
func (m *model) printable(live int) int {
	all := len(m.unprinted)
	if !m.confirms() {
		return all
	}
	n := max((m.h-2*live)/2, 2)
	if m.now().Sub(m.query.changed) >= unrest {
		n = max(m.h-2*live, all/4, n) // no frame for each few lines on a slow connection
	}
	return min(n, all)
}

// printsOn reports that finished lines wait only for a frame.
func (m *model) printsOn() bool { return len(m.unprinted) > 0 && len(m.query.open) == 0 }

// mostLive is how many lines of a reply stay in the live part while they still grow. A terminal that becomes narrower
// wraps the live part, and only as much of it as it then shows can be erased.
const mostLive = 3

// commit returns the lines that are finished and were not printed yet. An item that streams is printed as far
// as it is settled; the items after an unfinished one wait for it.
func (m *model) commit() []string {
	var out []string
	for ; m.done < len(m.log.items); m.done, m.printed, m.blocks = m.done+1, 0, 0 {
		it := m.log.items[m.done]
		if it.kind == replyItem && it.stream != nil {
			it.stream.text.SettleLines(m.log.width, mostLive)
		}
		h := m.log.height(m.done)
		if m.blocks > 0 { // the width may be another one than when they were printed
			m.printed = it.gap + it.reply().text.Above(m.log.width, m.blocks)
		}
		if it.final() {
			out = it.slice(out, m.printed, h)
			it.drop()
			continue
		}
		if it.kind == replyItem && it.stream != nil {
			blocks := it.stream.text.Settled()
			if settled := it.gap + it.stream.text.Above(m.log.width, blocks); settled > m.printed && settled > it.gap {
				out = it.slice(out, m.printed, settled)
				m.printed, m.blocks = settled, blocks
			}
		}
		break
	}
	if m.done > mostReplayed { // the terminal has them; one stays for the gap below it
		m.log.items = append([]*item(nil), m.log.items[m.done-1:]...)
		m.done, m.log.shortened = 1, 0
	}
	return out
}

// final reports that the item does not change any more.
func (it *item) final() bool {
	switch {
	case it.tool != nil:
		return it.tool.state > 1
	case it.kind == reasoningItem:
		return !it.thinking
	case it.kind == replyItem:
		return it.stream == nil || it.stream.done
	}
	return true
}

// lastLines prints the finished lines that no frame has printed yet.
func (m *model) lastLines() string {
	if len(m.unprinted) == 0 && m.screen.broken == nil {
		return ""
	}
	f := frame{above: m.unprinted, cursor: true}
	for i := range m.screen.rows {
		f.lines = append(f.lines, m.screen.rows[i].text)
	}
	m.unprinted = nil
	return string(m.screen.paint(f))
}
