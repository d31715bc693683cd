package llmtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"
)

func jsonHeader(n int) map[string]string {
	id := fmt.Sprintf("req_%04d", n)
	return map[string]string{"Content-Type": "application/json", "Request-Id": id, "X-Request-Id": id}
}

// failed returns an error response in the wire's form.
func failed(w wire, f *refusal, n int) *performance {
	_, body := w.failure(f, fmt.Sprintf("req_%04d", n))
	return &performance{status: f.status, header: jsonHeader(n), body: marshal(body)}
}

// perform chooses the reply and its fault.
func (s *Server) perform(w wire, c *call, rec *Request, fail func(*refusal) *performance) *performance {
	s.mu.Lock()
	arrived := s.arrived
	s.mu.Unlock()
	r, place := s.script.choose(c, arrived)
	s.log.update(func() { rec.Reply = place })
	_, ids := w.about()
	blocks, err := s.script.resolve(r, c, s.opts.Vars, rec.N, ids)
	if err != nil {
		return fail(refuse("script: %v", err))
	}
	a := &answer{call: c, reply: r, blocks: blocks, shape: map[string]bool{}, chunk: r.Chunk}
	a.id = fmt.Sprintf("%04d_%d", c.turn, rec.N)
	for _, name := range r.Shape {
		a.shape[name] = true
	}
	if a.chunk == 0 {
		a.chunk = s.script.Chunk
	}
	a.spoilIDs()
	f := s.strike(r, c)
	if f == nil {
		s.delivered(a, place)
	} else {
		s.log.update(func() { rec.Fault = f.Kind })
	}
	return s.stage(w, a, f, rec.N)
}

// spoilIDs applies the irregularities of call ids.
func (a *answer) spoilIDs() {
	first := ""
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.kind != "tool" {
			continue
		}
		if a.shape["ids_missing"] || a.shape["ids_empty"] {
			b.id = ""
		}
		if first == "" {
			first = b.id
		}
		if a.shape["ids_same"] {
			b.id = first
		}
	}
}

// strike takes the next fault left for this request, if any.
func (s *Server) strike(r *Reply, c *call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := [][]Fault{r.Faults}
	if len(c.tools) > 0 {
		lists = [][]Fault{s.script.Faults, r.Faults}
	}
	for _, fs := range lists {
		for i := range fs {
			f := &fs[i]
			if f.Times < 0 || s.struck[f] < max(1, f.Times) {
				s.struck[f]++
				return f
			}
		}
	}
	return nil
}

// delivered records a complete reply: the order of arrival, and the reasoning before its calls.
func (s *Server) delivered(a *answer, place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place >= 0 && a.reply.When == nil {
		s.arrived++
	}
	thought := ""
	for _, b := range a.blocks {
		if b.kind == "tool" && b.id != "" && a.shape["calls_signed"] {
			s.signed[b.id] = Sign(b.text)
		}
		switch {
		case b.kind == "thinking":
			thought += b.text
		case b.kind == "tool" && b.id != "" && thought != "":
			s.thought[b.id] = thought
		}
	}
}

func (s *Server) reasoningBefore(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thought[id]
}

// signatureOf returns the signature given to the call with this id, or "".
func (s *Server) signatureOf(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signed[id]
}

// stage encodes the answer and applies the fault.
func (s *Server) stage(w wire, a *answer, f *Fault, n int) *performance {
	p := &performance{status: http.StatusOK, header: jsonHeader(n), write: a.reply.Write}
	p.first = time.Duration(max(a.reply.FirstByte, s.firstDefault(a)))
	p.gap = time.Duration(max(a.reply.Gap, s.script.Gap))
	p.pinged = a.shape["comments"]
	if f != nil {
		p.fault = f.Kind
		if f.Kind == "status" {
			return s.stageStatus(w, p, f, n)
		}
		if f.Kind == "html" {
			stageHTML(p, f)
			return p
		}
	}
	out := newStream(a.shape)
	if a.call.stream && !a.shape["json"] {
		p.header["Content-Type"] = "text/event-stream; charset=utf-8"
		p.header["Cache-Control"] = "no-cache"
		if b, ok := w.(interface{ mime() string }); ok {
			p.header["Content-Type"] = b.mime()
		}
		out = w.stream(a)
	} else {
		out.append(w.whole(a))
	}
	if f == nil {
		p.pace(out)
		return p
	}
	stageCut(w, p, out, a, f)
	return p
}

// firstDefault exempts side requests from the delay meant for the conversation.
func (s *Server) firstDefault(a *answer) Duration {
	if len(a.call.tools) == 0 && len(s.script.Replies) > 0 && s.script.titleLike(a.call) {
		return 0
	}
	return s.script.FirstByte
}

func (s *Server) stageStatus(w wire, p *performance, f *Fault, n int) *performance {
	q := failed(w, &refusal{status: f.Status, kind: f.Type, message: "scripted failure"}, n)
	q.fault, q.first, q.pinged = p.fault, p.first, p.pinged
	if f.Body != "" {
		q.body = []byte(f.Body)
		if strings.HasPrefix(strings.TrimSpace(f.Body), "<") {
			q.header["Content-Type"] = "text/html"
		}
	}
	maps.Copy(q.header, f.Header)
	if f.RetryAfter != "" {
		q.header["Retry-After"] = f.RetryAfter
	}
	return q
}

func stageHTML(p *performance, f *Fault) {
	p.header["Content-Type"] = "text/html; charset=utf-8"
	maps.Copy(p.header, f.Header)
	if p.status = f.Status; p.status == 0 {
		p.status = http.StatusOK
	}
	p.body = []byte(f.Body)
	if f.Body == "" {
		p.body = []byte("<html><head><title>502 Bad Gateway</title></head><body>\n<h1>502 Bad Gateway</h1>\n</body></html>\n")
	}
}

// stageCut applies the faults inside a response.
func stageCut(w wire, p *performance, out *stream, a *answer, f *Fault) {
	at, _ := ParseAt(f.At) // checked by Start
	maps.Copy(p.header, f.Header)
	offset, index := out.offset(at, a.blocks)
	switch f.Kind {
	case "garbage":
		text := f.Body
		if text == "" {
			text = `{"type":"content_block_delta","index":0,"delta":{"type":"tex`
		}
		out.insert(index, out.plain(text))
	case "error":
		out.events = out.events[:index]
		out.part = -1
		e := &refusal{status: f.Status, kind: f.Type, message: f.Body}
		if e.status == 0 {
			e.status = 529
		}
		if e.message == "" {
			e.message = "scripted failure"
		}
		out.add(w.failure(e, ""))
	}
	p.pace(out)
	switch f.Kind {
	case "stall":
		p.bare = false
		wait := time.Duration(f.For)
		if wait == 0 {
			wait = -1
		}
		if at.Start {
			p.first = wait
		} else {
			p.stall(offset, wait)
		}
	case "reset", "close":
		p.end, p.bare, p.code = f.Kind, at.Start, f.Status
		p.cut(offset)
	case "end":
		p.cut(offset)
	}
}

// play writes a response. It returns whether the response began, the bytes of the body sent, and whether it
// was aborted because the client left or the server was closed.
func (p *performance) play(w http.ResponseWriter, r *http.Request) (begun bool, sent int, gone bool) {
	if !sleep(r.Context(), p.first) {
		return false, 0, true
	}
	if p.bare {
		return false, 0, false
	}
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(p.status)
	rc := http.NewResponseController(w)
	sent, gone = p.send(r.Context(), w, rc.Flush)
	if p.end != "" && !gone {
		gone = rc.Flush() != nil
	}
	return true, sent, gone || r.Context().Err() != nil
}

// send writes the body with its pauses.
func (p *performance) send(ctx context.Context, w io.Writer, flush func() error) (sent int, gone bool) {
	for {
		for len(p.pauses) > 0 && p.pauses[0].offset <= sent {
			if flush() != nil || !sleep(ctx, p.pauses[0].wait) {
				return sent, true
			}
			p.pauses = p.pauses[1:]
		}
		n := len(p.body) - sent
		if n == 0 {
			return sent, false
		}
		if len(p.pauses) > 0 {
			n = min(n, p.pauses[0].offset-sent)
		}
		if p.write > 0 {
			n = min(n, p.write)
		}
		if _, err := w.Write(p.body[sent : sent+n]); err != nil {
			return sent, true
		}
		sent += n
		if p.write > 0 && (flush() != nil || !sleep(ctx, p.gap)) {
			return sent, true
		}
	}
}

// sleep waits d, or forever if it is negative, unless the client leaves first.
func sleep(ctx context.Context, d time.Duration) bool {
	switch {
	case d == 0:
		return ctx.Err() == nil
	case d < 0:
		<-ctx.Done()
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hangUp closes the connection: reset sends RST, close FIN.
func hangUp(w http.ResponseWriter, how string) {
	if runtime.GOOS != "linux" {
		// On other systems a reset discards data that the receiver has not read yet.
		time.Sleep(20 * time.Millisecond)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	raw := conn
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		raw = t.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok && how == "reset" {
		_ = tcp.SetLinger(0) // on an error, the close below still cuts the response
	}
	_ = raw.Close()
}
