package conversation

import (
	"cmp"
	"fmt"

	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/transcript"
)

// lineParts is how many parts of a reply are searched for the id of a line.
const lineParts = 64

// goOnAfter moves the head of a conversation to a message: the prompt, or the reply with the results of its calls.
// What came after stays in the log as another branch. drops is the only prompt that may come after; "": any may.
func goOnAfter(log *session.Session, id, drops string) error {
	last, err := lastOf(log, id)
	if err != nil {
		return err
	}
	if err := dropsOnly(log, last, drops); err != nil {
		return err
	}
	return log.Checkout(last)
}

// dropsOnly refuses to leave out anything but the turn of one prompt: the host has not seen the rest.
func dropsOnly(log *session.Session, last, drops string) error {
	if drops == "" {
		return nil
	}
	after := last == ""
	for e := range log.Entries() {
		if u, ok := e.Body.(session.User); ok && after && u.Message.ID != drops {
			return fmt.Errorf("Resume rejected by --resume-drops-turn: the message %s comes after the place to go back to, "+
				"and is not part of the turn %s", cmp.Or(u.Message.ID, e.ID), drops)
		}
		after = after || e.ID == last
	}
	return nil
}

// lastOf finds the last entry that belongs to a message.
func lastOf(log *session.Session, id string) (string, error) {
	last, found := "", false
	for e := range log.Entries() {
		switch b := e.Body.(type) {
		case session.User, session.Part:
			if found {
				return last, nil
			}
			if u, ok := b.(session.User); ok {
				found = u.Message.ID == id
			}
		case session.Reply:
			found = found || shows(b, id)
		case session.CallStart, session.CallEnd:
		default:
			continue
		}
		last = e.ID
	}
	if !found {
		return "", fmt.Errorf("session %s has no message %q to go back to; give the uuid of a line of its stream", log.ID(), id)
	}
	return last, nil
}

// shows reports whether an id is the reply's own or that of one of its lines.
func shows(r session.Reply, id string) bool {
	if r.MessageID == id {
		return true
	}
	for i := range lineParts {
		if transcript.LineID(r.MessageID, i) == id {
			return true
		}
	}
	return false
}
