package editor

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// A chip is in the text as one character of the last private plane. Text from outside never holds those
// (see clean), so there is no mistaking.
const (
	chipFirst = 0x100000
	chipLast  = 0x10fffd
	chipBytes = 4
)

// chip is the content that such a character represents.
type chip struct {
	label string
	text  string     // of a paste
	image *llm.Media // of an image; without data until it is read
	path  string     // of an image: the pasted text
}

func (c *chip) loading() bool { return c.image != nil && c.image.Data == nil }

// isChip reports whether s begins with a chip. All code points of the plane begin with the byte F4.
func isChip(s string) bool { return len(s) >= chipBytes && s[0] == 0xf4 }

func chipWithin(s string) int { return strings.IndexByte(s, 0xf4) }

func chipID(s string) int {
	r, _ := utf8.DecodeRuneInString(s)
	return int(r) - chipFirst
}

func chipRune(id int) string { return string(rune(chipFirst + id)) }

// newChip keeps a chip and returns the character that represents it.
func (e *Editor) newChip(c *chip) string {
	if e.chips == nil {
		e.chips = map[int]*chip{}
	}
	if len(e.chips) >= chipLast-chipFirst {
		return "" // more than anybody pastes
	}
	id := e.nextChip
	e.nextChip++
	e.chips[id] = c
	return chipRune(id)
}

// fold makes a chip of a long text.
func (e *Editor) fold(s string) string {
	e.pastes++
	size := fmt.Sprintf("%d characters", utf8.RuneCountInString(s))
	if n := strings.Count(s, "\n"); n > 0 {
		size = fmt.Sprintf("+%d lines", n)
	}
	return e.newChip(&chip{label: fmt.Sprintf("[Pasted text #%d %s]", e.pastes, size), text: s})
}

// each calls fn for the chips in a text, in order.
func (e *Editor) each(s string, fn func(id int, c *chip)) {
	for {
		i := chipWithin(s)
		if i < 0 {
			return
		}
		id := chipID(s[i:])
		if c := e.chips[id]; c != nil {
			fn(id, c)
		}
		s = s[i+chipBytes:]
	}
}

// render replaces the chips in a text.
func (e *Editor) render(s string, with func(*chip) string) string {
	if chipWithin(s) < 0 {
		return s
	}
	var b strings.Builder
	for {
		i := chipWithin(s)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		if c := e.chips[chipID(s[i:])]; c != nil {
			b.WriteString(with(c))
		}
		s = s[i+chipBytes:]
	}
}

// expanded is the text of a chip as the model gets it.
func (c *chip) expanded() string {
	if c.image != nil {
		return c.label
	}
	return c.text
}

// labelled puts chips where their labels are in a text, as after the user's own editor.
func (e *Editor) labelled(s string) string {
	for id, c := range e.chips {
		s = strings.ReplaceAll(s, c.label, chipRune(id))
	}
	return s
}

// message is the text as the model gets it, with its images.
func (e *Editor) message() llm.Message {
	all := e.buf.all()
	m := llm.Message{Role: llm.User}
	if s := trimmed(e.render(all, (*chip).expanded)); s != "" {
		m.Parts = append(m.Parts, llm.Text{Text: s})
	}
	seen := map[int]bool{}
	e.each(all, func(id int, c *chip) {
		if c.image != nil && c.image.Data != nil && !seen[id] {
			seen[id] = true
			m.Parts = append(m.Parts, *c.image)
		}
	})
	return m
}

// trimmed leaves out empty lines before and blanks after a text.
func trimmed(s string) string { return strings.TrimLeft(strings.TrimRight(s, " \t\n"), "\n") }

// unfold shows the paste before the cursor in full.
func (e *Editor) unfold() ([]Out, bool) {
	from, to := e.buf.previous(e.buf.cursor), e.buf.cursor
	s := e.buf.text(from, to)
	if !isChip(s) {
		from, to = e.buf.cursor, e.buf.next(e.buf.cursor)
		s = e.buf.text(from, to)
	}
	c := e.chips[chipIDOr(s)]
	if c == nil || c.image != nil {
		return nil, false
	}
	if len(c.text) > maxPlain {
		return []Out{Notice{fmt.Sprintf("The pasted text has %d kB, too much to show here. It is sent in full.",
			len(c.text)/1000)}}, true
	}
	e.apply(from, to, clean(c.text), other)
	return nil, true
}

func chipIDOr(s string) int {
	if !isChip(s) {
		return -1
	}
	return chipID(s)
}
