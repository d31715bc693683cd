package web

import (
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/base/unified"
	"github.com/lathe-dev/lathe/internal/event"
)

// mostDiff is how many lines of a diff are shown before the rest is folded.
const mostDiff = 60

// diff writes a change, a table for each file: numbers, signs, and the words that changed within lines. The page can
// put its rows side by side.
func diff(w *writer, v event.Diff, whole bool) {
	for _, d := range v.Each() {
		list := unified.Parse(d.Unified)
		w.tag(`<div class="diff"><div class="diffhead">`)
		fileName(w, d.Path)
		if d.Created {
			w.tag(` <span class="tagged">new</span>`)
		}
		counts(w, d.Added, d.Removed)
		w.tag(`<button type="button" class="split" data-act="split" aria-pressed="false">Side by side</button></div>`)
		if len(list) == 0 {
			w.tag(`<pre class="none">`)
			w.text(strings.TrimSpace(d.Unified))
			w.tag("</pre></div>")
			continue
		}
		w.tag(`<div class="scroll" tabindex="0" role="region" aria-label="diff"><table>`)
		diffRows(w, list, syntax.ForPath(d.Path), whole)
		w.tag("</table></div></div>")
	}
}

// counts are the lines added and removed.
func counts(w *writer, added, removed int) {
	if added > 0 {
		w.element(` <span class="plus">`, "+"+strconv.Itoa(added), "</span>")
	}
	if removed > 0 {
		w.element(` <span class="minus">`, "−"+strconv.Itoa(removed), "</span>")
	}
}

// fileName is a path that opens the file in the viewer.
func fileName(w *writer, path string) {
	openFile(w, path, 0)
	w.line(relative(path, w.dir))
	w.tag("</button>")
}

// openFile begins a button that opens a file in the viewer.
func openFile(w *writer, path string, line int) {
	w.tag(`<button type="button" class="file" data-act="file"`)
	w.attr(" data-path=", path)
	if line > 0 {
		w.attr(" data-line=", strconv.Itoa(line))
	}
	w.tag(">")
}

func diffRows(w *writer, list []unified.Line, lang *syntax.Language, whole bool) {
	changed := unified.Words(list)
	var states [2]syntax.State // of the old and the new text
	w.tag("<tbody>")
	for i, l := range list {
		if i == mostDiff && len(list) > mostDiff+8 && !whole {
			w.tag(`</tbody><tbody class="unfold"><tr><td colspan="4"><button type="button" class="more" data-act="rows">`)
			w.text("… " + count(len(list)-mostDiff, "more line"))
			w.tag(`</button></td></tr></tbody><tbody class="rest" hidden>`)
		}
		switch l.Sign {
		case '@':
			states = [2]syntax.State{}
			if i > 0 || l.Text != "" {
				w.tag(`<tr class="hunk"><td colspan="4">⋯ `)
				w.text(l.Text)
				w.tag("</td></tr>")
			}
		case '\\':
			w.element(`<tr class="hunk"><td colspan="4">`, l.Text, "</td></tr>")
		default:
			diffRow(w, l, lang, &states, changed[i])
		}
	}
	w.tag("</tbody>")
}

func diffRow(w *writer, l unified.Line, lang *syntax.Language, states *[2]syntax.State, changed [][2]int) {
	row, sign, mark := markup(`<tr class="same">`), markup(" "), markup("")
	side := 1
	switch l.Sign {
	case '+':
		row, sign, mark = `<tr class="add">`, "+", "<ins>"
	case '-':
		row, sign, mark, side = `<tr class="del">`, "−", "<del>", 0
	}
	w.tag(row)
	number(w, l.Old)
	number(w, l.New)
	w.tag(`<td class="sign">`, sign, `</td><td class="line">`)
	m := marker{w: w, changed: changed, open: mark}
	if lang == nil {
		m.piece("", l.Text)
	} else {
		states[side] = lang.Line(states[side], l.Text, func(k syntax.Kind, text string) { m.piece(classes[k], text) })
		if l.Sign == ' ' {
			states[0] = states[1]
		}
	}
	w.tag("</td></tr>")
}

func number(w *writer, n int) {
	w.tag(`<td class="no">`)
	if n > 0 {
		w.text(strconv.Itoa(n))
	}
	w.tag("</td>")
}

// marker writes the pieces of a line with the words that changed marked.
type marker struct {
	w       *writer
	changed [][2]int // bytes of the line
	open    markup
	at      int
}

func (m *marker) piece(class markup, text string) {
	if class != "" {
		m.w.tag(`<span class="`, class, `">`)
		defer m.w.tag("</span>")
	}
	for text != "" {
		n, inside := m.within(len(text))
		if inside {
			m.w.tag(m.open)
		}
		m.w.text(text[:n])
		if inside && m.open == "<ins>" {
			m.w.tag("</ins>")
		} else if inside {
			m.w.tag("</del>")
		}
		text, m.at = text[n:], m.at+n
	}
}

// within says how many of the next n bytes are alike: inside one of the ranges, or outside of all.
func (m *marker) within(n int) (int, bool) {
	for _, r := range m.changed {
		switch {
		case m.at < r[0]:
			return min(n, r[0]-m.at), false
		case m.at < r[1]:
			return min(n, r[1]-m.at), m.open != ""
		}
	}
	return n, false
}
