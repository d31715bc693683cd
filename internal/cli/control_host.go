package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lathe-dev/lathe/internal/agent/hook"
)

// Requests to the host beside questions for permission: hooks that it runs.

// errHostGone is the answer to requests that were open when stdin ended.
var errHostGone = errors.New("stdin ended before the host answered")

// callHost sends a request to the host and waits for the response, which is that of a control_response of success.
func (c *controller) callHost(ctx context.Context, request any) (json.RawMessage, error) {
	answer := make(chan hostReply, 1)
	c.mu.Lock()
	if c.eof {
		c.mu.Unlock()
		return nil, errHostGone
	}
	c.hostSeq++
	id := fmt.Sprintf("req_%d_host", c.hostSeq)
	c.replies[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.replies, id)
		c.mu.Unlock()
	}()
	if err := c.w.encode(hostRequest{"control_request", id, request}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.body, r.err
	case <-ctx.Done():
		_ = c.w.encode(hostRequest{Type: "control_cancel_request", RequestID: id}) // a broken stdout ends the turn by itself
		return nil, context.Cause(ctx)
	}
}

// hostReply is the host's response to a request.
type hostReply struct {
	body json.RawMessage
	err  error
}

// replied hands a response to the request that waits for it; false when none does.
func (c *controller) replied(b json.RawMessage) bool {
	var r struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Error     string          `json:"error"`
		Response  json.RawMessage `json:"response"`
	}
	if json.Unmarshal(b, &r) != nil {
		return false
	}
	c.mu.Lock()
	waiting := c.replies[r.RequestID]
	delete(c.replies, r.RequestID)
	c.mu.Unlock()
	if waiting == nil {
		return false
	}
	reply := hostReply{body: r.Response}
	if r.Subtype != "success" {
		reply = hostReply{err: errors.New("the host: " + r.Error)}
	}
	waiting <- reply
	return true
}

// hostGone answers the requests that are open when stdin ends.
func (c *controller) hostGone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, waiting := range c.replies {
		delete(c.replies, id)
		waiting <- hostReply{err: errHostGone}
	}
}

// mirrored hands lines of a transcript to the host, which keeps a copy.
func (c *controller) mirrored(path string, lines []json.RawMessage) {
	_ = c.w.encode(struct { // a broken stdout ends the turn by itself
		Type    string            `json:"type"`
		Path    string            `json:"filePath"`
		Entries []json.RawMessage `json:"entries"`
	}{"transcript_mirror", path, lines})
}

// hookCallback asks the host to run one of its hooks.
func (c *controller) hookCallback(ctx context.Context, id string, input json.RawMessage, call string) (json.RawMessage,
	error,
) {
	request := map[string]any{"subtype": "hook_callback", "callback_id": id, "input": input}
	if call != "" {
		request["tool_use_id"] = call
	}
	return c.callHost(ctx, request)
}

// hostHooks reads the hooks of initialize: by event, lists of matchers with the ids of callbacks. Of events that lathe
// does not have, the session warns: newer hosts know more.
func (c *controller) hostHooks(raw json.RawMessage) ([]hook.Group, error) {
	var events map[string][]json.RawMessage
	if err := json.Unmarshal(raw, &events); err != nil {
		return nil, fmt.Errorf("initialize: hooks are not lists by event: %w", err)
	}
	var out []hook.Group
	for _, name := range slices.Sorted(maps.Keys(events)) {
		for _, group := range events[name] {
			out = append(out, hook.Group{Event: name, JSON: group, From: "the host program", Call: c.hookCallback})
		}
	}
	return out, nil
}
