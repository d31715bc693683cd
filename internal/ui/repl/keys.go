package repl

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// splitter cuts a terminal's input into keys: runes and escape sequences, each whole. Other input
// (broken UTF-8, a sequence without end) is dropped, since the line editor would wait for its rest for ever.
type splitter struct {
	rest    []byte
	pasting bool
}

// maxSequence is the longest escape sequence that is waited for.
const maxSequence = 32

func (s *splitter) next(b []byte) (keys []string) {
	s.rest = append(s.rest, b...)
	for len(s.rest) > 0 {
		n, ok := s.key()
		if n == 0 {
			break
		}
		k := string(s.rest[:n])
		s.rest = s.rest[n:]
		switch k {
		case "\x1b[200~":
			s.pasting = true
		case "\x1b[201~":
			s.pasting = false
		}
		if ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// key is the length of the first key, 0 when it is not whole yet; ok is false for input to drop.
func (s *splitter) key() (n int, ok bool) {
	b := s.rest
	if b[0] != 0x1b {
		if !utf8.FullRune(b) {
			return 0, false
		}
		r, n := utf8.DecodeRune(b)
		return n, r != utf8.RuneError || n > 1
	}
	if len(b) == 1 {
		return 1, false // the Escape key alone has no meaning here
	}
	switch b[1] {
	case '[':
		n, complete := term.Sequence(string(b[:min(len(b), maxSequence)]))
		if !complete && n == len(b) {
			return 0, false // its rest may follow
		}
		return n, complete && known(b[:n])
	case 'O': // the other form of arrows, Home and End
		if len(b) < 3 {
			return 0, false
		}
		b[1] = '['
		return 3, known(b[:3])
	}
	return 2, false
}

// known are the sequences that golang.org/x/term understands.
func known(b []byte) bool {
	switch string(b[2:]) {
	case "A", "B", "C", "D", "H", "F", "3~", "200~", "201~", "1;3C", "1;3D":
		return true
	}
	return false
}

// finder is the search through earlier lines by Ctrl+R.
type finder struct {
	query string
	at    int    // of the line that was found
	found string // the completed line, to see whether it was changed since
}

const keyCtrlR = 0x12

// completeTime is how long a completion may take.
const completeTime = 2 * time.Second

// complete answers the keys that the line editor does not know: Tab and Ctrl+R.
func (e *editor) complete(line string, pos int, key rune) (string, int, bool) {
	switch key {
	case '\t':
		return e.tab(line, pos)
	case keyCtrlR:
		return e.search(line)
	}
	return "", 0, false
}

// search finds the next older line that contains the typed text.
func (e *editor) search(line string) (string, int, bool) {
	if e.find.found == "" || e.find.found != line {
		e.find = finder{query: strings.ToLower(line), at: -1}
	}
	for i := e.find.at + 1; i < e.past.Len(); i++ {
		if old := e.past.At(i); old != line && strings.Contains(strings.ToLower(old), e.find.query) {
			e.find.at, e.find.found = i, old
			return old, len(old), true
		}
	}
	return line, len(line), true
}

// tab completes the word before the cursor: a command, its argument, or a file after an @.
func (e *editor) tab(line string, pos int) (string, int, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	head, tail := line[:pos], line[pos:]
	q, start := query(head)
	if q.Kind == "" {
		return line, pos, true
	}
	q.Limit = 20
	found, _ := e.s.Complete(ctx, q) // a session that cannot answer completes nothing
	if len(found) == 0 {
		return line, pos, true
	}
	if begin := beginning(found, head[start:]); len(begin) > 0 { // those with the letters elsewhere come later
		found = begin
	}
	text := common(found)
	if len(found) == 1 && !strings.HasSuffix(text, "/") {
		text += " "
	}
	if len(text) <= pos-start && len(found) > 1 {
		e.list(found)
		return line, pos, true
	}
	// fuzzy: nothing is certain yet
	if !strings.HasPrefix(strings.ToLower(text), strings.ToLower(head[start:])) && len(found) > 1 {
		e.list(found)
		return line, pos, true
	}
	head = head[:start] + text
	return head + tail, len(head), true
}

// query is the completion query of the word before the cursor, and where that word begins.
func query(head string) (event.Query, int) {
	if name, args, ok := slash(head); ok {
		if !strings.Contains(head, " ") {
			return event.Query{Kind: event.QueryCommand, Text: name}, 1
		}
		return event.Query{Kind: event.QueryArgument, Name: name, Text: args}, len(head) - len(args)
	}
	if head == "/" {
		return event.Query{Kind: event.QueryCommand}, 1
	}
	word := strings.LastIndexAny(head, " \t") + 1
	if strings.HasPrefix(head[word:], "@") {
		return event.Query{Kind: event.QueryFile, Text: head[word+1:]}, word + 1
	}
	return event.Query{}, 0
}

// beginning are the candidates that begin with the typed text.
func beginning(found []event.Candidate, typed string) []event.Candidate {
	var out []event.Candidate
	for _, c := range found {
		if strings.HasPrefix(strings.ToLower(c.Text), strings.ToLower(typed)) {
			out = append(out, c)
		}
	}
	return out
}

// common is the longest beginning that all candidates have.
func common(found []event.Candidate) string {
	out := found[0].Text
	for _, c := range found[1:] {
		for !strings.HasPrefix(c.Text, out) {
			_, n := utf8.DecodeLastRuneInString(out)
			out = out[:len(out)-n]
		}
	}
	return out
}

// list shows candidates above the line.
func (e *editor) list(found []event.Candidate) {
	var b strings.Builder
	for _, c := range found {
		b.WriteString("  " + c.Text)
		if c.Label != "" && c.Label != c.Text {
			b.WriteString("  " + c.Label)
		}
		if c.Help != "" {
			b.WriteString("  " + c.Help)
		}
		b.WriteString("\n")
	}
	e.out.block(b.String())
}
