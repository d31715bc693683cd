package web

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/base/syntax"
)

// openCode begins a piece of code; name is that of its language.
func openCode(w *writer, name string) {
	w.tag(`<div class="code">`)
	if name != "" {
		w.element(`<span class="lang">`, name, "</span>")
	}
	w.tag(`<button type="button" class="copy" data-act="copy">Copy</button><pre tabindex="0"><code>`)
}

func closeCode(w *writer) { w.tag("</code></pre></div>") }

// classes of the kinds of code.
var classes = [...]markup{
	syntax.Keyword: "k", syntax.String: "s", syntax.Number: "n", syntax.Comment: "c", syntax.Function: "f",
	syntax.Type: "t", syntax.Constant: "o", syntax.Variable: "v", syntax.Operator: "p", syntax.Tag: "g",
	syntax.Added: "add", syntax.Removed: "del",
}

// highlight writes a line of code in its colours.
func highlight(w *writer, lang *syntax.Language, state syntax.State, s string) syntax.State {
	if lang == nil {
		w.text(s)
		return state
	}
	return lang.Line(state, s, func(k syntax.Kind, text string) {
		if int(k) >= len(classes) || classes[k] == "" {
			w.text(text)
			return
		}
		w.tag(`<span class="`, classes[k], `">`)
		w.text(text)
		w.tag("</span>")
	})
}

// code writes a text as code of the language that its name or its path tells. It is folded behind the first lines.
func code(w *writer, text, name, path string) {
	lang := syntax.Find(name)
	if lang == nil {
		lang = syntax.ForPath(path)
	}
	var state syntax.State
	list := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	openCode(w, name)
	fold := newFold(w, len(list), 16, 0)
	for i, s := range list {
		fold.at(i)
		state = highlight(w, lang, state, s)
		w.tag("\n")
	}
	fold.end()
	closeCode(w)
}

// fold hides the lines between the first and the last ones of many.
type fold struct {
	w          *writer
	head, tail int // the hidden lines, from 0
	open       bool
}

func newFold(w *writer, total, head, tail int) *fold {
	f := &fold{w: w, head: head, tail: total - tail}
	if total <= head+tail+4 {
		f.head, f.tail = total, total
	}
	return f
}

// at begins line i.
func (f *fold) at(i int) {
	switch {
	case i == f.head && f.tail > f.head:
		f.w.tag(`<button type="button" class="more" data-act="more" aria-expanded="false">`)
		f.w.text("… " + count(f.tail-f.head, "more line"))
		f.w.tag(`</button><span class="rest" hidden>`)
		f.open = true
	case i == f.tail:
		f.end()
	}
}

func (f *fold) end() {
	if f.open {
		f.w.tag("</span>")
	}
	f.open = false
}

// numbered writes a file with the numbers of its lines.
func numbered(w *writer, text, path string) {
	lang := syntax.ForPath(path)
	var state syntax.State
	w.tag(`<div class="diff"><table><tbody>`)
	for i, s := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		w.tag(`<tr class="same">`)
		number(w, i+1)
		w.tag(`<td class="line">`)
		state = highlight(w, lang, state, s)
		w.tag("</td></tr>")
	}
	w.tag("</tbody></table></div>")
}
