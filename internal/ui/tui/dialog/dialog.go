// Package dialog covers the screen of the terminal and takes the keys until it is answered:
// permission dialogs, questions, lists to pick from, pages of text; and the toasts that need no answer.
//
// A [Dialog] is drawn into a box of given size and gets one [Key] at a time: the actions of the key
// press, and the typed text. It starts nothing itself: the result of a key is a [Result] that the terminal
// carries out. A [Stack] holds the dialogs that wait; the first one is drawn, the others are counted.
//
// Promises: a key that was typed before a dialog was on the screen never answers it ([Stack.Drawn]);
// commands and paths are shown in full, by scrolling if need be; every foreign byte is escaped.
package dialog

import (
	"fmt"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Key is one key press: Actions are its bindings in the contexts of the dialog, the first that
// applies counts; Text is the text it types ("" for none), Name its own name ("ctrl+r").
type Key struct {
	Actions []keys.Action
	Text    string
	Name    string
}

// is reports whether the key represents one of the actions.
func (k Key) is(actions ...keys.Action) bool {
	for _, a := range k.Actions {
		if slices.Contains(actions, a) {
			return true
		}
	}
	return false
}

// accepts and cancels are the same in questions and lists.
func (k Key) accepts() bool { return k.is(keys.ConfirmAccept, keys.SelectAccept, keys.MessageSelect) }

func (k Key) cancels() bool {
	return k.is(keys.ConfirmNo, keys.ConfirmStop, keys.SelectCancel, keys.MessageCancel, keys.HelpDismiss)
}

// typing are the contexts in which keys are resolved while a text is typed.
var typing = []keys.Context{keys.Select, keys.Chat}

// Result is the result of a key. The zero value: nothing, the dialog stays.
type Result struct {
	Close  bool          // the dialog is over
	Answer *event.Answer // to the question with the dialog's id
	Run    *Command      // a slash command to run
	After  *Command      // a slash command to run when Run is done, whose output replaces the dialog's list
	Refill bool          // the output of Run replaces the dialog's items
	Toast  string        // a line to show for a moment
	Edit   string        // a text to open in the user's editor; the dialog's Edited gets the result
}

// Command is a slash command and its arguments.
type Command struct{ Name, Args string }

// Dialog is one thing to answer.
type Dialog interface {
	// ID is the question's id; empty for dialogs that the terminal opened itself.
	ID() string
	// Contexts are those of the keymap in which its keys are to be resolved, innermost first.
	Contexts() []keys.Context
	// Key takes one key press.
	Key(k Key) Result
	// Lines draws the dialog into at most width by height cells; fewer lines are fine. Every line is at most width wide.
	Lines(width, height int) []string
	// Cursor is the caret's place in the last result of Lines; ok is false when nothing is typed.
	Cursor() (x, y int, ok bool)
}

// settle is how long after it was first drawn a dialog takes no key yet: keys typed into the prompt just
// before were not meant for it. Each key that comes in that time begins it again, so that a word in full
// flow is ignored to its end.
const settle = 250 * time.Millisecond

// Stack holds the dialogs that wait for an answer, the oldest first.
type Stack struct {
	items []entry
	now   func() time.Time
}

type entry struct {
	Dialog
	drawn time.Time // zero: not on the screen yet
	quick bool      // the user asked for it, so it takes keys as soon as it is drawn
}

// NewStack makes an empty stack. Now is the clock; nil is the real one.
func NewStack(now func() time.Time) *Stack {
	if now == nil {
		now = time.Now
	}
	return &Stack{now: now}
}

// Ask adds a dialog that came by itself, behind those that wait.
func (s *Stack) Ask(d Dialog) { s.items = append(s.items, entry{Dialog: d}) }

// Open puts a dialog that the user asked for before all others; it takes keys at once.
func (s *Stack) Open(d Dialog) { s.items = append([]entry{{Dialog: d, quick: true}}, s.items...) }

// Close takes away the dialog with the id, because somebody else answered it or its turn ended. It
// reports whether it was there.
func (s *Stack) Close(id string) bool {
	for i, e := range s.items {
		if id != "" && e.ID() == id {
			s.items = append(s.items[:i:i], s.items[i+1:]...)
			s.redraw()
			return true
		}
	}
	return false
}

// Clear takes all dialogs away.
func (s *Stack) Clear() { s.items = nil }

// Replace puts d in the place of the first dialog.
func (s *Stack) Replace(d Dialog) {
	if len(s.items) > 0 {
		s.items[0] = entry{Dialog: d, quick: s.items[0].quick}
	}
}

// Len is how many dialogs wait.
func (s *Stack) Len() int { return len(s.items) }

// Top is the dialog to draw, or nil.
func (s *Stack) Top() Dialog {
	if len(s.items) == 0 {
		return nil
	}
	return s.items[0].Dialog
}

// Drawn says that the first dialog is on the screen now.
func (s *Stack) Drawn() {
	if len(s.items) > 0 && s.items[0].drawn.IsZero() {
		s.items[0].drawn = s.now()
	}
}

// redraw makes the first dialog wait again until it is on the screen.
func (s *Stack) redraw() {
	if len(s.items) > 0 && !s.items[0].quick {
		s.items[0].drawn = time.Time{}
	}
}

// Key gives a key to the first dialog. A key that was typed before it was drawn is dropped.
func (s *Stack) Key(k Key) Result {
	if len(s.items) == 0 {
		return Result{}
	}
	e := &s.items[0]
	if e.drawn.IsZero() && !e.quick {
		return Result{}
	}
	if now := s.now(); !e.quick && now.Sub(e.drawn) < settle {
		e.drawn = now
		return Result{}
	}
	e.quick = true
	d := e.Dialog
	r := d.Key(k)
	if r.Close {
		s.remove(d)
	}
	return r
}

func (s *Stack) remove(d Dialog) {
	for i, e := range s.items {
		if e.Dialog == d {
			s.items = append(s.items[:i:i], s.items[i+1:]...)
			s.redraw()
			return
		}
	}
}

// Lines draws the first dialog into a box, and how many wait behind it.
func (s *Stack) Lines(width, height int, t *theme.Theme) []string {
	if len(s.items) == 0 {
		return nil
	}
	n := len(s.items) - 1
	if n == 0 || height < low+1 {
		return s.items[0].Lines(width, height)
	}
	waiting := line.Span{Text: fmt.Sprintf("  and %d more waiting", n), Style: t.Warn}
	return append(s.items[0].Lines(width, height-1), line.Join(width, waiting))
}
