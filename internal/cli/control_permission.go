package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Questions over the control protocol: can_use_tool asks the host whether a call may run.

type hostRequest struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   any    `json:"request,omitempty"`
}

type canUseTool struct {
	Subtype     string          `json:"subtype"`
	Tool        string          `json:"tool_name"`
	Input       json.RawMessage `json:"input"`
	ToolUseID   string          `json:"tool_use_id"`
	AgentID     string          `json:"agent_id,omitempty"`
	Title       string          `json:"title,omitempty"`
	Display     string          `json:"display_name,omitempty"`
	Description string          `json:"description,omitempty"`
	Reason      string          `json:"decision_reason,omitempty"`
	ReasonType  string          `json:"decision_reason_type,omitempty"`
	Blocked     string          `json:"blocked_path,omitempty"`
	Suggestions []hook.Update   `json:"permission_suggestions,omitempty"`
	Server      *askedServer    `json:"mcp_server,omitempty"`
}

// ask passes a question about a call to the host: for permission, or one that the call itself puts. Any other question
// gets no answer.
func (c *controller) ask(id string, q event.Question) {
	c.mu.Lock()
	if q.Call == nil || q.Permission == nil && !q.Consult || c.eof {
		c.mu.Unlock()
		c.refuse(id)
		return
	}
	c.hostSeq++
	request := fmt.Sprintf("req_%d_%s", c.hostSeq, id)
	c.asks[request] = id
	c.calls[request] = q
	c.mu.Unlock()
	asked := requestOf(q)
	if l, ok := c.conv.(*local); ok {
		if s, known := l.agentOf(event.CallOf(q.Agent)); known {
			asked.AgentID = s.ID
		}
	}
	asked.Server = c.askedServer(q.Call.Name)
	if c.w.encode(hostRequest{"control_request", request, asked}) != nil {
		c.refuse(id)
	}
}

// openAsks are the questions that the host has not answered.
func (c *controller) openAsks() (out []hostRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.calls)) {
		out = append(out, hostRequest{"control_request", id, requestOf(c.calls[id])})
	}
	return out
}

func requestOf(q event.Question) canUseTool {
	r := canUseTool{
		Subtype: "can_use_tool", Tool: q.Call.Name, Input: objectOr(q.Call.Input), ToolUseID: q.Call.ID,
		Title: sentenceOf(q), Display: displayOf(q.Call.Name), Reason: q.Reason, ReasonType: q.ReasonType,
		Description: cmp.Or(ownDescription(q.Call.Input), q.Text),
	}
	if v, ok := q.Preview.(event.Command); ok && len(v.Warning) > 0 {
		r.Description = strings.Join(append([]string{r.Description}, v.Warning...), "\n")
	}
	if q.Undo != "" {
		r.Description = strings.TrimPrefix(r.Description+"\nundo: "+q.Undo, "\n")
	}
	if n := len(q.Agent); n > 0 {
		r.AgentID = q.Agent[n-1]
	}
	if q.Permission == nil {
		r.Suggestions = hook.Suggestions(q)
		return r
	}
	for _, a := range q.Permission.Accesses {
		if a.Kind == permission.Read || a.Kind == permission.Write {
			r.Blocked = a.Target
			break
		}
	}
	r.Suggestions = hook.Suggestions(q)
	return r
}

// ownDescription is the model's own description of a call of Bash or Task, as Claude Code gives it; empty where the
// input has none. The host shows it beside the input.
func ownDescription(input json.RawMessage) string {
	var in struct {
		Description string `json:"description"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	return strings.TrimSpace(in.Description)
}

// askClosed withdraws the request for a question that was answered elsewhere.
func (c *controller) askClosed(question string) {
	c.mu.Lock()
	request := ""
	for r, q := range c.asks {
		if q == question {
			request = r
		}
	}
	delete(c.asks, request)
	delete(c.calls, request)
	c.mu.Unlock()
	if request != "" {
		// a broken stdout ends the turn by itself
		_ = c.w.encode(hostRequest{Type: "control_cancel_request", RequestID: request})
	}
}

// hostAnswer is the host's reply to can_use_tool.
type hostAnswer struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
	Response  struct {
		Behavior    string          `json:"behavior"`
		Input       json.RawMessage `json:"updatedInput"`
		Permissions []hook.Update   `json:"updatedPermissions"`
		Message     string          `json:"message"`
		Interrupt   bool            `json:"interrupt"`
	} `json:"response"`
}

// response takes the host's answer. One for a request that is closed is ignored.
func (c *controller) response(b json.RawMessage) error {
	var a hostAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		return fmt.Errorf("the control response cannot be read: %w", err)
	}
	c.mu.Lock()
	id, open := c.asks[a.RequestID]
	q := c.calls[a.RequestID]
	delete(c.asks, a.RequestID)
	delete(c.calls, a.RequestID)
	c.mu.Unlock()
	if !open {
		c.replied(b)
		return nil
	}
	ans, mode := answerTo(a, q)
	if mode != "" && c.mayBypass(mode) == nil {
		// A mode that is refused leaves the old one; the call itself was still allowed.
		_ = c.conv.SetMode(context.Background(), mode)
	}
	if ans.Choice != event.ChoiceNo {
		c.addFolders(a.Response.Permissions)
	}
	if ans.Interrupt {
		c.mu.Lock()
		c.stopped = c.running
		c.mu.Unlock()
	}
	// A failure means that the turn ended meanwhile.
	_ = c.conv.Answer(id, ans)
	return nil
}

// addFolders takes the folders of an answer into the session. One that cannot be added leaves the call as it was
// answered.
func (c *controller) addFolders(updates []hook.Update) {
	conv, ok := c.conv.(interface {
		AddDir(dir string) (string, error)
	})
	for _, u := range updates {
		if !ok || u.Type != "addDirectories" {
			continue
		}
		for _, dir := range u.Directories {
			if _, err := conv.AddDir(dir); err != nil {
				// A broken stdout ends the turn by itself.
				_ = c.w.write(&informationalLine{
					Type: "system", Subtype: "informational", Content: oneMessage(err),
					Level: "warning",
				})
			}
		}
	}
}

// answerTo is the host's answer in lathe's words, and the mode it wants, if any. Anything but a clear
// "allow" refuses.
func answerTo(a hostAnswer, q event.Question) (event.Answer, permission.Mode) {
	if a.Subtype != "success" || a.Response.Behavior != "allow" {
		text := a.Response.Message
		if text == "" {
			text = a.Error
		}
		if text == "" {
			text = "the host refused"
		}
		return event.Answer{Choice: event.ChoiceNo, Text: text, Interrupt: a.Subtype == "success" && a.Response.Interrupt}, ""
	}
	ans := event.Answer{Choice: event.ChoiceOnce}
	if in := a.Response.Input; !isEmptyJSON(in) && !sameJSON(in, q.Call.Input) {
		ans.Input = in
	}
	var mode permission.Mode
	if q.Consult { // no rule answers the next such question
		for _, u := range a.Response.Permissions {
			if u.Type == "setMode" {
				mode = permission.Mode(u.Mode)
			}
		}
		return ans, mode
	}
	for _, u := range a.Response.Permissions {
		switch {
		case u.Type == "setMode":
			mode = permission.Mode(u.Mode)
		case u.Type == "addRules" && u.Behavior == "allow":
			for _, r := range u.Rules {
				ans.Rules = append(ans.Rules, r.String())
			}
			if ans.Choice != event.ChoiceAlways {
				ans.Choice = map[bool]string{true: event.ChoiceSession, false: event.ChoiceAlways}[u.Destination == "session" ||
					u.Destination == "cliArg"]
			}
		}
	}
	return ans, mode
}

// sameJSON compares two objects by meaning.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	bx, errX := json.Marshal(x)
	by, errY := json.Marshal(y)
	return errX == nil && errY == nil && string(bx) == string(by)
}
