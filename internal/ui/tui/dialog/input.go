package dialog

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// maxLine is the longest text a dialog takes, in bytes; a paste may be longer.
const maxLine = 4096

// lineInput is one line of text that is typed.
type lineInput struct{ text string }

// key takes a key press and reports whether it was one for the line.
func (l *lineInput) key(k Key) bool {
	switch {
	case k.is(keys.DeleteBack):
		l.text = dropLast(l.text)
		return true
	case k.is(keys.DeleteWordBack):
		l.text = dropWord(l.text)
		return true
	case k.is(keys.KillLineStart):
		l.text = ""
		return true
	}
	if k.Text == "" || len(k.Actions) > 0 {
		return false
	}
	if text := strings.Join(strings.FieldsFunc(k.Text, func(r rune) bool { return r == '\n' || r == '\r' }), " "); len(
		l.text)+len(text) <= maxLine {
		l.text += text
	}
	return true
}

// dropLast takes off the last character as people see it.
func dropLast(s string) string {
	end := 0
	for i := 0; i < len(s); {
		n, _ := term.Cluster(s[i:], 0)
		end, i = i, i+max(n, 1)
	}
	return s[:end]
}

func dropWord(s string) string {
	s = strings.TrimRight(s, " ")
	return s[:strings.LastIndexByte(s, ' ')+1]
}

// show draws the end of the line that fits, escaped, and says in which cell the caret is.
func (l *lineInput) show(width int) (text string, caret int) {
	shown := term.EscapeLine(l.text)
	for term.Width(shown) >= width && shown != "" {
		n, _ := term.Cluster(shown, 0)
		shown = shown[n:]
	}
	return shown, term.Width(shown)
}
