package conversation

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/store/session"
)

// LineID is the id of the stream-json line that shows a part of a reply: the same whenever it is asked for, so that
// it names the message later.
func LineID(messageID string, index int) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(messageID+" "+strconv.Itoa(index))).String()
}

// lineParts is how many parts of a reply are searched for the id of a line.
const lineParts = 64

// goOnAfter moves the head of a conversation to a message: the prompt, or the reply with the results of its calls.
// What came after stays in the log as another branch.
func goOnAfter(log *session.Session, id string) error {
	last, found := "", false
	for e := range log.Entries() {
		switch b := e.Body.(type) {
		case session.User, session.Part:
			if found {
				return log.Checkout(last)
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
		return fmt.Errorf("session %s has no message %q to go back to; give the uuid of a line of its stream", log.ID(), id)
	}
	return log.Checkout(last)
}

// shows reports whether an id is the reply's own or that of one of its lines.
func shows(r session.Reply, id string) bool {
	if r.MessageID == id {
		return true
	}
	for i := range lineParts {
		if LineID(r.MessageID, i) == id {
			return true
		}
	}
	return false
}
