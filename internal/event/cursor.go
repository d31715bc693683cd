package event

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a place in the log of one session: a reader that comes back with the cursor of the last event it
// took in gets what followed. It stays valid when lathe is restarted. Readers keep it and hand it back; only
// what writes and replays logs looks inside. The empty cursor is before everything.
//
// Its form is "session:entry", or "session:entry.n" when only the first n events of that entry were seen.
type Cursor string

// ErrCursor says that nothing can follow a cursor: it is of another session, of a branch that was left, or
// no cursor at all. The reader has to begin anew.
var ErrCursor = errors.New("event: the conversation does not go on from this cursor")

// CursorAt is the place after an entry of a session's log; an empty entry is before the first one. Events is
// how many of the entry's events were seen, 0 for all.
func CursorAt(session, entry string, events int) Cursor {
	if events > 0 {
		return Cursor(session + ":" + entry + "." + strconv.Itoa(events))
	}
	return Cursor(session + ":" + entry)
}

// Split takes a cursor apart: events is 0 when all events of the entry were seen. The empty cursor has
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
