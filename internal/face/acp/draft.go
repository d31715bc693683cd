package acp

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// Version 2 of the protocol is a draft, which lathe speaks when it is asked to. It is made of version 1 at the edge:
// the types of that become those of the draft. Source: npm @agentclientprotocol/sdk 2.4.0, schema/v2.

// Draft is the version of the draft.
const Draft = 2

type object = map[string]any

// drafts reports whether the draft is spoken.
func (a *Agent) drafts() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version == Draft
}

// draftMethod takes a request of the draft.
func (a *Agent) draftMethod(name string, params json.RawMessage) work {
	switch name {
	case "auth/login":
		name = "authenticate"
	case "auth/logout":
		name = "logout"
	case "authenticate", "logout", "session/load", "session/set_mode":
		return refuse(fault(jsonrpc.NoMethod, "version 2 has no method %q", name))
	case "session/resume":
		var p struct {
			From *struct{ Type string } `json:"replayFrom"`
		}
		if json.Unmarshal(params, &p) == nil && p.From != nil && p.From.Type == "start" {
			name = "session/load"
		}
	case "session/prompt":
		return a.draftPrompt(params)
	}
	do := a.route(name, params)
	return func(ctx context.Context) (any, *jsonrpc.Error) {
		out, err := do(ctx)
		return draft(out), err
	}
}

// draftPrompt answers when the prompt is taken; its turn is told by updates.
func (a *Agent) draftPrompt(params json.RawMessage) work {
	s, p, m, failed := a.takePrompt(params)
	if failed != nil {
		return refuse(failed)
	}
	return func(context.Context) (any, *jsonrpc.Error) {
		p.shows = true
		go func() {
			defer s.forget(p)
			out, err := s.run(s.ctx, p, m)
			if !p.turned() { // a command, or what the session did not take
				s.idle(outcome{out, err})
			}
		}()
		return object{"messageId": p.id}, nil
	}
}

// does tells the client of the draft what the session does.
func (s *openSession) does(now event.State) {
	switch {
	case !s.a.drafts():
	case now.Doing == event.Working:
		s.update(object{"sessionUpdate": "state_update", "state": "running"})
	case now.Doing == event.Blocked:
		s.update(object{"sessionUpdate": "state_update", "state": "requires_action"})
	case s.show.ended != nil:
		s.idle(*s.show.ended)
		s.show.ended = nil
	}
}

func (s *openSession) idle(out outcome) {
	u := object{"sessionUpdate": "state_update", "state": "idle", "stopReason": out.stop}
	if out.err != nil {
		u["stopReason"], u["error"] = "error", wireError(out.err)
	}
	s.update(u)
}

// draft is a value of version 1 as the draft has it.
func draft(v any) any {
	switch v := v.(type) {
	case initializeResult:
		return draftInitialized(v)
	case opened:
		return draftOpened{v}
	case setOptionResult:
		return object{"configOptions": draftOptions(v.Options)}
	case optionsUpdate:
		return object{"sessionUpdate": v.Update, "configOptions": draftOptions(v.Options)}
	case modeUpdate:
		return nil // an option
	case toolCall:
		return draftCall(v)
	case planUpdate:
		return object{
			"sessionUpdate": "plan_update",
			"plan":          object{"type": "items", "planId": "tasks", "entries": v.Entries},
		}
	case commandsUpdate:
		return object{"sessionUpdate": v.Update, "availableCommands": draftCommands(v.Commands)}
	case permissionParams:
		call := draftCall(v.ToolCall)
		return object{
			"sessionId": v.SessionID, "title": v.ToolCall.Title, "options": v.Options,
			"subject": object{"type": "tool_call", "toolCall": call},
		}
	}
	return v
}

func draftInitialized(v initializeResult) any {
	var methods []object
	for _, m := range v.AuthMethods {
		one := object{"type": "agent", "methodId": m.ID, "name": m.Name, "description": m.Description}
		if m.Type != "" {
			one["type"], one["args"] = m.Type, m.Args
		}
		methods = append(methods, one)
	}
	yes := object{}
	return object{
		"protocolVersion": Draft, "info": v.Info, "authMethods": methods,
		"capabilities": object{
			"auth": object{"logout": yes},
			"session": object{
				"prompt": object{"image": yes, "embeddedContext": yes}, "mcp": object{"stdio": yes, "http": yes},
				"delete": yes, "additionalDirectories": yes,
			},
		},
	}
}

// draftOpened is the result of session/new and session/resume.
type draftOpened struct{ opened }

// MarshalJSON writes it as the draft has it.
func (d draftOpened) MarshalJSON() ([]byte, error) {
	out := object{"configOptions": draftOptions(d.Options)}
	if d.SessionID != "" {
		out["sessionId"] = d.SessionID
	}
	return json.Marshal(out)
}

func draftOptions(list []configOption) []object {
	out := []object{}
	for _, o := range list {
		out = append(out, object{
			"type": o.Type, "configId": o.ID, "name": o.Name, "category": o.Category, "currentValue": o.Current,
			"options": o.Options,
		})
	}
	return out
}

func draftCommands(list []availableCommand) []object {
	out := []object{}
	for _, c := range list {
		out = append(out, object{"type": "command", "name": c.Name, "description": c.Description})
	}
	return out
}

// draftCall is a call: all of it is an update, and a diff names the files that change, with a patch.
func draftCall(c toolCall) any {
	if c.Update != "" {
		c.Update = "tool_call_update"
	}
	b, err := json.Marshal(c)
	var out object
	if err != nil || json.Unmarshal(b, &out) != nil {
		return c // it can be written
	}
	var content []any
	for _, one := range c.Content {
		if one.Type != "diff" {
			content = append(content, one)
			continue
		}
		if one.patch == "" {
			continue // a further part of a file
		}
		operation := "modify"
		if one.OldText == nil {
			operation = "add"
		}
		content = append(content, object{
			"type": "diff", "changes": []object{{"operation": operation, "path": filepath.Clean(one.Path)}},
			"patch": object{"format": "git_patch", "text": one.patch},
		})
	}
	if content != nil {
		out["content"] = content
	}
	return out
}
