package event

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a place in the log of one session. A reader that comes back with the cursor of the last event it
// read gets the events after it. A cursor stays valid when lathe is restarted. It is opaque to readers; only
// the code that writes and replays logs looks inside. The empty cursor is before everything.
//
// Its form is "session:entry", or "session:entry.n" when only the first n events of that entry were seen.
type Cursor string

// ErrCursor says that nothing can follow a cursor: it belongs to another session or to an abandoned branch,
// or is malformed. The reader must start over.
var ErrCursor = errors.New("event: the conversation does not go on from this cursor")

// CursorAt returns the place after an entry of a session's log; an empty entry is before the first one.
// Events is the number of the entry's events that were read, 0 for all.
func CursorAt(session, entry string, events int) Cursor {
	if events > 0 {
		return Cursor(session + ":" + entry + "." + strconv.Itoa(events))
	}
	return Cursor(session + ":" + entry)
}

// Split takes a cursor apart: events is 0 when all events of the entry were read. The empty cursor has
// neither session nor entry.
func (c Cursor) Split() (session, entry string, events int, err error) {
	if c == "" {
		return "", "", 0, nil
	}
	session, rest, ok := strings.Cut(string(c), ":")
	entry, n, partly := strings.Cut(rest, ".")
	if partly {
		events, err = strconv.Atoi(n)
		ok = ok && err == nil && events > 0 && entry != ""
	}
	if !ok || session == "" {
		return "", "", 0, fmt.Errorf("%w: %q is no cursor", ErrCursor, string(c))
	}
	return session, entry, events, nil
}
