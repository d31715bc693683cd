package checkpoint

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/lathe-dev/lathe/internal/session"
	"github.com/lathe-dev/lathe/internal/snapshot"
)

// ErrOff means that no snapshots are kept.
var ErrOff = errors.New("no snapshots are kept here: snapshots.enabled is off, or the session is not kept")

// History is what a conversation did on the branch in front, with the sessions that it was forked from.
func (f *Folder) History(log *session.Session) (snapshot.History, error) {
	if f.store == nil || log == nil || log.Temporary() {
		return snapshot.History{}, ErrOff
	}
	return History(f.store, log), nil
}

// History is what a conversation did, in a store of its project.
func History(store *snapshot.Store, log *session.Session) snapshot.History {
	on := map[string]bool{}
	b := log.Branch()
	for at := range b.Len() {
		on[b.ID(at)] = true
	}
	return snapshot.History{Store: store, Sessions: log.Lineage(), Branch: func(message string) bool { return on[message] }}
}

// Since lists the ids of a message of the user and of all entries after it on the branch.
func Since(log *session.Session, message string) []string {
	b := log.Branch()
	from, ok := b.Find(message)
	if !ok {
		return nil
	}
	var out []string
	for at := max(0, from); at < b.Len(); at++ {
		out = append(out, b.ID(at))
	}
	return out
}

// Message finds a message of the user on the branch in front: by its entry, by the id that it had in a stream of JSON lines, or
// by its number on the branch, from 1. parent is the entry before it, "" for the first.
func Message(log *session.Session, name string) (id, parent string, err error) {
	n := 0
	for e := range log.Entries() {
		u, ok := e.Body.(session.User)
		if !ok || u.Synthetic {
			continue
		}
		if n++; e.ID == name || u.Message.ID != "" && u.Message.ID == name || strconv.Itoa(n) == name {
			return e.ID, e.Parent, nil
		}
	}
	return "", "", fmt.Errorf("session %s has no message %q on its branch; give its number, from 1 to %d, or the id of its line in the stream", log.ID(), name, n)
}
