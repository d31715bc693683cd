package tui

import (
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// inbox buffers input until the loop takes all of it at once, so that a burst makes one frame.
type inbox struct {
	mu     sync.Mutex
	events []uv.Event
}

// add reports whether the loop has to be woken.
func (b *inbox) add(e uv.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	return len(b.events) == 1
}

func (b *inbox) take() []uv.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.events
	b.events = nil
	return out
}

// inputMsg says that the inbox is not empty.
type inputMsg struct{}

// input handles an event of the terminal. It reports whether the user waits for an answer.
func (m *model) input(e uv.Event) bool {
	if k, ok := e.(uv.KeyPressEvent); ok {
		if !m.wheelKey(k) {
			m.key(k)
		}
		return true
	}
	if c, ok := e.(uv.CursorPositionEvent); ok {
		return m.reported(c.X + 1)
	}
	m.flushWheel()
	switch e := e.(type) {
	case uv.PasteEvent:
		m.paste(e.Content)
		return true
	case uv.MouseWheelEvent:
		m.wheel(e)
	case uv.MouseClickEvent:
		m.click(e)
	case uv.FocusEvent:
		m.focused, m.focusTold = true, true
	case uv.BlurEvent:
		m.focused, m.focusTold = false, true
	case uv.BackgroundColorEvent:
		m.background(e.IsDark())
	}
	return false
}

// Without capturing the mouse, a terminal sends its wheel as arrow keys (mode 1007), several at once. Arrows
// that come faster than keys repeat are the wheel.
const (
	wheelGap  = 12 * time.Millisecond  // the longest time between two arrows of the wheel
	wheelRest = 150 * time.Millisecond // arrows that follow the wheel this soon are the wheel's
)

// arrows are arrow keys that may come from the wheel.
type arrows struct {
	held  *uv.KeyPressEvent // waits for whether another one follows at once
	at    time.Time         // when it came
	wheel time.Time         // when the wheel was turned last
}

// wheelKey takes arrow keys that are the wheel's. False: the key is one.
func (m *model) wheelKey(k uv.KeyPressEvent) bool {
	up := k.Code == uv.KeyUp
	if !up && k.Code != uv.KeyDown || k.Mod != 0 || !m.wheelScrolls() {
		m.flushWheel()
		return false
	}
	now, step := m.now(), 1
	if up {
		step = -1
	}
	switch held := m.arrows.held; {
	case held != nil && held.Code == k.Code && now.Sub(m.arrows.at) <= wheelGap:
		m.arrows.held, m.arrows.wheel = nil, now
		m.log.scroll(2 * step)
	case now.Sub(m.arrows.wheel) <= wheelRest:
		m.arrows.wheel = now
		m.log.scroll(step)
	default:
		m.flushWheel()
		m.arrows.held, m.arrows.at = &k, now
		m.later(wheelGap, arrowMsg{})
	}
	return true
}

// arrowMsg says that an arrow key that was held back may be one.
type arrowMsg struct{}

// flushWheel handles an arrow key that was held back and turned out to be a key.
func (m *model) flushWheel() {
	if k := m.arrows.held; k != nil {
		m.arrows.held = nil
		m.key(*k)
	}
}

// wheelScrolls reports that arrows may come from the wheel, and that it would scroll the transcript.
func (m *model) wheelScrolls() bool {
	if m.options.Inline || m.options.Mouse || m.dialogs.Top() != nil || m.find.open || m.pick.on {
		return false
	}
	contexts := m.edit.Contexts()
	return len(contexts) == 1 && contexts[0] == keys.Chat
}

// wheelStep is how many lines a captured wheel scrolls.
const wheelStep = 3

func (m *model) wheel(e uv.MouseWheelEvent) {
	switch e.Button {
	case uv.MouseWheelUp:
		m.log.scroll(-wheelStep)
	case uv.MouseWheelDown:
		m.log.scroll(wheelStep)
	}
}

// click expands or folds the item that was clicked.
func (m *model) click(e uv.MouseClickEvent) {
	if e.Button != uv.MouseLeft || m.dialogs.Top() != nil {
		return
	}
	if it := m.log.itemAt(e.Y); it != nil && e.Y < m.log.rows {
		it.toggle()
	}
}

// itemAt is the item in a row of the view.
func (t *transcript) itemAt(row int) *item {
	t.settle()
	for i, skip := t.anchor, t.offset; i < len(t.items) && row >= 0; i, skip = i+1, 0 {
		h := t.height(i) - skip
		if row < h {
			return t.items[i]
		}
		row -= h
	}
	return nil
}
