package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// Tasks of the protocol of 2025-11-25: a call that is answered with a task at once, whose result is fetched when it is
// done.

// The times between two looks at a task, whatever its server asks for.
const (
	shortestPoll = 100 * time.Millisecond
	longestPoll  = 10 * time.Second
	usualPoll    = time.Second
)

type task struct {
	ID      string `json:"taskId"`
	Status  string `json:"status"` // working, input_required, completed, failed or cancelled
	Message string `json:"statusMessage"`
	PollMs  int    `json:"pollInterval"`
}

// wantsTask reports whether a tool only runs as a task, on a server that has tasks.
func (c *Client) wantsTask(t Tool) bool {
	return t.Execution != nil && t.Execution.TaskSupport == "required" && c.Has.Tasks != nil &&
		c.Has.Tasks.Requests.Tools.Call != nil
}

// callAsTask starts a task and waits for its end. The task is cancelled with ctx.
func (c *Client) callAsTask(ctx context.Context, params map[string]any, progress func(jsonrpc.Progress)) (*Result,
	error,
) {
	params["task"] = map[string]any{}
	var made struct {
		Task task `json:"task"`
		Result
	}
	if err := c.Call(ctx, "tools/call", params, &made, progress); err != nil {
		return nil, err
	}
	if made.Task.ID == "" { // it was done at once
		return &made.Result, nil
	}
	id := map[string]any{"taskId": made.Task.ID}
	if err := c.await(ctx, made.Task, id, progress); err != nil {
		return nil, err
	}
	var r Result
	err := c.Call(ctx, "tasks/result", id, &r, progress)
	return &r, err
}

// await polls until the task is done, or until it waits for an answer of the user, which its result brings.
func (c *Client) await(ctx context.Context, t task, id map[string]any, progress func(jsonrpc.Progress)) error {
	last := ""
	for steps := 1.0; ; steps++ {
		if t.Message != last && progress != nil {
			last = t.Message
			progress(jsonrpc.Progress{Progress: steps, Message: t.Message})
		}
		switch t.Status {
		case "completed", "failed", "input_required":
			return nil
		case "cancelled":
			return fmt.Errorf("the server cancelled the task: %s", cmp.Or(t.Message, "it gave no reason"))
		}
		wait := cmp.Or(time.Duration(t.PollMs)*time.Millisecond, usualPoll)
		select {
		case <-time.After(min(max(wait, shortestPoll), longestPoll)):
		case <-c.Done():
			return c.Err()
		case <-ctx.Done():
			told, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = c.Call(told, "tasks/cancel", id, nil, nil) // no one waits for it any more
			return context.Cause(ctx)
		}
		var raw json.RawMessage
		if err := c.Call(ctx, "tasks/get", id, &raw, nil); err != nil {
			return err
		}
		next := task{}
		if err := json.Unmarshal(raw, &next); err != nil {
			return fmt.Errorf("the state of the task cannot be read: %w", err)
		}
		t = next
	}
}
