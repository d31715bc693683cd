package checkpoint

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/store/session"
)

// TurnDiff is the changes of files since the last message that the user wrote, as unified diffs of at most limit bytes
// in all; "" when there are none, or no snapshots are kept.
func (f *Folder) TurnDiff(log *session.Session, limit int) string {
	history, err := f.History(log)
	if err != nil {
		return ""
	}
	changes, err := history.Between(nil, Since(log, lastMessage(log)))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range changes {
		if b.Len() > limit {
			b.WriteString("[more files changed]\n")
			break
		}
		b.WriteString(f.store.Diff(c).Text)
	}
	return b.String()
}

// lastMessage is the entry of the last message that the user wrote on the branch in front.
func lastMessage(log *session.Session) string {
	b := log.Branch().Only(session.User{}.Kind())
	for at := b.Len() - 1; at >= 0; at-- {
		for _, e := range b.Entries(at, at+1) {
			if u, ok := e.Body.(session.User); ok && !u.Synthetic && !u.Steered {
				return e.ID
			}
		}
	}
	return ""
}
