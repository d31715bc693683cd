// Package tui is the terminal interface of lathe: the transcript, the prompt, the status line, and the dialogs that
// cover them.
//
// The words: an item is one thing in the transcript (a message, a call, a notice); a frame is the wanted content of the
// screen; the live part is the end of an inline screen that still changes. [Run] opens it on a
// [port.Session] and returns when the user leaves.
//
// How it works: one loop owns the model and takes messages. Key presses come from a reader, events from a
// pump that hands over everything since the last frame; both only change the model. A frame is composed from
// lines whose layout is kept, and the screen writes the cells that differ from the last frame, as
// soon as the frame is due.
//
// Promises: the loop never waits for the session, the disk or the terminal. Only visible items are laid
// out; items out of view cost only their text. At most 60 frames a second, and none when nothing
// changed. Nothing foreign reaches the terminal unescaped. However the program ends, the terminal is left
// as it was found.
package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Look is what may change while the interface runs.
type Look struct {
	Theme    string            // a name that theme.Names lists, "" is "auto", or that of File
	File     []byte            // a theme in the form of theme.Read; nil: Theme is none of a file
	Keys     []json.RawMessage // bindings of keys, the strongest last; null unbinds
	Commands map[string]string // keys of plugins, with their slash commands
}

// Options are the settings of the terminal. The zero value is the default.
type Options struct {
	Look
	Inline        bool                // keep the terminal's own scrollback instead of using the alternate screen
	Mouse         bool                // capture the mouse; native selection then needs the terminal's own modifier
	Follow        func() Look         // the present values, asked at each key; nil: they stay
	Notifications string              // "auto" (""), "osc9", "osc777", "osc99", "bell", "off"
	ReducedMotion bool                // no spinner
	Sidebar       bool                // show the sidebar from the start
	Initial       llm.Message         // is sent at once, when it has parts
	Command       string              // a slash command without its slash, is run at once
	Draft         string              // is put into the editor
	Note          string              // for the person, shown in the first session
	Job           string              // the id of the session's own process; empty: it ends with the terminal
	Version       string              // of lathe
	Editor        string              // the command for ctrl+g; "" is $VISUAL, $EDITOR, vi
	In, Out       *os.File            // nil: os.Stdin, os.Stdout
	Getenv        func(string) string // nil: os.Getenv
	// Login asks the person at the terminal, which is theirs meanwhile, for a provider and its key, and keeps them.
	// nil: /login is refused.
	Login func(context.Context) (outcome string, err error)
}

// Result says where the conversation is when the terminal is left.
type Result struct {
	Session string // the id of the session in front; empty when nothing is kept
	Path    string // its folder
	Title   string
	Turns   int  // how many were run
	Stay    bool // the session is to go on without the terminal
	List    bool // the person wants the list of all sessions
}

// CrashError says that lathe itself failed. The terminal was restored before.
type CrashError struct {
	Value any    // the value of the panic
	Stack []byte // of the goroutine
	Result
}

func (e *CrashError) Error() string {
	s := fmt.Sprintf("lathe crashed: %v", e.Value)
	if e.Session != "" {
		s += fmt.Sprintf("\nThe session is kept in %s; go on with: lathe --resume %s", e.Path, e.Session)
	}
	if where := e.where(); where != "" {
		s += "\nIt happened in:\n" + where
	}
	return s
}

// mostFrames is how many stack frames of a crash are reported.
const mostFrames = 8

// where is the innermost places of the crash in lathe's own code.
func (e *CrashError) where() string {
	var out []string
	for line := range strings.Lines(string(e.Stack)) {
		place, ok := strings.CutPrefix(line, "\t")
		if _, own, in := strings.Cut(place, "/internal/"); ok && in && len(out) < mostFrames {
			own, _, _ = strings.Cut(own, " +0x")
			out = append(out, "  internal/"+strings.TrimSpace(own))
		}
	}
	return strings.Join(out, "\n")
}

// ErrGone is returned when the terminal went away while it was used (its window was closed, the connection
// broke, or a SIGHUP came).
var ErrGone = errors.New("the terminal is gone")

// Run shows the session until the user leaves it. The error is [ErrGone], a [CrashError], the end of ctx, or
// says that there is no terminal to use; Result is filled in all cases.
func Run(ctx context.Context, s port.Session, events port.Events, o Options) (Result, error) {
	o = o.withDefaults()
	p := newProgram(ctx, s, o)
	return p.run(events)
}

func (o Options) withDefaults() Options {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return o
}
