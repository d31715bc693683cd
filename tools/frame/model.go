package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// model answers as a file says, over the Anthropic Messages API (streamed). The file is a JSON list of
// replies; a reply is a list of parts: {"text": "..."} or {"tool": "Bash", "input": {...}}. ${WORKDIR} is the
// folder in which the program runs. Requests without tools (for a title) do not take a reply.
type model struct {
	url     string
	replies [][]part
	next    atomic.Int32
	server  *http.Server
}

type part struct {
	Text  string          `json:"text"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

func startModel(file, work string) (*model, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &model{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(b), "${WORKDIR}", work)), &m.replies); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m.url = "http://" + l.Addr().String()
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(l) }() // ends with Close
	return m, nil
}

func (m *model) close() { _ = m.server.Close() }

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model  string            `json:"model"`
		Tools  []json.RawMessage `json:"tools"`
		Stream bool              `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || !strings.HasSuffix(r.URL.Path, "/messages") {
		http.Error(w, `{"type":"error","error":{"type":"not_found_error","message":"only messages"}}`, http.StatusNotFound)
		return
	}
	reply := []part{{Text: "Fix the failing test"}}
	if len(req.Tools) > 0 {
		reply = []part{{Text: "There is nothing more to say."}}
		if n := int(m.next.Add(1)); n <= len(m.replies) {
			reply = m.replies[n-1]
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := sender{w}
	s.send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
		"usage": map[string]int{"input_tokens": 5200, "cache_read_input_tokens": 4700, "output_tokens": 1},
	}})
	stop := "end_turn"
	for i, p := range reply {
		if p.Tool != "" {
			stop = "tool_use"
		}
		s.part(i, p)
	}
	s.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": 180},
	})
	s.send("message_stop", map[string]any{})
}

// sender writes events as a model would, piece by piece.
type sender struct{ w http.ResponseWriter }

func (s sender) send(name string, data map[string]any) {
	data["type"] = name
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // only maps and strings
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, b)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

const pieceLength, piecePause = 12, 30 * time.Millisecond

func (s sender) part(i int, p part) {
	block := map[string]any{"type": "text", "text": ""}
	text, kind, field := p.Text, "text_delta", "text"
	if p.Tool != "" {
		block = map[string]any{
			"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", time.Now().UnixNano(), i),
			"name": p.Tool, "input": map[string]any{},
		}
		text, kind, field = string(p.Input), "input_json_delta", "partial_json"
	}
	s.send("content_block_start", map[string]any{"index": i, "content_block": block})
	for rest := []rune(text); len(rest) > 0; {
		n := min(pieceLength, len(rest))
		s.send("content_block_delta", map[string]any{"index": i, "delta": map[string]any{
			"type": kind,
			field:  string(rest[:n]),
		}})
		rest = rest[n:]
		time.Sleep(piecePause)
	}
	s.send("content_block_stop", map[string]any{"index": i})
}
