package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// A server of the protocol of 2025-11-25 may want its question answered as a task: it gets the id of one at once, and
// fetches the answer later.

const (
	mostTasks = 20              // of a server that are kept
	taskLife  = 5 * time.Minute // of an answer that no one fetches
	taskPoll  = 500             // milliseconds between two looks
)

// ownTask is a question that is answered beside the request that brought it.
type ownTask struct {
	ID       string    `json:"taskId"`
	Status   string    `json:"status"` // working, completed, failed or cancelled
	Message  string    `json:"statusMessage,omitempty"`
	Made     time.Time `json:"createdAt"`
	Updated  time.Time `json:"lastUpdatedAt"`
	LifeMs   int64     `json:"ttl"`
	PollMs   int       `json:"pollInterval"`
	answer   any
	fault    *jsonrpc.Error
	finished chan struct{}
	cancel   context.CancelFunc
}

// ownTasks are those of one server, the oldest first.
type ownTasks struct {
	mu  sync.Mutex
	all []*ownTask
}

// taskCapability says which questions may be tasks.
func taskCapability() map[string]any {
	yes := struct{}{}
	return map[string]any{"list": yes, "cancel": yes, "requests": map[string]any{
		"sampling": map[string]any{"createMessage": yes}, "elicitation": map[string]any{"create": yes},
	}}
}

// wantsTask reports whether a question is to be a task.
func wantsTask(params json.RawMessage) bool {
	var p struct {
		Task *struct{} `json:"task"`
	}
	return json.Unmarshal(params, &p) == nil && p.Task != nil
}

// begin starts to answer a question.
func (v *server) begin(answer func(context.Context) (any, *jsonrpc.Error)) (any, *jsonrpc.Error) {
	ctx, cancel := context.WithCancel(v.set.life)
	now := time.Now().UTC()
	t := &ownTask{
		ID: rand.Text(), Status: "working", Made: now, Updated: now, LifeMs: taskLife.Milliseconds(),
		PollMs: taskPoll, finished: make(chan struct{}), cancel: cancel,
	}
	if !v.tasks.add(t) {
		cancel()
		return nil, &jsonrpc.Error{Code: jsonrpc.Internal, Message: "lathe keeps " + strconv.Itoa(mostTasks) +
			" tasks of a server at most"}
	}
	working := *t
	started := v.set.spawn(func() {
		defer cancel()
		out, fault := answer(ctx)
		v.tasks.finish(t, out, fault)
	})
	if !started {
		cancel()
	}
	return map[string]any{"task": &working}, nil
}

// add keeps a task; the place of an old one that is done is taken.
func (o *ownTasks) add(t *ownTask) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(t *ownTask) bool {
		return t.Status != "working" && time.Since(t.Updated) > taskLife
	})
	if len(o.all) >= mostTasks {
		at := slices.IndexFunc(o.all, func(t *ownTask) bool { return t.Status != "working" })
		if at < 0 {
			return false
		}
		o.all = slices.Delete(o.all, at, at+1)
	}
	o.all = append(o.all, t)
	return true
}

func (o *ownTasks) finish(t *ownTask, out any, fault *jsonrpc.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.Status == "working" {
		t.Status = "completed"
		if fault != nil {
			t.Status, t.Message = "failed", fault.Message
		}
	}
	t.answer, t.fault, t.Updated = out, fault, time.Now().UTC()
	close(t.finished)
}

// serveTask answers what the server asks of its tasks.
func (v *server) serveTask(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	if method == "tasks/list" {
		return v.tasks.list(), nil
	}
	var p struct {
		ID string `json:"taskId"`
	}
	_ = json.Unmarshal(params, &p) // no id is none that is known
	o := &v.tasks
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.all, func(t *ownTask) bool { return t.ID == p.ID })
	if at < 0 {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "there is no such task"}
	}
	t := o.all[at]
	switch method {
	case "tasks/cancel":
		if t.Status != "working" {
			return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "the task is " + t.Status + " already"}
		}
		t.Status, t.Updated = "cancelled", time.Now().UTC()
		t.cancel()
	case "tasks/result":
		return o.result(ctx, t)
	}
	now := *t
	return &now, nil
}

func (o *ownTasks) list() any {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := []ownTask{}
	for _, t := range o.all {
		all = append(all, *t)
	}
	return map[string]any{"tasks": all}
}

// result waits for the answer. The caller holds mu, which is free meanwhile.
func (o *ownTasks) result(ctx context.Context, t *ownTask) (any, *jsonrpc.Error) {
	o.mu.Unlock()
	select {
	case <-t.finished:
	case <-ctx.Done():
	}
	o.mu.Lock()
	switch {
	case t.Status == "cancelled" || t.Status == "working":
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "the task was cancelled"}
	case t.fault != nil:
		return nil, t.fault
	}
	data, err := json.Marshal(t.answer)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.Internal, Message: err.Error()}
	}
	out["_meta"] = map[string]any{"io.modelcontextprotocol/related-task": map[string]any{"taskId": t.ID}}
	return out, nil
}

// forget cancels the tasks of a connection that ended.
func (o *ownTasks) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.all {
		t.cancel()
	}
	o.all = nil
}
