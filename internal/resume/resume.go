// Package resume reads out of a session's log the state that a conversation had beside its messages, and finds the
// message that a session is to go on after.
//
// Promise: a log of any age is read; an entry that is not known changes nothing.
package resume

import (
	"encoding/json"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Into takes the state of a conversation, in the order of the log. The last call for one thing counts.
type Into struct {
	Seen   func(session.Seen)     // a file that the model knows
	Grant  func(session.Grant)    // a rule of the session, or with an empty effect that it was taken back
	System func(session.System)   // the system prompt of the command line
	Todos  func([]event.TodoItem) // the task list
	Worked func(time.Time)        // when the agent last did something; not called where it never did
}

// State hands over the state of a conversation: the files that the model knows, the task list, the granted rules,
// and the system prompt of its command line.
func State(log *session.Session, into Into) {
	todos := map[string]json.RawMessage{} // inputs of calls by id
	var worked time.Time
	defer func() {
		if !worked.IsZero() {
			into.Worked(worked)
		}
	}()
	for e := range log.Entries() {
		switch b := e.Body.(type) {
		case session.Seen:
			into.Seen(b)
		case session.Grant:
			into.Grant(b)
		case session.System:
			into.System(b)
		case session.TurnEnd:
			worked = e.Time
		case session.Part:
			worked = e.Time
			if c, ok := b.Part.(llm.ToolCall); ok && c.Name == tool.TodoName {
				todos[c.ID] = c.Input
			}
		case session.CallStart:
			if b.Call != nil && b.Call.Name == tool.TodoName {
				todos[b.CallID] = b.Call.Input
			}
		case session.CallEnd:
			if !b.Synthetic {
				worked = e.Time
			}
			if in, ok := todos[b.Result.CallID]; ok && !b.Result.IsError {
				setTodos(in, into.Todos)
			}
		}
	}
}

func setTodos(input json.RawMessage, set func([]event.TodoItem)) {
	var in struct {
		Todos []event.TodoItem `json:"todos"`
	}
	if json.Unmarshal(input, &in) == nil {
		set(in.Todos)
	}
}
