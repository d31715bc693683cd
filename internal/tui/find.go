package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/term"
	"github.com/lathe-dev/lathe/internal/tui/keys"
	"github.com/lathe-dev/lathe/internal/tui/line"
)

// find is the search in the transcript.
type find struct {
	open bool   // the line is typed in
	text string // what is looked for; it stays marked until the search is left
	hit  *item
	row  int
	none bool
}

func (m *model) openFind() {
	m.pick.on = false
	m.find = find{open: true}
}

// inFind does the actions of the line that is searched with.
func (m *model) inFind(a keys.Action) bool {
	switch a {
	case keys.SelectCancel:
		m.find = find{}
	case keys.SelectAccept, keys.SelectPrevious:
		m.findFrom(-1)
	case keys.SelectNext:
		m.findFrom(1)
	case keys.DeleteBack:
		m.eraseFind(1)
	case keys.DeleteWordBack, keys.KillLineStart, keys.ClearInput:
		m.eraseFind(len(m.find.text))
	case keys.SelectPageUp:
		m.log.scroll(-max(m.log.rows-2, 1))
	case keys.SelectPageDown:
		m.log.scroll(max(m.log.rows-2, 1))
	default:
		return false
	}
	return true
}

// eraseFind takes off the last characters that were typed.
func (m *model) eraseFind(n int) {
	for ; n > 0 && m.find.text != ""; n-- {
		_, size := utf8.DecodeLastRuneInString(m.find.text)
		m.find.text = m.find.text[:len(m.find.text)-size]
	}
	m.findFrom(0)
}

// findFrom shows the next match up (-1) or down (1) from the last one, or with 0 the nearest one at or above
// the end of the view. Only items whose text has a match are laid out.
func (m *model) findFrom(step int) {
	f := &m.find
	f.none = false
	if f.text == "" || len(m.log.items) == 0 {
		f.hit = nil
		return
	}
	i, row, dir := m.findStart(step)
	for ; i >= 0 && i < len(m.log.items); i, row = i+dir, -1 {
		it := m.log.items[i]
		if !contains(it.words(), f.text) {
			continue
		}
		if at, ok := m.findRow(i, row, dir); ok {
			f.hit, f.row = it, at
			m.log.show(i, at)
			return
		}
	}
	f.none = true
}

// findStart is where the search goes on: an item, the row in it that was found last (-1: none), and a direction.
func (m *model) findStart(step int) (i, row, dir int) {
	if step == 0 || m.find.hit == nil {
		m.log.settle()
		last := m.log.anchor
		for left := m.log.rows + m.log.offset - m.log.height(last); left > 0 && last+1 < len(m.log.items); last++ {
			left -= m.log.height(last + 1)
		}
		return last, -1, -1
	}
	for i, it := range m.log.items {
		if it == m.find.hit {
			return i, m.find.row, step
		}
	}
	return len(m.log.items) - 1, -1, -1
}

// findRow is the row of item i with a match, after (or above) row.
func (m *model) findRow(i, row, dir int) (int, bool) {
	h := m.log.height(i)
	lines := m.log.items[i].slice(nil, 0, h)
	at := row + dir
	if row < 0 && dir < 0 {
		at = h - 1
	} else if row < 0 {
		at = 0
	}
	for ; at >= 0 && at < len(lines); at += dir {
		if contains(line.Strip(lines[at]), m.find.text) {
			return at, true
		}
	}
	return 0, false
}

// contains reports whether s contains part; case counts only where part has capitals.
func contains(s, part string) bool { return index(s, part) >= 0 }

func index(s, part string) int {
	if strings.ContainsFunc(part, unicode.IsUpper) {
		return strings.Index(s, part)
	}
	return strings.Index(strings.ToLower(s), part)
}

// words is the text of an item for the search.
func (it *item) words() string {
	switch {
	case it.markdown():
		return it.source()
	case it.tool != nil:
		c := it.tool
		return c.title + "\n" + c.call.Name + "\n" + c.text + "\n" + viewWords(c.view)
	case it.view != nil:
		return viewWords(it.view)
	}
	return it.text
}

func viewWords(v event.View) string {
	switch v := v.(type) {
	case event.Command:
		return v.Command + "\n" + v.Output
	case event.Diff:
		return v.Path + "\n" + v.Unified
	case event.Listing:
		return v.Title + "\n" + strings.Join(v.Items, "\n")
	case event.TextView:
		return v.Path + "\n" + v.Summary + "\n" + v.Text
	case event.Subagent:
		return v.Agent + "\n" + v.Title + "\n" + v.Result
	}
	return ""
}

// marked marks the matches in a visible line.
func (m *model) marked(s string) string {
	if m.find.text == "" {
		return s
	}
	plain := line.Strip(s)
	at := index(plain, m.find.text)
	if at < 0 {
		return s
	}
	var from, to []int
	for pos := 0; at >= 0; at = index(plain[pos:], m.find.text) {
		from = append(from, pos+at)
		pos += at + len(m.find.text)
		to = append(to, pos)
		if pos >= len(plain) {
			break
		}
	}
	return reversed(s, from, to)
}

// reversed shows parts of a styled line in reverse; from and to count bytes of its plain text.
func reversed(s string, from, to []int) string {
	var b strings.Builder
	n, inside := 0, false
	var st style
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			k := escape(s[i:], &st)
			b.WriteString(s[i : i+k])
			if inside && s[i+k-1] == 'm' {
				b.WriteString("\x1b[7m")
			}
			i += k
			continue
		}
		if !inside && len(from) > 0 && n == from[0] {
			inside = true
			b.WriteString("\x1b[7m")
		}
		b.WriteByte(s[i])
		i, n = i+1, n+1
		if inside && n == to[0] {
			from, to, inside = from[1:], to[1:], false
			b.WriteString("\x1b[27m")
		}
	}
	return b.String()
}

// findLine is the line that is searched with, and the column of the caret.
func (m *model) findLine(width int) (string, int) {
	th := m.look.theme
	note := "  enter above · down below · esc leaves"
	if m.find.none {
		note = "  not found"
	}
	text := lastCells(term.EscapeLine(m.find.text), max(width-10, 1))
	return th.Accent.Render("search: ") + text + th.Dim.Render(note), 8 + term.Width(text)
}
