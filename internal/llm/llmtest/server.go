// Package llmtest is a scripted model behind a real HTTP server: it implements the wire protocols of the
// model providers, answers from a [Script], injects the script's faults, refuses invalid requests like a real
// provider, and records every request. lathe demo runs on it, and so do all tests: no test fakes the network
// beneath a provider.
//
//	srv := llmtest.New(llmtest.Replies(
//		llmtest.Say(llmtest.Text("Let me look."), llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.go"})),
//		llmtest.Say(llmtest.Text("It is fine.")),
//	), llmtest.Options{})
//	if err := srv.Start("127.0.0.1:0"); err != nil { ... }
//	defer srv.Close()
//	// point a client at srv.URL()
//
// A reply is chosen by the number of assistant messages in the request, so a retry gets the same reply.
// Terms: a reply has parts; a fault spoils a response; a shape is an irregularity that clients must handle; a
// wire is one provider's protocol. docs/wire-server.md describes the script's format.
//
// Promises: safe for concurrent use; Close ends every response and goroutine; keys in headers are not
// recorded; strict mode, the default, refuses requests that Anthropic and OpenAI are known to refuse
// (orphaned calls and results, empty blocks, more than four cache marks, ...) in their own form.
//
// The conformance suite for providers is the subpackage suite, which imports testing; this package does not,
// because the product links it.
package llmtest

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options configure a server.
type Options struct {
	Lenient bool              // accept requests that a real provider would refuse
	Key     string            // the only accepted key; "" accepts any, but requires one
	NoKey   bool              // accept requests without a key, like local servers
	Vars    map[string]string // values for ${NAME} in scripts, WORKDIR among them (default: the current folder)
	Record  string            // a folder for requests.jsonl and bodies/NNNN.json; "": none
	TLS     *tls.Config       // serve HTTPS
	// ReasoningBack makes the Chat Completions wire refuse a tool loop without the reasoning it sent, like
	// DeepSeek.
	ReasoningBack bool
	MaxBody       int64 // bytes of a request; 0: 32 MB, Anthropic's limit
	SocketStatus  int   // refuse a WebSocket with this HTTP status; 0: the Responses API takes them, negative: no answer
	// Arrived is called with each HTTP request before it is answered, and says whether its body is kept for Requests:
	// the bodies of a long session fill the memory.
	Arrived func(Request) (keep bool)
}

// Server is a scripted model. New makes one.
type Server struct {
	opts   Options
	script *Script
	wires  []wire
	http   *http.Server
	url    string
	log    *log
	stop   context.CancelFunc
	serves chan error
	active sync.WaitGroup

	mu      sync.Mutex
	conns   int
	struck  map[*Fault]int
	arrived int               // replies delivered completely, for Order "arrival"
	thought map[string]string // id of an issued call -> the reasoning before it
	signed  map[string]string // id of an issued call -> its signature

	sockets                  map[*socket]bool
	handshakes, pings, pongs int
}

// wire is one provider's protocol.
type wire interface {
	// about is a short name ("anthropic", "chat") and the prefix of call ids.
	about() (name, ids string)
	// handles reports whether the path belongs to the wire, and whether it only counts tokens.
	handles(path string) (ok, count bool)
	// key returns the key from the headers.
	key(h http.Header) string
	// read decodes a request. In strict mode it refuses invalid ones like the provider.
	read(s *Server, r *http.Request, body []byte) (*call, *refusal)
	// stream builds the events of an answer, whole the single object.
	stream(a *answer) *stream
	whole(a *answer) []byte
	// failure returns an error body with the request's id, or, without one, the error event of a 200 stream,
	// whose name may be empty.
	failure(f *refusal, request string) (event string, body map[string]any)
}

// refusal is an error response: kind is the provider's error type, "" for the default of the status.
type refusal struct {
	status  int
	kind    string
	message string
	param   string
	code    string // beside the kind, where the wire has both
}

func refuse(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// first runs checks up to the first that refuses.
func first(checks ...func() *refusal) *refusal {
	for _, check := range checks {
		if bad := check(); bad != nil {
			return bad
		}
	}
	return nil
}

// answer is a reply to encode.
type answer struct {
	call   *call
	reply  *Reply
	blocks []block
	shape  map[string]bool
	id     string // without a prefix
	chunk  int
}

// New makes a server for a script; Start checks the script and begins to serve.
func New(script *Script, opts Options) *Server {
	if opts.MaxBody == 0 {
		opts.MaxBody = 32 << 20
	}
	return &Server{
		opts: opts, script: script, wires: []wire{anthropicWire{}, chatWire{}, responsesWire{}, googleWire{}, converseWire{}},
		struck: map[*Fault]int{}, thought: map[string]string{}, signed: map[string]string{}, sockets: map[*socket]bool{},
	}
}

// Start listens on addr ("127.0.0.1:0" for any free port) and serves until Close.
func (s *Server) Start(addr string) error {
	if err := s.script.Check(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("wire server: %w", err)
	}
	if s.log, err = newLog(s.opts.Record); err != nil {
		return errors.Join(err, l.Close())
	}
	s.url = "http://" + l.Addr().String()
	if s.opts.TLS != nil {
		s.url = "https://" + l.Addr().String()
		l = tls.NewListener(l, s.opts.TLS)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.serves = stop, make(chan error, 1)
	s.http = &http.Server{
		Handler: s, ErrorLog: stdlog.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: s.numbered,
	}
	go func() { s.serves <- s.http.Serve(l) }()
	return nil
}

// URL returns the server's base address, without a path.
func (s *Server) URL() string { return s.url }

// Close cuts every response, stops the server and waits for its goroutines. It returns the errors of serving
// and recording.
func (s *Server) Close() error {
	if s.http == nil {
		return nil
	}
	s.stop()
	err := s.http.Close()
	if serr := <-s.serves; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	s.active.Wait()
	s.http = nil
	return errors.Join(err, s.log.close())
}

// Requests returns the requests so far, in order of arrival. The bodies are shared; do not change them.
func (s *Server) Requests() []Request { return s.log.snapshot() }

// Wait blocks until n requests have arrived.
func (s *Server) Wait(ctx context.Context, n int) error {
	return s.log.wait(ctx, func(rs []*Request) bool { return len(rs) >= n })
}

// WaitEnded blocks until n requests have been answered completely, cut, or abandoned by the client.
func (s *Server) WaitEnded(ctx context.Context, n int) error {
	return s.log.wait(ctx, func(rs []*Request) bool {
		ended := 0
		for _, r := range rs {
			if !r.Ended.IsZero() {
				ended++
			}
		}
		return ended >= n
	})
}

type connKey struct{}

func (s *Server) numbered(ctx context.Context, _ net.Conn) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns++
	return context.WithValue(ctx, connKey{}, s.conns)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	if ok, _ := (responsesWire{}).handles(r.URL.Path); ok && isSocket(r) {
		s.serveSocket(w, r)
		return
	}
	body, rerr := s.readBody(r)
	conn, _ := r.Context().Value(connKey{}).(int)
	rec := &Request{
		Time: time.Now(), Conn: conn, Method: r.Method, Path: r.URL.RequestURI(),
		Header: withoutSecrets(r.Header), Body: body, Bytes: len(body), Reply: -3,
	}
	s.log.begin(rec)
	if s.opts.Arrived != nil && !s.opts.Arrived(*rec) {
		s.log.update(func() { rec.Body = nil })
	}
	p := s.answerTo(r, body, rerr, rec)
	begun, sent, gone := p.play(w, r)
	s.log.end(rec, func() {
		rec.Sent, rec.Gone, rec.Fault = sent, gone, p.fault
		if begun {
			rec.Status = p.status
		}
	})
	if gone || p.end != "" {
		hangUp(w, p.end) // returning normally would end the response as if it were complete
	}
}

func (s *Server) readBody(r *http.Request) ([]byte, error) {
	var src io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, err
		}
		src = z
	}
	return io.ReadAll(io.LimitReader(src, s.opts.MaxBody+1))
}

// answerTo chooses the response.
func (s *Server) answerTo(r *http.Request, body []byte, rerr error, rec *Request) *performance {
	w, count := s.route(r)
	if w == nil {
		return s.outside(r)
	}
	return s.answerBy(w, count, r, body, rerr, rec)
}

// answerBy chooses the response of a wire.
func (s *Server) answerBy(w wire, count bool, r *http.Request, body []byte, rerr error, rec *Request) *performance {
	fail := func(f *refusal) *performance {
		s.log.update(func() { rec.Refused = f.message })
		return failed(w, f, rec.N)
	}
	switch key := w.key(r.Header); {
	case rerr != nil:
		return fail(refuse("the body cannot be read: %v", rerr))
	case int64(len(body)) > s.opts.MaxBody:
		return fail(&refusal{status: http.StatusRequestEntityTooLarge, message: "Request exceeds the maximum size"})
	case key == "" && !s.opts.NoKey:
		return fail(&refusal{status: http.StatusUnauthorized, message: "the API key is missing: it is required"})
	case key != "" && s.opts.Key != "" && key != s.opts.Key:
		return fail(&refusal{status: http.StatusUnauthorized, message: "invalid API key"})
	}
	c, bad := w.read(s, r, body)
	if bad != nil {
		return fail(bad)
	}
	name, _ := w.about()
	s.log.update(func() {
		rec.Wire, rec.Model, rec.Stream, rec.Tools, rec.Turn = name, c.model, c.stream, len(c.tools), c.turn
	})
	if count {
		return &performance{
			status: http.StatusOK, header: jsonHeader(rec.N),
			body: marshal(map[string]any{"input_tokens": tokens(c.size)}),
		}
	}
	return s.perform(w, c, rec, fail)
}

func (s *Server) route(r *http.Request) (w wire, count bool) {
	if r.Method != http.MethodPost {
		return nil, false
	}
	for _, w := range s.wires {
		if ok, count := w.handles(r.URL.Path); ok {
			return w, count
		}
	}
	return nil, false
}

// outside answers requests that are not for a reply: the list of models, a health check, anything else.
func (s *Server) outside(r *http.Request) *performance {
	p := &performance{status: http.StatusOK, header: map[string]string{"Content-Type": "application/json"}}
	path := strings.TrimSuffix(r.URL.Path, "/")
	_, id, one := strings.Cut(path, "/models/")
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		p.body = s.models()
	case r.Method == http.MethodGet && one:
		p.body = marshal(modelObject(id))
	case path == "" || path == "/health":
		p.body = []byte(`{"ok":true}`)
	default:
		p.status = http.StatusNotFound
		p.body = marshal(map[string]any{"type": "error", "error": map[string]any{
			"type": "not_found_error", "message": r.Method + " " + r.URL.Path + " is not here",
		}})
	}
	return p
}

func (s *Server) models() []byte {
	ids := s.script.Models
	if len(ids) == 0 {
		ids = []string{"claude-sonnet-4-5", "gpt-5.1", "scripted"}
	}
	data := make([]any, len(ids))
	for i, id := range ids {
		data[i] = modelObject(id)
	}
	return marshal(map[string]any{
		"object": "list", "data": data, "has_more": false, "first_id": ids[0], "last_id": ids[len(ids)-1],
	})
}

// modelObject has the fields of both providers.
func modelObject(id string) map[string]any {
	return map[string]any{
		"id": id, "object": "model", "type": "model", "display_name": id, "owned_by": "llmtest",
		"created": 1700000000, "created_at": "2025-01-01T00:00:00Z",
	}
}
