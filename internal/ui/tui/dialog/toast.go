package dialog

import (
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Toasts are lines that show for a moment and need no answer.
type Toasts struct {
	items []toast
	now   func() time.Time
}

type toast struct {
	level, text string
	until       time.Time
}

// maxToasts is how many are shown at once; the oldest goes first.
const maxToasts = 3

// NewToasts makes an empty list. Now is the clock; nil is the real one.
func NewToasts(now func() time.Time) *Toasts {
	if now == nil {
		now = time.Now
	}
	return &Toasts{now: now}
}

// Add shows a line. Level is info, warning or error; the same line again only stays longer. It returns
// when the toast will be gone.
func (t *Toasts) Add(level, text string) time.Time {
	stay := 4 * time.Second
	if level != "info" && level != "" {
		stay = 8 * time.Second
	}
	n := toast{level, text, t.now().Add(stay)}
	for i, old := range t.items {
		if old.text == text {
			t.items = append(t.items[:i:i], t.items[i+1:]...)
			break
		}
	}
	t.items = append(t.items, n)
	if len(t.items) > maxToasts {
		t.items = t.items[1:]
	}
	return n.until
}

// Next is when the next toast goes; zero when there is none.
func (t *Toasts) Next() time.Time {
	var next time.Time
	for _, x := range t.items {
		if next.IsZero() || x.until.Before(next) {
			next = x.until
		}
	}
	return next
}

// Lines draws the toasts whose time is not over, the newest last.
func (t *Toasts) Lines(width int, th *theme.Theme) []string {
	now := t.now()
	keep := t.items[:0]
	for _, x := range t.items {
		if x.until.After(now) {
			keep = append(keep, x)
		}
	}
	t.items = keep
	var out []string
	for _, x := range t.items {
		mark, style := "· ", th.Info
		switch x.level {
		case "warning":
			mark, style = "! ", th.Warn
		case "error":
			mark, style = "✗ ", th.Bad
		}
		out = append(out, line.Join(width, line.Span{Text: mark, Style: style}, line.Span{
			Text:  term.EscapeLine(x.text),
			Style: style,
		}))
	}
	return out
}
