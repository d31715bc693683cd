package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// cutting is an HTTP server that cuts the stream of each call after its first event. A client that resumes after that
// event gets the answer.
type cutting struct {
	mu      sync.Mutex
	call    json.RawMessage // the id that waits for its answer
	resumed []string        // the event ids that were named
}

func (s *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.resume(w, r)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	switch m.Method {
	case "initialize":
		answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"cutting","version":"1"}}`)
	case "tools/list":
		answer(`{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		s.mu.Lock()
		s.call = m.ID
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "id: event-7\nretry: 1\ndata: "+
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"begun\"}}\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // the connection breaks
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (s *cutting) resume(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		w.WriteHeader(http.StatusMethodNotAllowed) // there is no stream beside the answers
		return
	}
	s.mu.Lock()
	s.resumed = append(s.resumed, id)
	call := s.call
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_,
		_ = fmt.Fprintf(w,
		"id: event-8\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done "+
			"after all\"}]}}\n\n", call)
}

func TestACutStreamIsResumedAfterItsLastEvent(t *testing.T) {
	server := &cutting{}
	b := newBench(t, map[string]any{"off": map[string]any{"type": "http", "url": serve(t, server, nil)}})
	b.start(t)
	if got := b.text(t, "mcp__off__act", `{}`); got != "done after all" {
		t.Errorf("%q", got)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.resumed) != 1 || server.resumed[0] != "event-7" {
		t.Errorf("%q", server.resumed)
	}
}
