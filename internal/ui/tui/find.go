package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
)

// find is the search in the transcript.
type find struct {
	open bool   // the line is typed in
	text string // the query; its matches stay marked until the search is left
	hit  *item
	row  int
	none bool
	at   place // where a long search continues
	busy bool

	of      string  // the text that the matches below are of
	matches []*item // items with a match, from the top
	more    bool    // there was no time to search all of them
}

// place is where a search continues: an item, the row in it that was found last (-1: none), and a direction.
type place struct{ item, row, step int }

// findTime is how long a search may keep the loop before it lets keys through.
const findTime = 10 * time.Millisecond

// findMsg continues a search.
type findMsg struct{ text string }

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
	m.find.none, m.find.busy = false, false
	if m.find.text == "" || len(m.log.items) == 0 {
		m.find.hit = nil
		return
	}
	m.countMatches()
	m.find.at = m.findStart(step)
	m.findOn()
}

// countMatches lists the items with a match, once for each text, as far as it gets in [findTime].
func (m *model) countMatches() {
	f := &m.find
	if f.of == f.text {
		return
	}
	f.of, f.matches, f.more = f.text, nil, false
	end := m.now().Add(findTime)
	for n, it := range m.log.items {
		if inText(it.words(), f.text) {
			f.matches = append(f.matches, it)
		}
		if n%32 == 31 && m.now().After(end) {
			f.more = n+1 < len(m.log.items)
			return
		}
	}
}

// standing is which of the items with a match is shown, in words.
func (f *find) standing() string {
	at := slices.Index(f.matches, f.hit)
	switch {
	case f.hit == nil || at < 0 && !f.more:
		return ""
	case at < 0:
		return fmt.Sprintf("one of more than %d", len(f.matches))
	case f.more:
		return fmt.Sprintf("%d of %d+", at+1, len(f.matches))
	}
	return fmt.Sprintf("%d of %d", at+1, len(f.matches))
}

// findOn searches for a while, and has itself called again when that was not enough.
func (m *model) findOn() {
	f, end := &m.find, m.now().Add(findTime)
	f.busy = false
	for n := 1; f.at.item >= 0 && f.at.item < len(m.log.items); n++ {
		it := m.log.items[f.at.item]
		if inText(it.words(), f.text) {
			if row, ok := m.findRow(f.at); ok {
				f.hit, f.row = it, row
				m.log.show(f.at.item, row)
				return
			}
		}
		f.at.item, f.at.row = f.at.item+f.at.step, -1
		if n%32 == 0 && m.now().After(end) {
			f.busy = true
			m.later(0, findMsg{f.text})
			return
		}
	}
	f.none = true
}

func (m *model) findStart(step int) place {
	if step == 0 || m.find.hit == nil {
		return place{m.log.last(), -1, -1}
	}
	for i, it := range m.log.items {
		if it == m.find.hit {
			return place{i, m.find.row, step}
		}
	}
	return place{len(m.log.items) - 1, -1, -1}
}

// findRow is the row of an item with a match, after (or above) the last one. A match that is broken over two
// rows is found by its first word.
func (m *model) findRow(p place) (int, bool) {
	h := m.log.height(p.item)
	lines := m.log.items[p.item].slice(nil, 0, h)
	for _, text := range []string{m.find.text, firstWord(m.find.text)} {
		at := p.row + p.step
		if p.row < 0 && p.step < 0 {
			at = h - 1
		} else if p.row < 0 {
			at = 0
		}
		for ; text != "" && at >= 0 && at < len(lines); at += p.step {
			if i, _ := fold(line.Strip(lines[at]), text); i >= 0 {
				return at, true
			}
		}
		if p.row >= 0 {
			break
		}
	}
	return 0, false
}

func firstWord(s string) string {
	if f := strings.Fields(s); len(f) > 1 {
		return f[0]
	}
	return ""
}

// inText reports whether text has a match, whatever Markdown's signs and line breaks are in between.
func inText(text, part string) bool {
	if i, _ := fold(text, part); i >= 0 {
		return true
	}
	if !strings.ContainsAny(text, "*_`~\n\\") {
		return false
	}
	i, _ := fold(strings.Map(plainSign, text), part)
	return i >= 0
}

func plainSign(r rune) rune {
	switch r {
	case '*', '_', '`', '~', '\\':
		return -1
	case '\n':
		return ' '
	}
	return r
}

// fold finds part in s; where it begins, and how long it is there. Case counts only where part has capitals.
func fold(s, part string) (at, n int) {
	if part == "" {
		return -1, 0
	}
	if strings.ContainsFunc(part, unicode.IsUpper) {
		return strings.Index(s, part), len(part)
	}
	first, lower := part[0], byte(0)
	if first >= 'a' && first <= 'z' {
		lower = 0x20
	}
	for i := range len(s) {
		if c := s[i]; c|lower == first || c >= utf8.RuneSelf && utf8.RuneStart(c) {
			if n := foldPrefix(s[i:], part); n > 0 {
				return i, n
			}
		}
	}
	return -1, 0
}

// foldPrefix is how many bytes at the start of s are part, whatever their case; 0: they are not.
func foldPrefix(s, part string) int {
	n := 0
	for _, want := range part {
		r, size := utf8.DecodeRuneInString(s[n:])
		if size == 0 || r != want && unicode.ToLower(r) != want {
			return 0
		}
		n += size
	}
	return n
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
	var from, to []int
	for pos := 0; ; pos = to[len(to)-1] {
		at, n := fold(plain[pos:], m.find.text)
		if at < 0 {
			break
		}
		from, to = append(from, pos+at), append(to, pos+at+n)
	}
	if len(from) == 0 {
		return s
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
	switch {
	case m.find.busy:
		note = "  searching…"
	case m.find.none:
		note = "  not found"
	}
	if standing := m.find.standing(); standing != "" && !m.find.busy && !m.find.none {
		note = "  " + standing + " ·" + note[1:]
	}
	text := lastCells(term.EscapeLine(m.find.text), max(width-10, 1))
	return cutCells(th.Accent.Render("search: ")+text+th.Dim.Render(note), width), 8 + term.Width(text)
}
