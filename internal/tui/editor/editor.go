// Package editor is the prompt: text of several lines with what was pasted, attached and completed.
//
// The words: a chip is a long paste or an image that stands in the text as one character, shown as
// "[Pasted text #1 +234 lines]"; its content is kept aside until the prompt is sent. The mode says what
// sending means: a message, a command of the user's own (!), a line for the memory file (#). The popup is
// the list of completions, or of earlier prompts in a search. An [Out] is what the editor wants done.
//
// The editor does no input or output itself and never waits: it is told of keys as actions and of text, and
// says what it wants as Outs, whose answers come back later. Answers to questions that are no longer open
// are dropped.
//
// Promises: the cursor stands between characters as people see them; every edit can be undone and redone; the
// time of a key does not depend on what is folded into chips; lines from [Editor.View] are at most as wide as
// asked for, and hold nothing of foreign text that could reach the terminal as a control.
package editor

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tui/keys"
)

// Out is something the editor wants done: Submit, Ask, LoadImage, Notice, OpenEditor.
type Out interface{ out() }

// Submit says that the prompt was sent; the editor is empty again.
type Submit struct {
	Kind    Kind
	Queue   bool        // not before the running turn is over
	Message llm.Message // for Prompt: text with pastes in full, then the images
	Text    string      // with pastes in full; without ! or # (Shell, Memory); of a Command all of it
	Name    string      // of a Command, without the slash
	Args    string      // of a Command
	History string      // what to keep as an earlier prompt: Text, with its ! or #
}

// Kind is what sending means.
type Kind int

// Kinds of what is sent.
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

// Style draws the parts of the editor. Each function gets safe text without line breaks and adds only
// colours and the like; nil leaves it plain.
type Style struct {
	Mark        func(string) string // the prompt mark
	ShellMark   func(string) string // the mark and text of a command of the user's own
	MemoryMark  func(string) string // the mark of a memory line
	Chip        func(string) string // a folded paste or image
	Ghost       func(string) string // hints that are not text: placeholder, arguments of a command
	Popup       func(string) string // a row of the popup
	Selected    func(string) string // the chosen row of the popup
	Match       func(string) string // what matched in a row
	SelectMatch func(string) string // what matched in the chosen row
	Help        func(string) string // the explanation in a row
}

// Options of an editor. The zero value is good.
type Options struct {
	Style       Style
	Placeholder string // shown while there is no text
	FoldLines   int    // pastes with more lines than this are folded; 0: 10
	FoldChars   int    // pastes with more characters than this are folded; 0: 1000
	ImageLimit  int64  // bytes of an image; 0: 5 MB, what model APIs take
	NoImages    bool   // the model takes none: image paths stay text
	Windows     bool   // paths have backslashes
}

// Editor is the prompt. Not safe for concurrent use.
type Editor struct{ opt Options }

// New makes an empty editor.
func New(opt Options) *Editor { return &Editor{opt: opt} }

// SetStyle changes how it is drawn.
func (e *Editor) SetStyle(s Style) { e.opt.Style = s }

// SetPlaceholder changes what is shown while there is no text.
func (e *Editor) SetPlaceholder(s string) { e.opt.Placeholder = s }

// Contexts are the contexts of keys that the editor is in, innermost first: [Autocomplete Chat], [Chat] or
// [HistorySearch].
func (e *Editor) Contexts() []keys.Context { return []keys.Context{keys.Chat} }

// Do does an action. handled is false when the action is not the editor's, or there is nothing to do (delete
// in an empty prompt, history above the oldest): the caller may try another. Submit and Queue are the editor's.
func (e *Editor) Do(a keys.Action) (outs []Out, handled bool) { return nil, false }

// Type inserts what a key typed.
func (e *Editor) Type(s string) []Out { return nil }

// Paste inserts pasted text, or attaches the images whose paths it is.
func (e *Editor) Paste(s string) []Out { return nil }

// Insert inserts text at the cursor as it is, folding it when it is long.
func (e *Editor) Insert(s string) []Out { return nil }

// Answer brings the completions an Ask wanted.
func (e *Editor) Answer(gen uint64, found []event.Candidate) []Out { return nil }

// ImageLoaded brings the bytes of an image, or why there are none.
func (e *Editor) ImageLoaded(id int, data []byte, err error) []Out { return nil }

// Text is the text with pastes in full, and with the mode's ! or # in front.
func (e *Editor) Text() string { return "" }

// SetText replaces everything; a ! or # in front sets the mode. It can be undone. Chips whose label is in s
// stay what they are.
func (e *Editor) SetText(s string) {}

// SetMessage puts a message back into the editor, its images too: an earlier or a queued one.
func (e *Editor) SetMessage(m llm.Message) {}

// Empty reports whether there is nothing to send.
func (e *Editor) Empty() bool { return true }

// Reset empties everything without a trace for undo.
func (e *Editor) Reset() {}

// Mode is what sending would mean.
func (e *Editor) Mode() Kind { return Prompt }

// AtTop reports whether the cursor is in the first row and no popup is open: up goes to earlier prompts.
func (e *Editor) AtTop() bool { return true }

// View lays the prompt out in width columns and at most maxHeight rows (at least one). x, y is where the
// terminal's cursor belongs.
func (e *Editor) View(width, maxHeight int) (lines []string, x, y int) { return []string{""}, 0, 0 }

// Popup lays out the list that is open, at most maxRows rows, each at most width columns; nil: none is.
func (e *Editor) Popup(width, maxRows int) []string { return nil }
