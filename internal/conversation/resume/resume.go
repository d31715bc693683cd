// Package resume reads out of a session's log the state that a conversation had beside its messages, and finds the
// message that a session is to go on after.
//
// Promise: a log of any age is read; an entry that is not known changes nothing.
package resume

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Into takes the state of a conversation, in the order of the log. The last call for one thing counts.
type Into struct {
	Seen   func(session.Seen)     // a file that the model knows
	Grant  func(session.Grant)    // a rule of the session, or with an empty effect that it was taken back
	System func(session.System)   // the system prompt of the command line
	Todos  func([]event.TodoItem) // the task list
	Worked func(time.Time)        // gets the time of the agent's last action; not called if there was none
}

// State hands over the state of a conversation: the files that the model knows, the task list, the granted rules,
// and the system prompt of its command line.
func State(log *session.Session, into Into) {
	b := log.Branch().Only(session.Seen{}.Kind(), session.Grant{}.Kind(), session.System{}.Kind())
	for _, e := range b.Entries(0, b.Len()) {
		switch b := e.Body.(type) {
		case session.Seen:
			into.Seen(b)
		case session.Grant:
			into.Grant(b)
		case session.System:
			into.System(b)
		}
	}
	if worked := lastWork(log); !worked.IsZero() {
		into.Worked(worked)
	}
	for _, c := range slices.Backward(todoCalls(log)) {
		if succeeded(log, c) {
			setTodos(c.input, into.Todos)
			return
		}
	}
}

// lastWork returns the time of the agent's last action, zero if there was none.
func lastWork(log *session.Session) time.Time {
	b := log.Branch().Only(session.Part{}.Kind(), session.TurnEnd{}.Kind(), session.CallEnd{}.Kind(),
		session.CallEnd{Invoked: true}.Kind()).Texts()
	for at := b.Len() - 1; at >= 0; at-- {
		for _, e := range b.Entries(at, at+1) {
			if end, ok := e.Body.(session.CallEnd); !ok || !end.Synthetic {
				return e.Time
			}
		}
	}
	return time.Time{}
}

// todoCall is a call of TodoWrite, with the entry that has it.
type todoCall struct {
	entry, id string
	input     json.RawMessage
}

// todoCalls returns the calls that set the task list, oldest first, with the input they ran with.
func todoCalls(log *session.Session) []todoCall {
	var out []todoCall
	b := log.Branch().Only(session.Part{}.Kind(), session.CallStart{}.Kind(),
		session.CallStart{Invoked: true}.Kind()).Holding(tool.TodoName)
	for _, e := range b.Entries(0, b.Len()) {
		switch b := e.Body.(type) {
		case session.Part:
			if c, ok := b.Part.(llm.ToolCall); ok && c.Name == tool.TodoName {
				out = append(out, todoCall{e.ID, c.ID, c.Input})
			}
		case session.CallStart:
			if b.Call != nil && b.Call.Name == tool.TodoName {
				out = append(out, todoCall{e.ID, b.CallID, b.Call.Input})
			}
		}
	}
	return out
}

// succeeded reports whether the call has a result that is not an error.
func succeeded(log *session.Session, c todoCall) bool {
	b := log.Branch()
	at, _ := b.Find(c.entry)
	for _, e := range b.Entries(at+1, b.Len()) {
		if end, ok := e.Body.(session.CallEnd); ok && end.Result.CallID == c.id {
			return !end.Result.IsError
		}
	}
	return false
}

func setTodos(input json.RawMessage, set func([]event.TodoItem)) {
	var in struct {
		Todos []event.TodoItem `json:"todos"`
	}
	if json.Unmarshal(input, &in) == nil {
		set(in.Todos)
	}
}
