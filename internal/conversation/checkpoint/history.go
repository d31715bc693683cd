package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
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
	return snapshot.History{
		Store: store, Sessions: log.Lineage(),
		Branch: func(message string) bool { return on[message] },
	}
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

// Message finds a message of the user on the branch in front: by its entry, by the id that it had in a stream of JSON
// lines, or by its number on the branch, from 1. parent is the entry before it, "" for the first.
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
	return "", "", fmt.Errorf("session %s has no message %q on its branch; give its number, from 1 to %d, or the id of "+
		"its line in the stream", log.ID(), name, n)
}

// Parted are the entries of a conversation that only one of two branches has: the one that ends in the entry from, and
// the one that ends in to. An empty name is the branch in front.
func Parted(log *session.Session, from, to string) (onlyFrom, onlyTo []string, err error) {
	a, err := path(log, from)
	if err != nil {
		return nil, nil, err
	}
	b, err := path(log, to)
	if err != nil {
		return nil, nil, err
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[n:], b[n:], nil
}

// Between are the changes that lead from the files of one branch to those of another: of the branch in front where one
// message is named.
func Between(h snapshot.History, log *session.Session, names []string) ([]snapshot.Change, error) {
	ends := []string{"", ""}
	for i, name := range names {
		id, _, err := MessageAnywhere(log, name)
		if err != nil {
			return nil, err
		}
		ends[2-len(names)+i] = id
	}
	from, to, err := Parted(log, ends[0], ends[1])
	if err != nil {
		return nil, err
	}
	return h.Between(from, to)
}

// Astray plans to bring the files of the branch in front: they are those of another one after the conversation alone
// went back. ErrNothing: they are in place.
func Astray(h snapshot.History, log *session.Session) (*snapshot.Plan, error) {
	front, err := path(log, "")
	if err != nil {
		return nil, err
	}
	on := map[string]bool{}
	for _, id := range front {
		on[id] = true
	}
	var others []string
	for e := range log.All() {
		if !on[e.ID] {
			others = append(others, e.ID)
		}
	}
	p, err := h.Switch(others, front)
	if err == nil && len(p.Files) == 0 {
		err = snapshot.ErrNothing
	}
	return p, err
}

// path lists the entries from the first to one, or to the head.
func path(log *session.Session, id string) ([]string, error) {
	var out []string
	if id == "" {
		b := log.Branch()
		for at := range b.Len() {
			out = append(out, b.ID(at))
		}
		return out, nil
	}
	above := map[string]string{}
	for e := range log.All() {
		above[e.ID] = e.Parent
	}
	if _, ok := above[id]; !ok {
		return nil, fmt.Errorf("session %s has no entry %q", log.ID(), id)
	}
	for ; id != ""; id = above[id] {
		out = append(out, id)
	}
	slices.Reverse(out)
	return out, nil
}

// MessageAnywhere finds a message of the user on any branch: by its entry, by the id that it had in a stream of JSON
// lines, or by its number among all messages in the order they were sent, from 1. end is the last entry of its turn.
func MessageAnywhere(log *session.Session, name string) (id, end string, err error) {
	in := map[string]bool{}
	n := 0
	for e := range log.All() {
		u, isUser := e.Body.(session.User)
		if isUser && !u.Synthetic {
			n++
		}
		_, isHead := e.Body.(session.Head)
		switch {
		case isHead:
		case isUser && !u.Synthetic && (e.ID == name || u.Message.ID != "" && u.Message.ID == name ||
			strconv.Itoa(n) == name):
			id, end, in[e.ID] = e.ID, e.ID, true
		case in[e.Parent] && (!isUser || u.Synthetic):
			end, in[e.ID] = e.ID, true
		}
	}
	if id == "" {
		return "", "",
			fmt.Errorf("session %s has no message %q; give its number among all that were sent, from 1, or its id", log.ID(),
				name)
	}
	return id, end, nil
}
