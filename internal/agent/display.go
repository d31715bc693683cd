package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Showing is a piece of a text of a reply that is about to be shown: whole lines, and the rest at the end.
type Showing struct {
	Message string // lathe's id of the text
	Index   int    // of the piece in its text
	Final   bool   // the text ends with it
	Text    string
}

// displayEvery is the shortest time between two pieces of a text that streams. What asks about them may be a program.
const displayEvery = 100 * time.Millisecond

// display has the texts of one reply that are shown otherwise than they came.
type display struct {
	show  func(context.Context, Showing) (string, bool) // nil: texts are shown as they come
	texts map[int]*shownText                            // by index of the part
	last  time.Time                                     // when a piece was shown
}

// shownText is one text of a reply.
type shownText struct {
	id      string
	came    strings.Builder // as it streamed
	lines   int             // bytes of came that are whole lines
	asked   int             // bytes of came that were shown
	shown   strings.Builder
	pieces  int
	changed bool // shown is not what came
	ended   bool
}

func (s *stream) resetDisplay() {
	s.display = display{}
	if s.cfg.Display != nil {
		s.display.show = s.cfg.Display()
	}
}

// shownText is the text at an index, made if there is none.
func (s *stream) shownText(index int) *shownText {
	t := s.display.texts[index]
	if t == nil {
		t = &shownText{id: s.id}
		if n := len(s.display.texts); n > 0 {
			t.id = fmt.Sprintf("%s-%d", s.id, n+1)
		} else {
			s.display.texts = map[int]*shownText{}
		}
		s.display.texts[index] = t
	}
	return t
}

// textDelta shows a piece of a text, or holds it back until its line is whole.
func (s *stream) textDelta(d llm.TextDelta) {
	if s.display.show == nil {
		s.delta(d)
		return
	}
	t := s.shownText(d.Index)
	if t.ended {
		return
	}
	if end := strings.LastIndexByte(d.Text, '\n'); end >= 0 {
		t.lines = t.came.Len() + end + 1
	}
	t.came.WriteString(d.Text)
	if t.lines > t.asked && s.cfg.Clock().Sub(s.display.last) >= displayEvery {
		text := t.came.String()[t.asked:t.lines]
		t.asked = t.lines
		s.piece(d.Index, t, text, false, true)
	}
}

// piece has a piece of a text judged. One that the user interrupted is not shown.
func (s *stream) piece(index int, t *shownText, text string, final, publish bool) {
	shown, replaced := s.display.show(s.ctx, Showing{Message: t.id, Index: t.pieces, Final: final, Text: text})
	t.pieces++
	if !replaced && s.ctx.Err() != nil {
		t.changed = true
		return
	}
	body := event.Delta{MessageID: s.id, Delta: llm.TextDelta{Index: index, Text: text}}
	if replaced {
		t.changed = true
		body.Shown = &shown
	} else {
		shown = text
	}
	t.shown.WriteString(shown)
	if publish {
		s.cfg.Publish(body)
	}
	s.display.last = s.cfg.Clock()
}

// shown is what people see of a complete part: nil if that is the part itself.
func (s *stream) shown(index int, p llm.Part) *string {
	text, ok := p.(llm.Text)
	if !ok || s.display.show == nil {
		return nil
	}
	t := s.shownText(index)
	if !t.ended {
		t.ended = true
		s.rest(index, t, text.Text)
	}
	if !t.changed {
		return nil
	}
	out := t.shown.String()
	return &out
}

// rest shows what is left of a text that is complete. Of an interrupted one nothing more is shown.
func (s *stream) rest(index int, t *shownText, whole string) {
	if s.ctx.Err() != nil {
		t.changed = true
		return
	}
	streamed := t.came.Len() > 0
	rest, ok := strings.CutPrefix(whole, t.came.String()[:t.asked])
	if !ok { // the provider's whole text counts
		t.shown.Reset()
		t.changed, rest = true, whole
	}
	if streamed || strings.TrimSpace(rest) != "" {
		s.piece(index, t, rest, true, streamed)
	}
}
