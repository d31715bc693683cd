package tui

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// pick is the item that has the focus, when the transcript has it.
type pick struct {
	on bool
	it *item
}

// choose gives the focus to the next item up or down; the first time to the message nearest to the end of the
// view.
func (m *model) choose(step int) {
	messages := func(it *item) bool { return it.kind == userItem || it.kind == replyItem }
	m.chooseOf(step, messages)
}

func (m *model) chooseOf(step int, want func(*item) bool) {
	items := m.log.items
	at := -1
	if m.pick.on {
		for i, it := range items {
			if it == m.pick.it {
				at = i
			}
		}
	}
	if at < 0 {
		at = m.log.last() + 1
		if step > 0 {
			at = m.log.anchor - 1
		}
	}
	for i := at + step; i >= 0 && i < len(items); i += step {
		if want(items[i]) {
			m.pick = pick{on: true, it: items[i]}
			m.log.reveal(i)
			return
		}
	}
	if step > 0 && m.pick.on {
		m.pick = pick{}
		m.log.end()
	}
}

// onItem applies an action to the item that has the focus.
func (m *model) onItem(a keys.Action) bool {
	all := func(it *item) bool { return it.kind != endItem }
	switch a {
	case keys.TranscriptPrevious:
		m.chooseOf(-1, all)
	case keys.TranscriptNext:
		m.chooseOf(1, all)
	case keys.TranscriptToggle:
		if !m.watchAgent(m.pick.it) {
			m.pick.it.toggle()
		}
	case keys.TranscriptShowAll:
		m.expandAll()
	case keys.TranscriptCopy:
		m.copy(strings.TrimSpace(m.pick.it.copied()))
	case keys.Search:
		m.openFind()
	case keys.SearchNext:
		m.findFrom(1)
	case keys.SearchPrevious:
		m.findFrom(-1)
	case keys.Top:
		m.log.top()
	case keys.Bottom:
		m.log.end()
	case keys.TranscriptExit:
		m.pick = pick{}
	default:
		return false
	}
	return true
}

// copied is the text that copying an item yields.
func (it *item) copied() string {
	if it.tool != nil && it.tool.text == "" && it.tool.view == nil {
		return it.tool.title
	}
	return it.words()
}

// last is the index of the last item that is visible.
func (t *transcript) last() int {
	t.settle()
	i := t.anchor
	for left := t.rows + t.offset; i < len(t.items); i++ {
		if left -= t.height(i); left <= 0 {
			return i
		}
	}
	return len(t.items) - 1
}

// reveal scrolls as little as shows the beginning of item i.
func (t *transcript) reveal(i int) {
	t.settle()
	if i < t.anchor || i == t.anchor && t.offset > 0 {
		t.follow, t.anchor, t.offset = false, i, 0
		t.stopAtEnd()
		return
	}
	if i <= t.last() {
		return
	}
	h := t.height(i)
	t.follow, t.anchor, t.offset = false, i, 0
	t.scroll(-max(t.rows-h, 0))
}
