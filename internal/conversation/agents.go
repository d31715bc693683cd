package conversation

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// agentKind is the kind of the entries about the agents that a session started.
const agentKind = "subagent"

// agentEntry is the entry in the log for a record.
func agentEntry(r subagent.Record) session.Body {
	body, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has texts and flags only
	}
	return session.Unknown{Name: agentKind, JSON: body}
}

// unfinishedAgents returns the agents that were at work when the session was closed or lathe was killed, or whose
// answer the conversation does not have.
func unfinishedAgents(log *session.Session) []subagent.Record {
	var all []subagent.Record
	b := log.Branch().Only(agentKind)
	for _, e := range b.Entries(0, b.Len()) {
		var r subagent.Record
		if u, ok := e.Body.(session.Unknown); ok && json.Unmarshal(u.JSON, &r) == nil && r.ID != "" {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil
	}
	answered := map[string]bool{}
	b = log.Branch().Only(session.CallEnd{}.Kind(), session.CallEnd{Invoked: true}.Kind()).Texts()
	for _, e := range b.Entries(0, b.Len()) {
		if end, ok := e.Body.(session.CallEnd); ok && !end.Synthetic {
			answered[end.Result.CallID] = true
		}
	}
	return subagent.Unfinished(all, func(call string) bool { return answered[call] })
}
