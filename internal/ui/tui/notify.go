package tui

import (
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

const (
	longTurn = 10 * time.Second // a turn whose end is worth a notification
	absent   = 15 * time.Second // without a key; for terminals that do not report the focus
)

// notify sends a notification through the terminal, unless the user is watching it.
func (m *model) notify(text string) {
	if m.watched() {
		return
	}
	m.extra = append(m.extra, notification(m.options.Notifications, m.options.Getenv, text)...)
}

// watched reports that the user is likely to look at the terminal.
func (m *model) watched() bool {
	if m.focusTold {
		return m.focused
	}
	return m.now().Sub(m.typed) < absent
}

// notification is the sequence that shows a notification in the terminal at hand: iTerm's OSC 9, which others
// took over; OSC 777 of rxvt and foot; kitty's OSC 99; the bell where nothing better is known.
func notification(kind string, getenv func(string) string, text string) string {
	text = strings.ReplaceAll(term.EscapeLine(text), ";", ",")
	switch strings.ToLower(kind) {
	case "", "auto":
		kind = notifier(getenv)
	case "off", "none", "false":
		return ""
	}
	switch strings.ToLower(kind) {
	case "osc9":
		return "\x1b]9;" + text + "\x1b\\"
	case "osc777":
		return "\x1b]777;notify;lathe;" + text + "\x1b\\"
	case "osc99":
		return "\x1b]99;;lathe: " + text + "\x1b\\"
	}
	return "\a"
}

func notifier(getenv func(string) string) string {
	program, name := getenv("TERM_PROGRAM"), getenv("TERM")
	switch {
	case getenv("TMUX") != "" || strings.HasPrefix(name, "screen") || strings.HasPrefix(name, "tmux"):
		return "bell" // tmux shows it, and passes nothing else on
	case getenv("KITTY_WINDOW_ID") != "" || strings.Contains(name, "kitty"):
		return "osc99"
	case program == "iTerm.app" || program == "WezTerm" || program == "ghostty" || getenv("WT_SESSION") != "" ||
		strings.Contains(name, "ghostty"):
		return "osc9"
	case strings.Contains(name, "rxvt") || strings.Contains(name, "foot"):
		return "osc777"
	}
	return "bell"
}
