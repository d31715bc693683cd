package web

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// markup is HTML of this package's own. Only constants become markup: a string variable does not compile as one.
type markup string

// writer writes HTML. It is the one place where foreign text becomes a part of a page.
type writer struct {
	strings.Builder
	dir string // of the session, below which paths are short
}

// tag writes markup.
func (w *writer) tag(m ...markup) {
	for _, s := range m {
		w.WriteString(string(s))
	}
}

// quoted are the characters that mean something in HTML, in text and in attributes.
var quoted = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// text writes foreign text. What could hide or reorder text is shown as what it is.
func (w *writer) text(s string) { _, _ = quoted.WriteString(w, term.Escape(s)) }

// line writes foreign text on which somebody may decide: a command, a path, a title.
func (w *writer) line(s string) { _, _ = quoted.WriteString(w, term.EscapeLine(s)) }

// attr writes an attribute; name is with its blank and equals sign (` href=`).
func (w *writer) attr(name markup, value string) {
	w.tag(name, `"`)
	_, _ = quoted.WriteString(w, term.EscapeLine(value))
	w.tag(`"`)
}

// element writes an element with a line of foreign text; open is its start tag.
func (w *writer) element(open markup, s string, end markup) {
	w.tag(open)
	w.line(s)
	w.tag(end)
}
