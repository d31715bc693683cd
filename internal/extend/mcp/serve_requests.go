package mcp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
)

// offers are the capabilities that lathe announces to a server.
func (v *server) offers() map[string]any {
	out := map[string]any{
		"roots":       map[string]any{"listChanged": true},
		"elicitation": map[string]any{"form": struct{}{}, "url": struct{}{}},
		"tasks":       taskCapability(),
	}
	if v.maySample() {
		out["sampling"] = struct{}{}
	}
	return out
}

// serve answers what the server asks of lathe.
func (v *server) serve(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	if strings.HasPrefix(method, "tasks/") {
		return v.serveTask(ctx, method, params)
	}
	if wantsTask(params) && (method == "elicitation/create" || method == "sampling/createMessage") {
		return v.begin(func(ctx context.Context) (any, *jsonrpc.Error) { return v.answer(ctx, method, params) })
	}
	return v.answer(ctx, method, params)
}

// answer answers a question of the server.
func (v *server) answer(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	v.asking.Add(1)
	defer v.asking.Add(-1)
	switch method {
	case "roots/list":
		roots := []map[string]string{}
		for _, dir := range v.set.roots() {
			roots = append(roots, map[string]string{"uri": fileURI(dir), "name": filepath.Base(dir)})
		}
		return map[string]any{"roots": roots}, nil
	case "elicitation/create":
		return v.elicit(ctx, params)
	case "sampling/createMessage":
		return v.sample(ctx, params)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.NoMethod, Message: "lathe does not serve " + strconv.Quote(method)}
}

// logged puts a message of the server's log into the log that lathe keeps.
func (v *server) logged(m client.LogMessage) {
	line := "[" + m.Level + "] "
	if m.Logger != "" {
		line += m.Logger + ": "
	}
	var text string
	if json.Unmarshal(m.Data, &text) != nil {
		text = string(m.Data)
	}
	_, _ = v.log.Write([]byte(line + text + "\n"))
}

// caller is a session that waits for the server at this moment, else any.
func (v *server) caller(fit func(*View) bool) *View {
	v.mu.Lock()
	for w := range v.callers {
		if fit(w) {
			v.mu.Unlock()
			return w
		}
	}
	v.mu.Unlock()
	for _, w := range v.views() {
		if fit(w) {
			return w
		}
	}
	return nil
}

// serves notes that the session waits for a server, until the function that it returns is called: the server's
// questions go to it.
func (w *View) serves(v *server) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.callers == nil {
		v.callers = map[*View]int{}
	}
	v.callers[w]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.callers[w]--; v.callers[w] == 0 {
			delete(v.callers, w)
		}
	}
}
