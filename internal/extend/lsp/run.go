package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/base/usage"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// run is one process of a server.
type run struct {
	s     *server
	conn  *jsonrpc.Conn
	proc  *sandbox.Piped
	log   *Log
	done  func()
	caps  capabilities
	enc   Encoding
	ready chan struct{} // closed when it is ready or failed; err says which
	err   error
	over  chan struct{} // closed when the process is gone

	outdated atomic.Bool // files may have changed on disk
	scanning sync.Mutex  // of disk
	disk     map[string]stamp

	syncing sync.Mutex // held while a document is changed: notifications go in the order of versions

	mu        sync.Mutex
	docs      map[string]*document
	diags     map[string]*fileDiagnostics
	changes   int                          // counts news
	news      chan struct{}                // closed and replaced at each
	progress  map[string]work              // work that goes on, by token
	warmed    bool                         // it has reported on a document
	watches   bool                         // it wants to hear of changes on disk
	reloads   bool                         // it heard of one, and has published nothing since
	pulls     map[string]diagnosticOptions // registered providers of diagnostics, by id
	used      time.Time
	load      usage.Load // of the goroutine that attends
	stopCause error
	stopped   chan struct{}
	stopOnce  sync.Once
}

type diagnosticOptions struct {
	InterFile  bool   `json:"interFileDependencies"`
	Identifier string `json:"identifier,omitempty"`
}

func newRun(s *server) *run {
	return &run{
		s: s, log: &Log{}, ready: make(chan struct{}), over: make(chan struct{}), stopped: make(chan struct{}),
		news: make(chan struct{}), used: time.Now(),
		docs: map[string]*document{}, diags: map[string]*fileDiagnostics{}, progress: map[string]work{},
		pulls: map[string]diagnosticOptions{},
	}
}

// begin starts the process and initializes it.
func (r *run) begin() error {
	d := r.s.def
	ctx, cancel := context.WithTimeout(r.s.p.life, ms(r.s.p.o.Settings().StartMs))
	defer cancel()
	p, done, err := r.s.p.o.Launch(r.s.p.life, r.s.argv, r.s.root, d.Env, r.log)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.proc, r.done = p, done
	r.mu.Unlock()
	r.conn = jsonrpc.New(newFrames(p.Out, p.In, func() error { p.Shut(shutGrace); return nil }), jsonrpc.Handler{
		Request: r.request, Notify: r.notified,
		Cancel: func(n int64) (string, any) { return "$/cancelRequest", object{"id": n} },
	})
	params := object{
		"processId": nil, "clientInfo": object{"name": "lathe", "version": r.s.p.o.Version}, "rootUri": uriOf(r.s.root),
		"rootPath":         r.s.root,
		"workspaceFolders": []object{{"uri": uriOf(r.s.root), "name": filepath.Base(r.s.root)}},
		"capabilities":     clientCapabilities(),
	}
	if len(d.Init) > 0 {
		params["initializationOptions"] = d.Init
	}
	var answer struct {
		Capabilities capabilities `json:"capabilities"`
	}
	if err := r.conn.Call(ctx, "initialize", params, &answer, nil); err != nil {
		return r.explain("it did not start", err)
	}
	r.caps = answer.Capabilities
	switch r.enc = r.caps.PositionEncoding; r.enc {
	case UTF8, UTF16, UTF32:
	case "":
		r.enc = UTF16
	default:
		return fmt.Errorf("it counts characters as %.20q, which lathe does not know", r.enc)
	}
	if err := r.conn.Notify(ctx, "initialized", object{}); err != nil {
		return r.explain("it did not start", err)
	}
	var settings any = object{}
	if len(d.Settings) > 0 {
		settings = d.Settings
	}
	// pyright reads nothing before it
	_ = r.conn.Notify(ctx, "workspace/didChangeConfiguration", object{"settings": settings})
	return nil
}

// explain adds the exit code and the last line that the server printed.
func (r *run) explain(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it took too long (setting lsp.startMs)")
	}
	text := what + ": " + err.Error()
	select {
	case <-r.proc.Done():
		text = fmt.Sprintf("%s: it ended with exit code %d", what, r.proc.Wait().Code)
	case <-time.After(50 * time.Millisecond):
	}
	if last := r.log.Last(); last != "" {
		text += ": " + last
	}
	return errors.New(text)
}

// attend waits for the end of the process and watches its use and its memory meanwhile. nil: it was ended in order.
func (r *run) attend() error {
	tick := time.NewTicker(cmp.Or(r.s.p.o.Every, watchEvery))
	defer tick.Stop()
	for {
		select {
		case <-r.stopped:
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.stopCause
		case <-r.conn.Done():
			select {
			case <-r.stopped:
				continue
			default:
			}
			return r.explain("it ended", r.conn.Err())
		case <-tick.C:
			r.watch()
		}
	}
}

// stop asks for the end; cause nil: in order.
func (r *run) stop(cause error) {
	r.stopOnce.Do(func() {
		r.mu.Lock()
		r.stopCause = cause
		p := r.proc
		r.mu.Unlock()
		close(r.stopped)
		if p != nil && !r.isReady() {
			p.End()
		}
	})
}

// end ends the process; a server gets the chance to end by itself.
func (r *run) end() {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutGrace)
		if r.conn.Err() == nil && r.s.p.life.Err() == nil {
			if r.conn.Call(ctx, "shutdown", nil, nil, nil) == nil {
				_ = r.conn.Notify(ctx, "exit", nil)
			}
		}
		cancel()
		_ = r.conn.Close()
	} else if r.proc != nil {
		r.proc.Shut(0)
	}
	if r.done != nil {
		r.done()
	}
	close(r.over)
}

func (r *run) waitEnd() { <-r.over }

// gone reports whether the process has ended or did not start.
func (r *run) gone() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// mark makes waiters go on.
func (r *run) mark(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ready:
		if r.err == nil {
			r.err = err
		}
	default:
		r.err = err
		close(r.ready)
	}
	r.announce()
}

// announce wakes those who wait for news. r.mu is held.
func (r *run) announce() {
	r.changes++
	close(r.news)
	r.news = make(chan struct{})
}

func (r *run) isReady() bool {
	select {
	case <-r.ready:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.err == nil
	default:
		return false
	}
}

// wait waits until the process is ready.
func (r *run) wait(ctx context.Context) error {
	select {
	case <-r.ready:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *run) use() {
	r.mu.Lock()
	r.used = time.Now()
	r.mu.Unlock()
}

// call sends a request with the time limit of the settings.
func (r *run) call(ctx context.Context, method string, params, result any) error {
	r.use()
	limit := r.s.p.o.Settings().RequestMs
	ctx, cancel := context.WithTimeoutCause(ctx, ms(limit),
		fmt.Errorf("the language server %s did not answer within %v (setting lsp.requestMs)", r.s.name(), ms(limit)))
	defer cancel()
	return r.conn.Call(ctx, method, params, result, nil)
}

// request answers a request of the server.
func (r *run) request(_ context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	switch method {
	case "workspace/configuration":
		return r.configuration(params), nil
	case "client/registerCapability", "client/unregisterCapability":
		r.register(params)
		return nil, nil
	case "workspace/workspaceFolders":
		return []object{{"uri": uriOf(r.s.root), "name": filepath.Base(r.s.root)}}, nil
	case "workspace/diagnostic/refresh":
		r.mu.Lock()
		r.announce()
		r.mu.Unlock()
		return nil, nil
	case "window/workDoneProgress/create", "window/showMessageRequest", "workspace/semanticTokens/refresh",
		"workspace/inlayHint/refresh",
		"workspace/codeLens/refresh", "workspace/inlineValue/refresh", "workspace/foldingRange/refresh":
		return nil, nil
	case "workspace/applyEdit":
		return object{"applied": false, "failureReason": "edits are applied by the tool LSP only"}, nil
	case "window/showDocument":
		return object{"success": false}, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.NoMethod, Message: "lathe does not serve " + method}
}

// configuration answers with the settings of the definition, one value per asked section.
func (r *run) configuration(params json.RawMessage) []any {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	_ = json.Unmarshal(params, &p)
	out := make([]any, min(len(p.Items), 1000))
	for i := range out {
		if v := section(r.s.def.Settings, p.Items[i].Section); v != nil {
			out[i] = v
		}
	}
	return out
}

// section is the value at a dotted path, or nil.
func section(settings json.RawMessage, path string) json.RawMessage {
	if len(settings) == 0 || path == "" {
		return settings
	}
	for name := range bytes.SplitSeq([]byte(path), []byte(".")) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(settings, &fields) != nil {
			return nil
		}
		if settings = fields[string(name)]; settings == nil {
			return nil
		}
	}
	return settings
}

// register notes capabilities that the server adds or takes back.
func (r *run) register(params json.RawMessage) {
	type registration struct {
		ID      string          `json:"id"`
		Method  string          `json:"method"`
		Options json.RawMessage `json:"registerOptions"`
	}
	var p struct {
		Add    []registration `json:"registrations"`
		Remove []registration `json:"unregisterations"` // spelled so in the protocol
	}
	_ = json.Unmarshal(params, &p)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range p.Add {
		switch x.Method {
		case "textDocument/diagnostic":
			var o diagnosticOptions
			_ = json.Unmarshal(x.Options, &o)
			if len(r.pulls) < 16 {
				r.pulls[x.ID] = o
			}
		case "workspace/didChangeWatchedFiles":
			r.watches = true
		}
	}
	for _, x := range p.Remove {
		delete(r.pulls, x.ID)
	}
}

// notified takes a notification of the server. It must not block.
func (r *run) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		r.published(params)
	case "$/progress":
		r.progressed(params)
	}
}

func (r *run) progressed(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind    string `json:"kind"`
			Title   string `json:"title"`
			Message string `json:"message"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch p.Value.Kind {
	case "begin":
		if len(r.progress) < 100 {
			r.progress[string(p.Token)] = work{short(p.Value.Title + " " + p.Value.Message), time.Now()}
		}
	case "end":
		delete(r.progress, string(p.Token))
		r.announce()
	}
}

// short is one line of a server's text.
func short(s string) string {
	if len(s) > 1000 {
		s = strings.ToValidUTF8(s[:1000], "")
	}
	return strings.Join(strings.Fields(s), " ")
}

// work is a report of progress, in the server's words.
type work struct {
	text  string
	since time.Time
}

// longWork is the age from which work does not count as indexing: some servers show a problem as work without an end.
const longWork = time.Minute

// working reports whether the server reads or indexes its project, and how it calls that. r.mu is held.
func (r *run) working() (text string, ok bool) {
	for _, w := range r.progress {
		text, ok = w.text, ok || time.Since(w.since) < longWork
	}
	return text, ok
}

// settle waits until the server does not report work any more, at most until ctx ends.
func (r *run) settle(ctx context.Context) {
	for {
		r.mu.Lock()
		_, busy := r.working()
		news := r.news
		r.mu.Unlock()
		if !busy {
			return
		}
		select {
		case <-news:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		case <-r.over:
			return
		}
	}
}
