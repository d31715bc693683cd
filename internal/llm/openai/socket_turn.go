package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"github.com/lathe-dev/lathe/internal/llm"
)

// socketTurn sends one request, in all its attempts: over a WebSocket, and after a connection that broke off over HTTP.
type socketTurn struct {
	m     *model
	q     *responsesRequest
	http  bool
	reply *socketReply // of the latest attempt over a WebSocket
}

// socketTurn returns nil for a request that goes over HTTP. One without tools is no step of a conversation: nothing
// follows it.
func (m *model) socketTurn(req *llm.Request, q *responsesRequest) *socketTurn {
	if m.p.sockets == nil || len(req.Tools) == 0 || len(q.items) == 0 {
		return nil
	}
	return &socketTurn{m: m, q: q}
}

// message is the request as a message: everything, or what is new since a response.
func (q *responsesRequest) message(previous string, items [][]byte) []byte {
	b := &llm.Body{}
	b.AppendString(`{"type":"response.create",`)
	b.Append(q.model)
	if previous != "" {
		b.Append(llm.AppendQuoted([]byte(`,"previous_response_id":`), previous))
	}
	q.appendRest(b, items)
	return b.Bytes()
}

// send is llm.Outgoing.Over.
func (t *socketTurn) send(client *http.Client, req *http.Request) (*http.Response, error) {
	if t.http {
		return client.Do(req)
	}
	r := &socketReply{turn: t, client: client, req: req, ctx: req.Context()}
	first, err := r.next()
	for err == nil && len(first) == 0 { // a sign of life
		first, err = r.next()
	}
	switch {
	case err == nil:
	case r.ctx.Err() != nil:
		_ = r.Close()
		return nil, r.ctx.Err()
	case overHTTP(err):
		_ = r.Close()
		return client.Do(req)
	default:
		_ = r.Close()
		return nil, fmt.Errorf("the WebSocket broke off: %w", err)
	}
	if e := eventOf(first); e.Type == "error" && e.status() >= 400 {
		defer func() { _ = r.Close() }()
		return e.response(req, first, r.conn.id), nil
	}
	r.add(first)
	t.reply = r
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, Body: r,
		ContentLength: -1,
		Header:        http.Header{"Content-Type": {"text/event-stream"}, "X-Request-Id": {r.conn.id}},
	}, nil
}

// overHTTP reports failures that say that HTTP is to be used for a request: no connection, or one that the server
// closed because it does not take the message (RFC 6455, 7.4.1), as it is too big.
func overHTTP(err error) bool {
	switch websocket.CloseStatus(err) {
	case websocket.StatusProtocolError, websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData,
		websocket.StatusPolicyViolation, websocket.StatusMessageTooBig:
		return true
	}
	return errors.Is(err, errNoSocket)
}

// socketReply is the body of a reply: its events as server-sent ones.
type socketReply struct {
	turn   *socketTurn
	client *http.Client
	req    *http.Request
	ctx    context.Context

	conn  *socketConn
	buf   []byte       // of the event that is being read
	began bool         // something of the reply itself came
	again bool         // it was asked for again
	ended bool         // its last event came
	broke bool         // the connection did
	chain *socketChain // what the server has after it
}

// next returns the next event. What goes wrong before anything of the reply came, because of what the connection was
// used for before, is asked again, once, with the whole input on a new connection.
func (r *socketReply) next() ([]byte, error) {
	var event []byte
	var err error
	if r.conn == nil {
		err = r.ask(false)
	}
	for {
		if err == nil {
			event, err = r.conn.receive(r.ctx)
		}
		if r.began || r.ctx.Err() != nil || errors.Is(err, errNoSocket) || !r.stale(event, err) {
			break
		}
		if r.again {
			err = errNoSocket // a new connection did not help
			break
		}
		r.again = true
		r.turn.m.p.sockets.drop(r.conn, false)
		r.conn = nil
		err = r.ask(true)
	}
	if err != nil {
		r.broke = r.conn != nil && r.ctx.Err() == nil
		return nil, err
	}
	if len(event) > 0 {
		kind := eventOf(event).Type
		r.began = r.began || !slices.Contains([]string{"response.created", "response.queued", "response.in_progress"}, kind)
		r.ended = kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed" ||
			kind == "error"
	}
	return event, nil
}

// stale reports a failure that the past of the connection explains.
func (r *socketReply) stale(event []byte, err error) bool {
	if err != nil {
		return r.conn.used
	}
	switch eventOf(event).code() {
	case "previous_response_not_found", "websocket_connection_limit_reached":
		return true
	}
	return false
}

// ask sends the request.
func (r *socketReply) ask(fresh bool) error {
	t, pool := r.turn, r.turn.m.p.sockets
	header := r.req.Header.Clone()
	header.Del("Content-Type")
	header.Del("Accept")
	url := r.req.URL.String()
	conn, from, ok := pool.take(url, header, t.q, t.m.info.ID, fresh)
	if !ok {
		return errNoSocket
	}
	previous := ""
	if conn == nil {
		var err error
		if conn, err = pool.dial(r.ctx, r.client, url, header); err != nil {
			return err
		}
	} else {
		previous = conn.chain.response
	}
	r.conn = conn
	return conn.send(r.ctx, t.q.message(previous, t.q.items[from:]))
}

// Read implements io.Reader.
func (r *socketReply) Read(p []byte) (int, error) {
	for len(r.buf) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		event, err := r.next()
		if err != nil {
			return 0, r.failed(err)
		}
		r.add(event)
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// failed says that a connection that ended without a reason cut the reply.
func (*socketReply) failed(err error) error {
	if websocket.CloseStatus(err) != -1 {
		return err
	}
	return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
}

// add frames an event, whose line breaks are outside of its strings; an empty one is a comment.
func (r *socketReply) add(event []byte) {
	if len(event) == 0 {
		r.buf = []byte(":\n\n")
		return
	}
	for i, c := range event {
		if c == '\n' || c == '\r' {
			event[i] = ' '
		}
	}
	r.buf = append(append([]byte("data: "), event...), "\n\n"...)
}

// Close implements io.Closer: it keeps the connection after a complete reply, and closes it after any other, also to
// cancel it.
func (r *socketReply) Close() error {
	conn := r.conn
	if r.conn = nil; conn == nil {
		return nil
	}
	pool := r.turn.m.p.sockets
	switch {
	case r.ended && r.chain != nil:
		conn.used = true
		pool.put(conn, r.chain)
	case r.ended:
		pool.drop(conn, false)
	default:
		r.turn.http = true
		pool.drop(conn, r.broke || llm.Stalled(r.ctx))
	}
	return nil
}

// watch returns a decoder that notes a complete reply.
func (t *socketTurn) watch(d llm.Decoder) llm.Decoder {
	if t == nil || t.reply == nil {
		return d
	}
	if rd, ok := d.(*responseDecoder); ok {
		return watchedDecoder{rd, t.reply}
	}
	return d
}

type watchedDecoder struct {
	*responseDecoder
	reply *socketReply
}

// Decode implements llm.Decoder.
func (w watchedDecoder) Decode(ctx context.Context) error {
	err := w.responseDecoder.Decode(ctx)
	if err == nil {
		w.reply.chain = w.reply.turn.follow(w.responseDecoder)
		_ = w.reply.Close() // the next step finds the connection
	}
	return err
}

// follow returns what the server has after a reply, or nil where it may be something else than what the next request
// holds: a reply that was cut, or calls whose ids are not the server's.
func (t *socketTurn) follow(d *responseDecoder) *socketChain {
	msg := &d.message
	if d.last == "" || d.renamed || msg.Stop != llm.StopEndTurn && msg.Stop != llm.StopToolUse {
		return nil
	}
	for _, c := range msg.Calls() {
		if t.m.callID(c.ID) != c.ID {
			return nil
		}
	}
	items := slices.Clip(t.q.items)
	if seg := t.m.inputItems(msg); len(seg) > 0 {
		items = append(items, seg)
	}
	return &socketChain{response: d.last, model: t.m.info.ID, items: items}
}

// socketEvent is what the connection itself needs of an event.
type socketEvent struct {
	Type       string         `json:"type"`
	Code       any            `json:"code"`
	Status     int            `json:"status"`
	StatusCode int            `json:"status_code"`
	Headers    map[string]any `json:"headers"`
	Error      struct {
		Code any `json:"code"`
	} `json:"error"`
	Response struct {
		Error struct {
			Code any `json:"code"`
		} `json:"error"`
	} `json:"response"`
}

// eventOf reads an event; of the many that carry pieces of the reply only that they are no others.
func eventOf(event []byte) *socketEvent {
	e := &socketEvent{}
	for _, word := range []string{
		`"response.created"`, `"response.queued"`, `"response.in_progress"`,
		`"response.completed"`, `"response.incomplete"`, `"response.failed"`, `"error"`,
	} {
		if bytes.Contains(event, []byte(word)) {
			_ = json.Unmarshal(event, e) // the decoder reports what it cannot read
			break
		}
	}
	return e
}

func (e *socketEvent) status() int { return max(e.Status, e.StatusCode) }

// fields are those of an error, with the status of the event before the code.
func (e *socketEvent) fields(raw json.RawMessage) (code, message string) {
	if code, message = llm.ErrorFields(raw); e.status() >= 400 {
		code = strings.TrimSpace(fmt.Sprint(e.status(), " ", code))
	}
	return code, message
}

func (e *socketEvent) code() string {
	for _, code := range []any{e.Error.Code, e.Response.Error.Code, e.Code} {
		if s, ok := code.(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// response is the answer that HTTP would have given.
func (e *socketEvent) response(req *http.Request, event []byte, id string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {id}}
	for name, value := range e.Headers {
		switch name = http.CanonicalHeaderKey(name); name { // others, as those of an encoding, are not about this body
		case "Retry-After", "Retry-After-Ms", "X-Should-Retry", "X-Request-Id":
			h.Set(name, fmt.Sprint(value))
		}
	}
	return &http.Response{
		Status: fmt.Sprint(e.status()), StatusCode: e.status(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Request: req, Header: h,
		Body: io.NopCloser(bytes.NewReader(event)), ContentLength: int64(len(event)),
	}
}
