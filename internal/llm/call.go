package llm

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Default limits of Caller.
const (
	DefaultStallTimeout   = 60 * time.Second
	DefaultContentTimeout = 5 * time.Minute
	DefaultHeaderTimeout  = 2 * time.Minute
)

// Caller sends single requests to one provider and watches over the replies. Its errors are *Error or the
// context's own.
type Caller struct {
	Provider string       // for errors
	KeyVar   string       // where the key comes from, for hints: "ANTHROPIC_API_KEY"
	URLVar   string       // where the base URL comes from, for hints: "ANTHROPIC_BASE_URL"
	HTTP     *http.Client // nil means one with the zero HTTPOptions
	Clock    Clock        // nil means SystemClock
	Prepare  Prepare      // runs before each attempt; nil leaves requests unchanged

	// StallTimeout is the longest gap without a byte in a reply (comments and pings count); 0 means 60 s,
	// negative no limit. Time spent by the consumer of deltas does not count.
	StallTimeout time.Duration
	// ContentTimeout is the longest time without content: pings, comments and empty deltas do not count. 0 means 5 min,
	// negative no limit.
	ContentTimeout time.Duration
	// HeaderTimeout limits the wait for the response headers, counted from the start of sending. It is
	// longer, because some servers read the whole prompt before they answer; 0 means 2 min, negative no
	// limit.
	HeaderTimeout time.Duration
}

// Reply is a response with status 2xx. Read its Events, then Close it.
type Reply struct {
	Framing   Framing
	RequestID string

	body   io.Reader // plain (decompressed), guarded by the stall watchdog
	raw    io.ReadCloser
	guard  *stallGuard
	cancel context.CancelCauseFunc
	call   *Caller
	where  *where
	clock  Clock
}

// where describes a request for its errors.
type where struct {
	provider, keyVar, urlVar, model string
	url                             *url.URL
	secrets                         []string
}

// errStall is the cause of a context that a watchdog cancelled.
var errStall = errors.New("no bytes")

// send sends one prepared attempt and returns the reply after its headers and first byte. Statuses other than
// 2xx, empty bodies and HTML are errors. Response compression is undone.
func (c *Caller) send(ctx context.Context, o *Outgoing) (*Reply, error) {
	w := &where{provider: c.Provider, keyVar: c.KeyVar, urlVar: c.URLVar, model: o.Model, secrets: secretsOf(o.Header)}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, w.fail(KindInvalid, "the base URL is not an http(s) URL", "correct "+w.urlVar)
	}
	w.url = u
	if err := w.checkHeader(o.Header); err != nil {
		return nil, err
	}
	reqCtx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(reqCtx, http.MethodPost, o.URL, nil)
	if err != nil {
		cancel(nil)
		return nil, w.fail(KindInvalid, Clean(err.Error()), "correct "+w.urlVar)
	}
	req.Header = o.Header
	o.Body.Attach(req)
	resp, err := c.do(req, o.Over, cancel)
	if err != nil {
		defer cancel(nil)
		return nil, c.sendError(ctx, reqCtx, w, err)
	}
	r := c.reply(resp, w, cancel)
	if err := r.begin(ctx, resp); err != nil {
		if e := AsError(err); e != nil && e.Status != 0 {
			r.Close() // a regular refusal: the connection can be reused
		} else {
			r.Abort()
		}
		return nil, err
	}
	return r, nil
}

// do waits for the response headers, at most HeaderTimeout.
func (c *Caller) do(
	req *http.Request, over func(*http.Client, *http.Request) (*http.Response, error), cancel context.CancelCauseFunc,
) (*http.Response, error) {
	client := c.HTTP
	if client == nil {
		client = defaultClient()
	}
	if d := orDefault(c.HeaderTimeout, DefaultHeaderTimeout); d > 0 {
		t := c.clock().AfterFunc(d, func() { cancel(errStall) })
		defer t.Stop()
	}
	if over != nil {
		return over(client, req)
	}
	return client.Do(req)
}

// Stalled reports whether a watchdog of a Caller cancelled the context of a request.
func Stalled(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStall) }

func (c *Caller) clock() Clock {
	if c.Clock == nil {
		return SystemClock
	}
	return c.Clock
}

func (c *Caller) sendError(ctx, reqCtx context.Context, w *where, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(context.Cause(reqCtx), errStall) {
		e := w.stall("no answer for %s", orDefault(c.HeaderTimeout, DefaultHeaderTimeout))
		e.Hint, e.once = "check the network; stream.headerTimeoutMs gives a slow host more time", true
		return e
	}
	if e := AsError(err); e != nil { // the transport's error is more precise than its text
		e.Provider = c.Provider
		return e
	}
	return w.network(err)
}

func (c *Caller) reply(resp *http.Response, w *where, cancel context.CancelCauseFunc) *Reply {
	r := &Reply{raw: resp.Body, cancel: cancel, call: c, where: w, clock: c.clock()}
	r.RequestID = firstHeader(resp.Header, "request-id", "x-request-id")
	r.guard = &stallGuard{
		src: resp.Body, clock: r.clock, limit: orDefault(c.StallTimeout, DefaultStallTimeout),
		content: orDefault(c.ContentTimeout, DefaultContentTimeout),
	}
	r.guard.left = r.guard.content
	if d := r.guard.next(); d > 0 {
		r.guard.timer = r.clock.AfterFunc(d, func() {
			r.guard.stalled.Store(true)
			cancel(errStall)
		})
		r.guard.timer.Stop()
	}
	return r
}

// begin checks the status and the first bytes.
func (r *Reply) begin(ctx context.Context, resp *http.Response) error {
	plain, err := decompress(r.guard, resp.Header.Get("Content-Encoding"))
	if unknown, ok := errors.AsType[*encodingError](err); ok {
		return r.where.fail(KindProtocol, unknown.Error(), "check any proxy between lathe and "+r.where.url.Host)
	}
	if err != nil {
		return r.Failed(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(plain, 64<<10))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return r.where.status(resp.StatusCode, resp.Header, text)
	}
	buf := bufio.NewReaderSize(plain, 4<<10)
	r.body = buf
	contentType := resp.Header.Get("Content-Type")
	first, err := firstByte(buf, strings.HasPrefix(contentType, awsStreamType))
	r.Framing = framingOf(contentType, first)
	switch {
	case errors.Is(err, io.EOF):
		return r.retryable(KindNetwork, "the reply was empty")
	case err != nil:
		return r.Failed(ctx, err)
	case first == '<' && r.Framing == FramingSSE:
		head, _ := buf.Peek(min(buf.Buffered(), 200))
		return r.retryable(KindProtocol, "the reply is a web page, not a model's answer: "+Clean(string(head)))
	}
	return nil
}

func (r *Reply) retryable(kind ErrorKind, msg string) *Error {
	e := r.where.fail(kind, msg, "check "+r.where.urlVar+" and any proxy between")
	e.Retryable, e.RequestID = true, Clean(r.RequestID)
	return e
}

// firstByte peeks at the first byte of the body; for text, at the first that is not white space.
func firstByte(b *bufio.Reader, binary bool) (byte, error) {
	for {
		c, err := b.ReadByte()
		if err != nil {
			return 0, err
		}
		if binary || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, b.UnreadByte()
		}
	}
}

// Failed turns an error from reading Events into an *Error (a stall, a cut, a reset; all retryable) or the
// context's error. io.EOF means that the stream ended before its terminal event.
func (r *Reply) Failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.guard.stalled.Load() {
		if r.guard.empty() {
			e := r.where.stall("the reply has no content for %s", r.guard.content)
			e.once = true
			return e
		}
		return r.where.stall("the reply stopped: no bytes for %s", r.guard.limit)
	}
	if large, ok := errors.AsType[*EventTooLargeError](err); ok {
		return r.where.fail(KindProtocol, large.Error(), "check "+r.where.urlVar)
	}
	if bad, ok := errors.AsType[*FramingError](err); ok {
		return r.retryable(KindProtocol, bad.Error())
	}
	if told, ok := errors.AsType[*AWSException](err); ok {
		return r.Reported(told.Type, told.Message)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e := r.retryable(KindNetwork, "the reply ended before it was complete")
		e.Err = io.ErrUnexpectedEOF
		return e
	}
	return r.where.network(err)
}

// Broken returns the error for a reply that cannot be decoded; it is retryable. what names the part, and
// sample is the foreign text in question.
func (r *Reply) Broken(what string, sample []byte) *Error {
	const most = 200
	if len(sample) > most {
		sample = sample[:most]
	}
	return r.retryable(KindProtocol, r.where.clean(what+": "+string(sample)))
}

// Reported returns the error for an error object inside the reply: its type or code, and its message.
func (r *Reply) Reported(code, message string) *Error {
	e := r.where.reported(code, message)
	e.RequestID = Clean(r.RequestID)
	return e
}

// Close ends the reply. It drains the rest for at most 50 ms, to reuse the connection for the next step; if
// the server does not end its reply in time, draining continues in the background for up to 5 s.
func (r *Reply) Close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.cancel(nil)
		t := r.clock.AfterFunc(5*time.Second, func() { r.cancel(nil) })
		defer t.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(r.raw, 256<<10))
		_ = r.raw.Close()
	}()
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Abort ends the reply and its connection immediately (for HTTP/2, only the stream).
func (r *Reply) Abort() {
	r.cancel(nil)
	_ = r.raw.Close()
}

// stallGuard cancels the request when a Read receives nothing for too long, or all of them only pings. A limit of
// 0 or less is none.
type stallGuard struct {
	src     io.Reader
	clock   Clock
	limit   time.Duration // of one Read
	content time.Duration // of all Reads since the last content
	left    time.Duration // of content
	timer   Timer         // nil without a limit
	stalled atomic.Bool
}

// next is how long the next Read may take; 0 without a limit.
func (g *stallGuard) next() time.Duration {
	if g.content > 0 && (g.limit <= 0 || g.left < g.limit) {
		return max(g.left, 1)
	}
	return max(g.limit, 0)
}

// empty reports that the time without content is over.
func (g *stallGuard) empty() bool { return g.content > 0 && g.left <= 0 }

// took notes content.
func (g *stallGuard) took(d Delta) {
	switch d := d.(type) {
	case TextDelta:
		if d.Text == "" {
			return
		}
	case ReasoningDelta:
		if d.Text == "" && d.Signature == "" {
			return
		}
	case ToolDelta:
		if d.JSON == "" && d.Name == "" {
			return
		}
	}
	g.left = g.content
}

func (g *stallGuard) Read(p []byte) (int, error) {
	if g.timer == nil {
		return g.src.Read(p)
	}
	began := g.clock.Now()
	g.timer.Reset(g.next())
	n, err := g.src.Read(p)
	g.timer.Stop()
	g.left -= g.clock.Now().Sub(began)
	return n, err
}

func decompress(r io.Reader, encoding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "deflate":
		return zlib.NewReader(r)
	}
	return nil, &encodingError{encoding}
}

type encodingError struct{ name string }

func (e *encodingError) Error() string {
	return "the reply is compressed as " + Clean(e.name) + ", which was not asked for"
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

func firstHeader(h http.Header, names ...string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}
