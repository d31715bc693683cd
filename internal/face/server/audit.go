package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// AuditFile is the name of the audit log in the server's folder.
const AuditFile = "audit.jsonl"

// mostAudit is the size at which the audit log is begun afresh; the one before is kept.
const mostAudit = 16 << 20

// audit writes down who did what. It has no bodies, no tokens and no queries.
type audit struct {
	mu   sync.Mutex
	file *os.File
	size int64
}

// audited is a line of the audit log.
type audited struct {
	Time   time.Time `json:"time"`
	Who    string    `json:"who"` // user, a device's id, or - without a principal
	Name   string    `json:"name,omitempty"`
	From   string    `json:"from"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Do     string    `json:"do,omitempty"` // the operation
	Status int       `json:"status"`
}

func openAudit(folder string) (*audit, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the server's folder cannot be made: %w", err)
	}
	a := &audit{}
	return a, a.open(folder)
}

func (a *audit) open(folder string) (err error) {
	a.file, err = os.OpenFile(filepath.Join(folder, AuditFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("the audit log cannot be written: %w", err)
	}
	st, err := a.file.Stat()
	if err == nil {
		a.size = st.Size()
	}
	return err
}

// write notes a request: one that changes something, or was refused.
func (a *audit) write(r *http.Request, who Principal, do string, status int) {
	line := audited{
		Time: time.Now().UTC(), Who: who.ID, Name: who.Name, From: address(r), Method: r.Method,
		Path: r.URL.Path[:min(len(r.URL.Path), 500)], Do: do, Status: status,
	}
	if line.Who == "" {
		if line.Who = "-"; who.Local {
			line.Who = "user"
		}
	}
	b, err := json.Marshal(line)
	if err != nil {
		return // it has only plain fields
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size > mostAudit {
		path := a.file.Name()
		_ = a.file.Close()
		_ = os.Rename(path, path+".1")
		if a.open(filepath.Dir(path)) != nil {
			return
		}
	}
	n, _ := a.file.Write(append(b, '\n')) // a full disk must not stop the server
	a.size += int64(n)
}

// counters are for /metrics.
type counters struct {
	requests, refused, streams, events, resyncs atomic.Int64
}

// metrics writes the counters in Prometheus' text form.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	live := 0
	jobs, _ := s.Place.List() // those that can be read
	for _, j := range jobs {
		if j.Live() {
			live++
		}
	}
	for _, m := range []struct {
		name, kind, help string
		value            int64
	}{
		{"lathe_http_requests_total", "counter", "Requests.", s.count.requests.Load()},
		{"lathe_http_refused_total", "counter", "Requests that were turned away.", s.count.refused.Load()},
		{"lathe_http_streams", "gauge", "Open streams of events.", s.count.streams.Load()},
		{"lathe_http_events_total", "counter", "Events sent.", s.count.events.Load()},
		{"lathe_http_resyncs_total", "counter", "Times that a reader fell behind.", s.count.resyncs.Load()},
		{"lathe_sessions", "gauge", "Sessions that the supervisor knows.", int64(len(jobs))},
		{"lathe_session_processes", "gauge", "Sessions with a process.", int64(live)},
	} {
		_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", m.name, m.help, m.name, m.kind, m.name, m.value)
	}
}
