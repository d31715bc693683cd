// Package editor is the prompt: text of several lines with pasted, attached and completed parts.
//
// The words: a chip is a long paste or an image that is in the text as one character, shown as
// "[Pasted text #1 +234 lines]"; its content is kept aside until the prompt is sent. The mode decides how
// the prompt is sent: as a message, a command of the user's own (!), a line for the memory file (#). The popup is
// the list of completions, or of earlier prompts in a search. An [Out] is a request of the editor.
//
// The editor does no input or output itself and never waits: it takes actions and text, and
// makes its requests as Outs, whose answers come back later. Answers to questions that are no longer open
// are dropped.
//
// Promises: the cursor is between characters as people see them; every edit can be undone and redone; the
// time of a key does not depend on the size of the chips; lines from [Editor.View] are at most as wide as
// asked for, and hold nothing of foreign text that could reach the terminal as a control.
package editor

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Out is something the editor wants done: Submit, Ask, LoadImage, Notice, OpenEditor.
type Out interface{ out() }

// Submit says that the prompt was sent; the editor is empty again.
type Submit struct {
	Kind    Kind
	Queue   bool        // not before the running turn is over
	Message llm.Message // for Prompt: text with pastes in full, then the images
	Short   string      // for Prompt: the text with pastes as their labels, where there are some
	Text    string      // with pastes in full; without ! or # (Shell, Memory); of a Command all of it
	Name    string      // of a Command, without the slash
	Args    string      // of a Command
	History string      // the entry of the history: Text, with its ! or #
}

// Kind is the meaning of a sent text.
type Kind int

// Kinds of sent texts.
const (
	Prompt  Kind = iota // a message for the model
	Command             // a slash command: Name and Args
	Shell               // !: a command of the user's own
	Memory              // #: a line for the memory file
)

// Ask wants completions. The answer goes to [Editor.Answer] with the same Gen.
type Ask struct {
	Gen   uint64
	Query event.Query
}

// LoadImage wants a file read. The answer goes to [Editor.ImageLoaded] with the same ID. At most Limit
// bytes are of use; a larger file is an error, and so is one that is not a regular file.
type LoadImage struct {
	ID    int
	Path  string
	Limit int64
}

// OpenEditor wants the text edited in the user's own editor. The new text goes to [Editor.SetText].
type OpenEditor struct{ Text string }

// Notice is something to tell the user.
type Notice struct{ Text string }

func (Submit) out()     {}
func (Ask) out()        {}
func (LoadImage) out()  {}
func (OpenEditor) out() {}
func (Notice) out()     {}

// Options of an editor. The zero value is good.
type Options struct {
	Theme       *theme.Theme // nil: no colours
	Placeholder string       // shown while there is no text
	FoldLines   int          // pastes with more lines than this are folded; 0: 10
	FoldChars   int          // pastes with more characters than this are folded; 0: 1000
	ImageLimit  int64        // bytes of an image; 0: 5 MB, the limit of model APIs
	NoImages    bool         // the model takes none: image paths stay text
	Windows     bool         // paths have backslashes
}

// maxPlain is how many bytes of a text are in the editor unfolded. Up to here a key takes no noticeable time.
const maxPlain = 100_000

// Editor is the prompt. Not safe for concurrent use.
type Editor struct {
	opt   Options
	mode  Kind
	buf   buffer
	undo  undo
	kills killRing

	chips          map[int]*chip
	nextChip       int
	pastes, images int          // how many there were, for their labels
	waiting        *keys.Action // to send, as soon as the images are read
	enterWaits     *keys.Action // to send or complete, as soon as the completions are there
	gen            uint64       // of the last question
	popup          popup
	hints          map[string]string // the arguments of commands
	history        history
	find           *finder
	stash          *draft
	width, top     int // as drawn last: columns, and the first row
}

// New makes an empty editor.
func New(opt Options) *Editor {
	if opt.FoldLines == 0 {
		opt.FoldLines = 10
	}
	if opt.FoldChars == 0 {
		opt.FoldChars = 1000
	}
	if opt.ImageLimit == 0 {
		opt.ImageLimit = imageLimit
	}
	if opt.Theme == nil {
		opt.Theme = &theme.Theme{}
	}
	return &Editor{opt: opt, buf: newBuffer(""), width: 80}
}

// SetTheme changes how it is drawn.
func (e *Editor) SetTheme(t *theme.Theme) { e.opt.Theme = t }

// SetPlaceholder changes the hint that is shown while there is no text.
func (e *Editor) SetPlaceholder(s string) { e.opt.Placeholder = s }

// SetNoImages says whether the model takes no images.
func (e *Editor) SetNoImages(none bool) { e.opt.NoImages = none }

// Contexts are the contexts of keys that the editor is in, innermost first: Autocomplete or HistorySearch when
// their list is open, and Chat.
func (e *Editor) Contexts() []keys.Context {
	switch {
	case e.find != nil:
		return []keys.Context{keys.HistorySearch, keys.Chat}
	case e.popup.open():
		return []keys.Context{keys.Autocomplete, keys.Chat}
	}
	return []keys.Context{keys.Chat}
}

// Type inserts the text of a key.
func (e *Editor) Type(s string) []Out {
	s = clean(s)
	switch {
	case s == "":
		return nil
	case e.find != nil:
		e.find.query += strings.ReplaceAll(s, "\n", " ")
		return e.search()
	case e.mode == Prompt && e.buf.empty() && s == "!":
		e.setMode(Shell)
		return nil
	case e.mode == Prompt && e.buf.empty() && s == "#":
		e.setMode(Memory)
		return nil
	}
	kind := typing
	if strings.Contains(s, "\n") {
		kind = other
	}
	e.apply(e.buf.cursor, e.buf.cursor, s, kind)
	return e.refresh(true)
}

// Paste inserts pasted text, folded when it is long, or attaches the images whose paths it is.
func (e *Editor) Paste(s string) []Out {
	if e.find == nil && !e.opt.NoImages && e.mode == Prompt {
		if paths := imagePaths(clean(s), e.opt.Windows); paths != nil {
			return e.attach(paths)
		}
	}
	return e.insert(s, e.opt.FoldLines, e.opt.FoldChars)
}

// Insert inserts text at the cursor, folding it only when it is very long.
func (e *Editor) Insert(s string) []Out { return e.insert(s, maxPlain/20, maxPlain) }

func (e *Editor) insert(s string, lines, chars int) []Out {
	s = clean(s)
	if strings.Count(s, "\n") == 1 {
		s = strings.TrimSuffix(s, "\n") // a line that was copied with its end
	}
	switch {
	case s == "":
		return nil
	case e.find != nil:
		return e.Type(term.Truncate(strings.ReplaceAll(s, "\n", " "), 200, ""))
	case strings.Count(s, "\n") > lines || len(s) > chars && utf8.RuneCountInString(s) > chars:
		s = e.fold(s)
	}
	e.apply(e.buf.cursor, e.buf.cursor, s, other)
	return e.refresh(true)
}

// touched is called after every change of the text.
func (e *Editor) touched() {
	e.buf.goal, e.waiting, e.enterWaits = -1, nil, nil
	e.kills.joining, e.kills.yanked = false, false
}

// Text is the text with pastes in full, and with the mode's ! or # in front.
func (e *Editor) Text() string {
	s := e.render(e.buf.all(), (*chip).expanded)
	switch e.mode {
	case Shell:
		return "!" + s
	case Memory:
		return "#" + s
	}
	return s
}

// Naming is the text of a message that may name files with @, else empty. Pastes of any great length are left out, so
// that asking for it after every key is cheap.
func (e *Editor) Naming() string {
	if e.mode != Prompt || e.find != nil {
		return ""
	}
	s := e.render(e.buf.all(), func(c *chip) string {
		if c.image != nil || len(c.text) > maxPlain {
			return ""
		}
		return c.text
	})
	if !strings.Contains(s, "@") || strings.HasPrefix(s, "/") {
		return ""
	}
	return s
}

// SetText replaces everything; a ! or # in front sets the mode. It can be undone. Where the label of a chip
// is in s, the chip is kept.
func (e *Editor) SetText(s string) {
	d := e.draftOf(s)
	if chipWithin(d.text) < 0 {
		d.text = e.labelled(d.text)
	}
	e.show(d, pos{1 << 30, 1 << 30})
}

// SetMessage puts a message back into the editor, with its images: an earlier or a queued one.
func (e *Editor) SetMessage(m llm.Message) {
	s := m.PlainText()
	for _, p := range m.Parts {
		image, ok := p.(llm.Media)
		if !ok {
			continue
		}
		e.images++
		label := fmt.Sprintf("[Image #%d]", e.images)
		mark := e.newChip(&chip{label: label, image: &image, path: image.Name})
		if i := strings.Index(s, "[Image #"); i >= 0 && strings.Contains(s[i:], "]") {
			s = s[:i] + mark + s[i+strings.IndexByte(s[i:], ']')+1:]
		} else {
			s += mark
		}
	}
	d := draft{text: s}
	if len(s) > maxPlain {
		d = e.draftOf(" " + s)
	}
	d.mode = Prompt
	e.show(d, pos{1 << 30, 1 << 30})
}

// Empty reports whether the editor is as it was at first: without text, mode and search.
func (e *Editor) Empty() bool { return e.mode == Prompt && e.find == nil && e.blank() }

// blank reports whether there is nothing to send.
func (e *Editor) blank() bool { return strings.TrimSpace(e.buf.all()) == "" }

// Reset empties everything without a trace for undo.
func (e *Editor) Reset() {
	e.kills.settle(func(s string) string { return e.render(s, (*chip).expanded) })
	e.mode, e.buf, e.undo = Prompt, newBuffer(""), undo{}
	e.chips, e.popup, e.find, e.waiting, e.enterWaits, e.top = nil, popup{}, nil, nil, nil, 0
	e.history.at, e.history.waiting = 0, false
}

// Mode is the meaning of the text if it were sent: Prompt, Shell or Memory.
func (e *Editor) Mode() Kind { return e.mode }

// AtTop reports whether the cursor is in the first row and no list is open, so that up goes to earlier prompts.
func (e *Editor) AtTop() bool {
	row, _ := e.cellOf(e.buf.cursor, e.textWidth())
	return row == 0 && e.buf.cursor.line == 0 && e.find == nil && !e.popup.open()
}
