package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request records one request and its response.
type Request struct {
	N      int         `json:"n"`    // from 1, in order of arrival
	Time   time.Time   `json:"time"` // when the body was read
	Conn   int         `json:"conn"` // number of the connection, from 1
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"` // secrets replaced by "[redacted]"
	// decompressed; of a message on a WebSocket, the request that HTTP would carry, with its whole input
	Body    []byte    `json:"-"`
	Bytes   int       `json:"bytes"`            // length of Body, or of Message
	Socket  int       `json:"socket,omitempty"` // number of the message on its WebSocket, from 1; 0: HTTP
	Message []byte    `json:"-"`                // on a WebSocket: as it came
	Wire    string    `json:"wire,omitempty"`
	Model   string    `json:"model,omitempty"`
	Stream  bool      `json:"stream,omitempty"`
	Tools   int       `json:"tools,omitempty"`   // number of tools offered
	Turn    int       `json:"turn"`              // assistant messages in it
	Reply   int       `json:"reply"`             // index of the reply in the script; negative: Final, NoTools or none
	Status  int       `json:"status,omitempty"`  // 0 while it is being answered, or cut before the headers
	Fault   string    `json:"fault,omitempty"`   // the kind of fault applied
	Refused string    `json:"refused,omitempty"` // why strict mode refused it
	Sent    int       `json:"sent"`              // bytes of the response's body
	Gone    bool      `json:"gone,omitempty"`    // the client left early
	Ended   time.Time `json:"ended,omitzero"`    // when the last byte was written; zero while it is being answered
}

// log keeps the requests and notifies waiters.
type log struct {
	mu      sync.Mutex
	reqs    []*Request
	changed chan struct{} // closed and replaced at every change
	dir     string
	queue   chan *Request
	done    chan struct{}
	err     error
}

func newLog(dir string) (*log, error) {
	l := &log{changed: make(chan struct{}), dir: dir}
	if dir == "" {
		return l, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "bodies"), 0o755); err != nil {
		return nil, fmt.Errorf("record requests: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "requests.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record requests: %w", err)
	}
	l.queue, l.done = make(chan *Request, 1024), make(chan struct{})
	go l.write(f)
	return l, nil
}

// write saves finished requests to disk, without delaying responses.
func (l *log) write(f *os.File) {
	defer close(l.done)
	enc := json.NewEncoder(f)
	for r := range l.queue {
		name := filepath.Join(l.dir, "bodies", fmt.Sprintf("%04d.json", r.N))
		if len(r.Body) > 0 {
			l.keep(os.WriteFile(name, r.Body, 0o644))
		}
		l.keep(enc.Encode(r))
	}
	l.keep(f.Close())
}

func (l *log) keep(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("record requests: %w", err)
	}
}

func (l *log) close() error {
	if l.queue != nil {
		close(l.queue)
		<-l.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *log) update(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *log) begin(r *Request) {
	l.update(func() {
		r.N = len(l.reqs) + 1
		l.reqs = append(l.reqs, r)
	})
}

func (l *log) end(r *Request, f func()) {
	var c Request
	l.update(func() {
		f()
		r.Ended = time.Now()
		c = *r
	})
	if l.queue != nil {
		l.queue <- &c
	}
}

func (l *log) snapshot() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Request, len(l.reqs))
	for i, r := range l.reqs {
		out[i] = *r
	}
	return out
}

// wait blocks until ok holds for the requests.
func (l *log) wait(ctx context.Context, ok func([]*Request) bool) error {
	for {
		l.mu.Lock()
		good, changed, n := ok(l.reqs), l.changed, len(l.reqs)
		l.mu.Unlock()
		if good {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the wire server, which has %d requests: %w", n, ctx.Err())
		}
	}
}

var secretHeaders = []string{"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"}

func withoutSecrets(h http.Header) http.Header {
	out := h.Clone()
	for k := range out {
		if slices.Contains(secretHeaders, strings.ToLower(k)) {
			out[k] = []string{"[redacted]"}
		}
	}
	return out
}
