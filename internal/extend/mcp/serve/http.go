package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
)

const (
	maxBody     = 8 << 20
	maxSessions = 64
	idleSession = time.Hour
)

// HTTP is a server of Streamable HTTP. The answer to a request is a stream that begins with the reports and questions
// of its call; there is no other stream, and a client that leaves a stream cancels its call.
type HTTP struct {
	o     Options
	token string

	mu       sync.Mutex
	sessions map[string]*session
}

// NewHTTP makes the handler. Requests need the token.
func NewHTTP(o Options, token string) *HTTP {
	return &HTTP{o: o, token: token, sessions: map[string]*session{}}
}

// session is one client.
type session struct {
	caller
	used time.Time // guarded by HTTP.mu

	mu      sync.Mutex
	next    int64
	pending map[string]chan message       // questions to the client, by id
	running map[string]context.CancelFunc // its calls, by id
}

type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, text := h.refuse(r); status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, text, status)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodDelete:
		h.end(r.Header.Get("Mcp-Session-Id"))
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "lathe sends nothing by itself", http.StatusMethodNotAllowed)
	}
}

// refuse checks who asks: a page of a browser names its origin, and one that had its own name point to this
// machine names that as the host.
func (h *HTTP) refuse(r *http.Request) (int, string) {
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch origin := r.Header.Get("Origin"); {
	case !onLoopback(r.Host):
		return http.StatusForbidden, "this address is for programs on this machine"
	case origin != "" && !localOrigin(origin):
		return http.StatusForbidden, "web pages of other machines may not connect"
	case !bearer || subtle.ConstantTimeCompare([]byte(given), []byte(h.token)) != 1:
		return http.StatusUnauthorized, "send the token that lathe mcp serve printed, as Authorization: Bearer TOKEN"
	case r.URL.Path != "/mcp":
		return http.StatusNotFound, "the address ends in /mcp"
	}
	if v := r.Header.Get("MCP-Protocol-Version"); v != "" && !slices.Contains(client.Handshakes(), v) {
		return http.StatusBadRequest, "lathe does not speak this version of the protocol"
	}
	return 0, ""
}

func localOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && onLoopback(u.Host)
}

func onLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "send application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the message is too long or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	var m message
	if json.Unmarshal(body, &m) != nil || m.Version != "2.0" {
		http.Error(w, "send one message of JSON-RPC 2.0", http.StatusBadRequest)
		return
	}
	s, status, text := h.session(w, r, &m)
	if s == nil {
		http.Error(w, text, status)
		return
	}
	switch {
	case m.Method != "" && len(m.ID) > 0:
		s.exchange(w, r, &m)
		return
	case m.Method == "notifications/cancelled":
		s.cancel(m.Params)
	case m.Method == "" && len(m.ID) > 0:
		s.answered(m)
	}
	w.WriteHeader(http.StatusAccepted)
}

// session finds the session of a request; the first one of a client makes it.
func (h *HTTP) session(w http.ResponseWriter, r *http.Request, m *message) (s *session, status int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	if m.Method == "initialize" {
		h.expire()
		if len(h.sessions) >= maxSessions {
			return nil, http.StatusServiceUnavailable, "too many sessions"
		}
		id = rand.Text()
		s = &session{caller: caller{o: &h.o}, pending: map[string]chan message{}, running: map[string]context.CancelFunc{}}
		h.sessions[id] = s
		w.Header().Set("Mcp-Session-Id", id)
	} else if s = h.sessions[id]; s == nil {
		if id == "" {
			return nil, http.StatusBadRequest, "initialize first"
		}
		return nil, http.StatusNotFound, "the session has ended"
	}
	s.used = time.Now()
	return s, 0, ""
}

// expire ends sessions that were idle for long.
func (h *HTTP) expire() {
	for id, s := range h.sessions {
		s.mu.Lock()
		idle := len(s.running) == 0 && time.Since(s.used) > idleSession
		s.mu.Unlock()
		if idle {
			delete(h.sessions, id)
		}
	}
}

// end ends a session and cancels its calls.
func (h *HTTP) end(id string) {
	h.mu.Lock()
	s := h.sessions[id]
	delete(h.sessions, id)
	h.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.running {
		cancel()
	}
}

func (s *session) cancel(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // no id cancels nothing
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[string(p.ID)]; cancel != nil {
		cancel()
	}
}

func (s *session) answered(m message) {
	s.mu.Lock()
	wait := s.pending[string(m.ID)]
	delete(s.pending, string(m.ID))
	s.mu.Unlock()
	if wait != nil {
		wait <- m
	}
}

// exchange answers a request on its own stream.
func (s *session) exchange(w http.ResponseWriter, r *http.Request, m *message) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.mu.Lock()
	if s.running[string(m.ID)] != nil || len(s.running) >= 16 {
		s.mu.Unlock()
		http.Error(w, "an id that is in use, or too many calls at one time", http.StatusTooManyRequests)
		return
	}
	s.running[string(m.ID)] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.running, string(m.ID))
		s.mu.Unlock()
	}()
	x := &stream{session: s, w: w}
	answer := message{Version: "2.0", ID: m.ID}
	result, failed := s.request(ctx, x, m.Method, m.Params)
	if answer.Error = failed; failed == nil {
		raw, err := json.Marshal(result)
		if answer.Result = raw; err != nil {
			answer.Error = &jsonrpc.Error{Code: jsonrpc.Internal, Message: err.Error()}
		}
	}
	x.finish(answer)
}

// stream is the answer to one request, and the way back to the client meanwhile.
type stream struct {
	*session
	w http.ResponseWriter

	mu    sync.Mutex
	begun bool
}

// send writes an event, the first one after the headers of a stream.
func (x *stream) send(m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun {
		x.begun = true
		x.w.Header().Set("Content-Type", "text/event-stream")
		x.w.Header().Set("Cache-Control", "no-store")
	}
	if _, err := x.w.Write([]byte("data: " + string(data) + "\n\n")); err != nil {
		return err
	}
	return http.NewResponseController(x.w).Flush()
}

// finish writes the answer: as JSON where nothing came before it.
func (x *stream) finish(m message) {
	x.mu.Lock()
	begun := x.begun
	x.mu.Unlock()
	if begun {
		_ = x.send(m) // a client that is gone needs no answer
		return
	}
	x.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(x.w).Encode(m)
}

// Notify sends a notification to the client.
func (x *stream) Notify(_ context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return x.send(message{Version: "2.0", Method: method, Params: raw})
}

// Call asks the client, and waits for the answer, which comes with its own request.
func (x *stream) Call(ctx context.Context, method string, params, result any, _ func(jsonrpc.Progress)) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	wait := make(chan message, 1)
	s := x.session
	s.mu.Lock()
	s.next++
	id := strconv.FormatInt(s.next, 10)
	s.pending[id] = wait
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.pending, id)
		s.mu.Unlock()
	}()
	if err := x.send(message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case m := <-wait:
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Listen serves clients at an address of this machine until ctx ends. Ready gets the address.
func (h *HTTP) Listen(ctx context.Context, address string, ready func(url string)) error {
	if !onLoopback(address) {
		return errors.New("lathe serves programs on this machine only: give an address of it, such as 127.0.0.1:8765; " +
			"from elsewhere, use a tunnel (ssh -L)")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	ready("http://" + l.Addr().String() + "/mcp")
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
