package editor

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// token is the part of the text that is being completed.
type token struct {
	kind     event.QueryKind
	name     string // of the command, for an argument
	from, to pos    // the text that a completion replaces
	text     string // the typed part of it
	plain    bool   // a path without @, as in a shell
}

func (t token) same(o token) bool {
	return t.kind == o.kind && t.name == o.name && t.from == o.from && t.plain == o.plain
}

// popup is the list of completions of a token.
type popup struct {
	token     token
	gen       uint64 // of the question asked last; 0: none
	items     []event.Candidate
	selected  int
	moved     bool // the user chose
	dismissed bool // until another token
	late      bool // the items are those for a text before this one
	top       int  // the first row shown
}

// completions is how many are asked for: more than fit on a screen.
const completions = 50

func (p *popup) open() bool { return len(p.items) > 0 && !p.dismissed }

// refresh reads the text before the cursor and asks for completions. They are offered when something was
// typed; moving about only closes the list.
func (e *Editor) refresh(edited bool) []Out {
	t, ok := e.token()
	p := &e.popup
	switch {
	case !ok:
		*p = popup{}
		return nil
	case !t.same(p.token):
		if !edited {
			*p = popup{}
			return nil
		}
		*p = popup{token: t}
	case p.dismissed || !edited && p.gen == 0:
		p.token = t
		return nil
	case p.gen != 0 && t.text == p.token.text:
		p.token = t
		return nil
	}
	p.token = t
	return e.ask(t)
}

func (e *Editor) ask(t token) []Out {
	e.gen++
	e.popup.gen, e.popup.late = e.gen, true
	return []Out{Ask{e.gen, event.Query{Kind: t.kind, Name: t.name, Text: t.text, Limit: completions}}}
}

// token finds the word to complete at the cursor.
func (e *Editor) token() (token, bool) {
	c := e.buf.cursor
	all := e.buf.lines[c.line].text
	before := all[:c.col]
	if t, ok := fileToken(c, all, before); ok {
		return t, true
	}
	if e.mode == Prompt && c.line == 0 && strings.HasPrefix(before, "/") {
		return commandToken(c, all, before)
	}
	return token{}, false
}

// fileToken finds @path or @"path with blanks.
func fileToken(c pos, all, before string) (token, bool) {
	t := token{kind: event.QueryFile}
	if i := strings.LastIndex(before, `@"`); i >= 0 && opens(before[:i]) && !strings.Contains(before[i+2:], `"`) {
		t.from, t.to, t.text = pos{c.line, i}, c, before[i+2:]
		if n := strings.IndexByte(all[c.col:], '"'); n >= 0 && !strings.Contains(all[c.col:c.col+n], " ") {
			t.to.col += n + 1
		}
		return t, chipWithin(t.text) < 0
	}
	start := strings.LastIndexAny(before, " \t") + 1
	i := strings.IndexByte(before[start:], '@')
	if i < 0 || !opens(before[:start+i]) {
		return token{}, false
	}
	t.from, t.to, t.text = pos{c.line, start + i}, wordEnd(c, all), before[start+i+1:]
	return t, chipWithin(t.text) < 0 && !strings.Contains(t.text, `"`)
}

// opens reports whether an @ after s begins a path, and is not part of an address.
func opens(s string) bool {
	return s == "" || strings.ContainsAny(s[len(s)-1:], " \t([{<,;:=\"'`")
}

func wordEnd(c pos, all string) pos {
	if n := strings.IndexAny(all[c.col:], " \t"); n >= 0 {
		return pos{c.line, c.col + n}
	}
	return pos{c.line, len(all)}
}

// commandToken finds the name of a command, or its arguments.
func commandToken(c pos, all, before string) (token, bool) {
	name, rest, args := strings.Cut(before[1:], " ")
	if !commandName(name) && name != "" || chipWithin(before) >= 0 {
		return token{}, false
	}
	if !args {
		return token{kind: event.QueryCommand, to: wordEnd(c, all), text: name}, true
	}
	text := strings.TrimLeft(rest, " ")
	return token{kind: event.QueryArgument, name: name, from: pos{0, len(before) - len(text)}, to: c, text: text},
		name != ""
}

// commandName reports names that commands may have; a path is not one.
func commandName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_:.", r)) {
			return false
		}
	}
	return s != ""
}

// complete begins to complete the word at the cursor, also where nothing was offered: in a shell command, any
// word is a path.
func (e *Editor) complete() ([]Out, bool) {
	t, ok := e.token()
	if !ok {
		if e.mode != Shell || e.buf.empty() {
			return nil, false
		}
		c := e.buf.cursor
		all := e.buf.lines[c.line].text
		start := strings.LastIndexAny(all[:c.col], " \t") + 1
		t = token{kind: event.QueryFile, from: pos{c.line, start}, to: wordEnd(c, all), text: all[start:c.col], plain: true}
	}
	e.popup = popup{token: t}
	return e.ask(t), true
}

// Answer brings the completions an Ask wanted. They may be late: then nothing happens.
func (e *Editor) Answer(gen uint64, found []event.Candidate) []Out {
	switch {
	case gen == 0:
		return nil
	case gen == e.history.gen:
		return e.historyCame(found)
	case e.find != nil && gen == e.find.gen:
		e.find.came(found)
		return nil
	case gen != e.popup.gen || e.find != nil:
		return nil
	}
	p := &e.popup
	p.items, p.selected, p.moved, p.top, p.late = found, 0, false, 0, false
	if p.token.kind == event.QueryCommand {
		e.learnHints(found)
	}
	if enter := e.enterWaits; enter != nil {
		e.enterWaits = nil
		return e.submit(*enter)
	}
	return nil
}

// learnHints remembers the arguments of commands, to be shown when a command is typed and its arguments are
// not.
func (e *Editor) learnHints(found []event.Candidate) {
	if e.hints == nil {
		e.hints = map[string]string{}
	}
	for _, c := range found {
		e.hints[strings.TrimPrefix(c.Text, "/")] = c.Hint
	}
}

// hint is the text to show behind the prompt: the arguments of the command.
func (e *Editor) hint() string {
	first := e.buf.lines[0].text
	if e.mode != Prompt || len(e.buf.lines) > 1 || !strings.HasPrefix(first, "/") || e.buf.cursor.col != len(first) {
		return ""
	}
	name, args, blank := strings.Cut(first[1:], " ")
	hint := e.hints[name]
	switch {
	case hint == "" || strings.TrimSpace(args) != "":
		return ""
	case !blank:
		return " " + hint
	}
	return hint
}

// choose moves in the list, round at its ends.
func (p *popup) choose(by int) bool {
	if !p.open() {
		return false
	}
	p.selected = (p.selected + by + len(p.items)) % len(p.items)
	p.moved = true
	return true
}

// accept takes the chosen completion into the text.
func (e *Editor) accept() ([]Out, bool) {
	p := &e.popup
	if !p.open() {
		return nil, false
	}
	t, c := p.token, p.items[p.selected]
	from, to := e.buf.snap(t.from), e.buf.snap(t.to)
	following := e.buf.lines[to.line].text[to.col:]
	s := inserted(t, c.Text, following)
	*p = popup{}
	e.apply(from, to, s, other)
	if strings.HasSuffix(s, " ") && strings.HasPrefix(following, " ") {
		e.apply(e.buf.cursor, e.buf.next(e.buf.cursor), "", other)
	}
	if t.kind == event.QueryFile && isFolder(c.Text) {
		if t.plain {
			return e.complete()
		}
		return e.refresh(true), true
	}
	if t.kind == event.QueryCommand {
		return e.refresh(true), true // its arguments
	}
	return nil, true
}

func isFolder(path string) bool { return strings.HasSuffix(path, "/") || strings.HasSuffix(path, `\`) }

// inserted is a completion as it stands in the text.
func inserted(t token, s, following string) string {
	s = clean(strings.ReplaceAll(s, "\n", " "))
	switch {
	case t.kind == event.QueryCommand:
		return "/" + strings.TrimPrefix(s, "/") + " "
	case t.kind == event.QueryArgument:
		return s
	case t.plain && strings.ContainsAny(s, " \t'\"\\$`!&|;<>()*?[]{}#~"):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	case t.plain:
		return s
	case strings.ContainsAny(s, " \t") && isFolder(s):
		return `@"` + s
	case strings.ContainsAny(s, " \t"):
		return `@"` + s + `" `
	case isFolder(s):
		return "@" + s
	}
	return "@" + s + " "
}

// typedInFull reports whether the typed text is itself one of the completions, and the user chose no other.
func (p *popup) typedInFull() bool {
	return !p.moved && slices.ContainsFunc(p.items, func(c event.Candidate) bool {
		return strings.TrimPrefix(c.Text, "/") == strings.TrimPrefix(p.token.text, "/")
	})
}

// enter reports whether Submit, while the list is open, takes the completion, and whether it then sends the
// prompt.
func (e *Editor) enter() (take, send bool) {
	p := &e.popup
	if !p.open() {
		return false, true
	}
	switch p.token.kind {
	case event.QueryCommand:
		if p.typedInFull() {
			return false, true
		}
		return true, p.items[p.selected].Hint == ""
	case event.QueryArgument:
		return p.moved || p.token.text != "", true
	}
	return !p.typedInFull(), p.typedInFull()
}
