package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// other is a conversation with another beginning on the same connections.
func (k *talk) other(n int) *talk {
	o := *k
	o.msgs = []llm.Message{llm.UserText(fmt.Sprint("the beginning of ", n))}
	return &o
}

func TestConversationsAtTheSameTimeHaveConnectionsOfTheirOwn(t *testing.T) {
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(4)...)
	k.step()
	var all sync.WaitGroup
	for i := range 4 {
		branch := *k // two go on from the same step, two begin anew
		if i > 1 {
			branch = *k.other(i)
		}
		all.Go(func() {
			for len(branch.msgs) < 7 {
				m, err := branch.ask()
				if err != nil {
					t.Error(err)
					return
				}
				branch.follow(m)
			}
		})
	}
	all.Wait()
	conns, whole := map[int]bool{}, 0
	for _, r := range k.srv.Requests() {
		conns[r.Conn] = true
		if !bytes.Contains(r.Message, []byte(`"previous_response_id"`)) {
			whole++
		}
	}
	if len(conns) != 4 || whole != 4 {
		t.Errorf("%d connections, %d requests with the whole input, want 4 and 4", len(conns), whole)
	}
}

func TestTheNumberOfConnectionsIsLimited(t *testing.T) {
	r := steps(1)[0]
	r.Faults = []llmtest.Fault{{Kind: "stall", At: "event 2", Times: -1}}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, r)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	k.ctx = ctx
	var all sync.WaitGroup
	for i := range mostSockets + 1 {
		o := k.other(i)
		all.Go(func() {
			if _, err := o.ask(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if err := k.srv.Wait(t.Context(), mostSockets+1); err != nil {
		t.Fatal(err)
	}
	stop()
	all.Wait()
	http := 0
	for _, r := range k.srv.Requests() {
		if r.Socket == 0 {
			http++
		}
	}
	if http != 1 {
		t.Errorf("%d requests over HTTP, want 1", http)
	}
	if !await.Until(func() bool { return k.srv.Sockets() == 0 && k.open() == 0 }) {
		t.Errorf("after the end %d connections are open", k.srv.Sockets())
	}
}

func TestTheConnectionThatWasUnusedForLongestMakesRoom(t *testing.T) {
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(3)...)
	var all []*talk
	for i := range mostSockets + 1 {
		o := k.other(i)
		o.step()
		all = append(all, o)
	}
	if k.open() != mostSockets || !await.Until(func() bool { return k.srv.Sockets() == mostSockets }) {
		t.Errorf("%d connections are open, %d at the server", k.open(), k.srv.Sockets())
	}
	if !await.Until(func() bool { return k.beats() == mostSockets }) {
		t.Errorf("%d pings are due", k.beats())
	}
	n := len(k.srv.Requests())
	all[1].step()
	all[0].step()
	rs := k.srv.Requests()[n:]
	if rs[0].Socket != 2 || rs[1].Socket != 1 {
		t.Errorf("the second conversation sent message %d, the first one message %d", rs[0].Socket, rs[1].Socket)
	}
}

func TestAnIdleConnectionIsPingedAndThenClosed(t *testing.T) {
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(2)...)
	k.step()
	for n := 1; n <= 3; n++ {
		k.clock.pass(socketBeat)
		if !await.Until(func() bool { return k.srv.Pings() == n && k.beats() == 1 }) {
			t.Fatalf("%d pings, want %d", k.srv.Pings(), n)
		}
	}
	k.step()
	k.want("1.1 1.2+")
	k.clock.pass(socketIdle)
	if !await.Until(func() bool { return k.srv.Sockets() == 0 && k.open() == 0 }) {
		t.Errorf("%d connections are still open", k.srv.Sockets())
	}
}

// beats is the number of pings that are due next.
func (k *talk) beats() int {
	k.clock.mu.Lock()
	defer k.clock.mu.Unlock()
	due := 0
	for _, t := range k.clock.timers {
		if t.at.Equal(k.clock.now.Add(socketBeat)) {
			due++
		}
	}
	return due
}

// frozen passes bytes on until it is told to stop.
type frozen struct {
	ln   net.Listener
	cold atomic.Bool
}

func freezing(t *testing.T, to string) *frozen {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &frozen{ln: ln}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			all.Go(func() { f.pass(s, c) })
			all.Go(func() { f.pass(c, s) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); all.Wait() })
	return f
}

func (f *frozen) pass(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if f.cold.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestADeadPeerIsNoticedByThePing(t *testing.T) {
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(2)...)
	way := freezing(t, strings.TrimPrefix(k.srv.URL(), "http://"))
	k.model = newModel(t, Config{
		BaseURL: "http://" + way.ln.Addr().String(), HTTP: k.model.p.caller.HTTP, Clock: k.clock,
		Responses: true, WebSocket: true,
	}, "gpt-5.1")
	k.step()
	way.cold.Store(true)
	before := k.clock.set()
	k.clock.pass(socketBeat)
	if !await.Until(func() bool { return k.clock.fire(before, socketPong) }) ||
		!await.Until(func() bool { return k.open() == 0 }) {
		t.Error("the connection is still in use")
	}
	way.cold.Store(false)
	k.step()
	k.want("1.1 2.1")
	k.srv.DropSockets(0)
}

func TestAHandshakeWithoutAnAnswerGoesOverHTTP(t *testing.T) {
	k := newTalk(t, llmtest.Options{SocketStatus: -1}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(2)...)
	before := k.clock.set()
	var limit sync.WaitGroup
	limit.Go(func() {
		if !await.Until(func() bool { return k.srv.Handshakes() == 1 && k.clock.fire(before, socketDial) }) {
			t.Error("the handshake has no limit")
		}
	})
	k.step()
	limit.Wait()
	k.step()
	k.want("http http")
}

func TestACancelledHandshakeIsNoRefusal(t *testing.T) {
	k := newTalk(t, llmtest.Options{SocketStatus: -1}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(1)...)
	for n := 1; n <= 2; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		k.ctx = ctx
		var leaves sync.WaitGroup
		leaves.Go(func() {
			if !await.Until(func() bool { return k.srv.Handshakes() == n }) {
				t.Errorf("%d handshakes, want %d", k.srv.Handshakes(), n)
			}
			cancel()
		})
		if _, err := k.ask(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		leaves.Wait()
	}
}

func TestAReplyWithoutAnIDOrWithCustomCallsIsNotBuiltOn(t *testing.T) {
	for body, want := range map[string]string{
		sse(began, itemEnd(0, callA1), ended("")):                                                           "r1",
		sse(itemEnd(0, callA1), `{"type":"response.completed","response":{"status":"completed"}}`):          "",
		sse(began, itemEnd(0, `"type":"custom_tool_call","call_id":"a","name":"P","input":"x"`), ended("")): "",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request,
		) {
			_, _ = io.WriteString(w, body)
		}))
		m := newModel(t, Config{BaseURL: srv.URL, Responses: true}, "gpt-5.1")
		req := &llm.Request{Messages: []llm.Message{llm.UserText("x")}}
		q := m.responsesParts(req)
		reply, err := m.p.caller.Post(t.Context(), 1, &llm.Outgoing{URL: srv.URL, Body: q.body()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := m.decoder(reply, req, func(llm.Delta) bool { return true }).(*responseDecoder)
		if err := d.Decode(t.Context()); err != nil {
			t.Fatal(err)
		}
		if chain := (&socketTurn{m: m, q: q}).follow(d); (chain == nil) != (want == "") || chain != nil &&
			(chain.response != want || len(chain.items) != 2) {
			t.Errorf("%s\n%+v", body, chain)
		}
		reply.Close()
		srv.Close()
	}
}

func TestProxiesAndAuthoritiesAreThoseOfHTTP(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	k := newTalk(t, llmtest.Options{TLS: &tls.Config{
		Certificates: cert.TLS.Certificates,
		NextProtos:   []string{"h2", "http/1.1"},
	}}, Config{}, steps(3)...)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(k.srv.URL(), "https://"))
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tunnels.Add(1)
		to, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil || r.Method != http.MethodConnect || r.Host != "example.com:"+port {
			t.Errorf("%s %s: %v", r.Method, r.Host, err)
			return
		}
		defer func() { _ = to.Close() }()
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = from.Close() }()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		_, _ = io.Copy(from, to)
	}))
	defer proxy.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]llm.HTTPOptions{
		"trusted":           {Proxy: proxy.URL, CACerts: []string{ca}},
		"unknown authority": {Proxy: proxy.URL},
	} {
		client, err := llm.HTTPClient(o)
		if err != nil {
			t.Fatal(err)
		}
		before := tunnels.Load()
		one := *k
		one.model = newModel(t, Config{
			BaseURL: "https://example.com:" + port, HTTP: client, Clock: k.clock, Responses: true, WebSocket: true,
			Retry: llm.RetryPolicy{Max: -1},
		}, "gpt-5.1")
		if name == "trusted" {
			one.step()
			one.step()
			one.want("1.1 1.2+")
		} else if _, err := one.ask(); llm.AsError(err) == nil || llm.AsError(err).Kind != llm.KindTLS {
			t.Errorf("%s: %v", name, err)
		}
		if tunnels.Load() == before {
			t.Errorf("%s: the proxy was not used", name)
		}
		client.CloseIdleConnections()
	}
	k.srv.DropSockets(0)
}

func TestAnEventThatIsTooLargeIsAnErrorAsOverHTTP(t *testing.T) {
	r := llmtest.Say(llmtest.Part{Fill: llm.MaxEvent + 1})
	r.Chunk = llm.MaxEvent * 2
	k := newTalk(t, llmtest.Options{}, Config{}, r)
	_, err := k.ask()
	if e := llm.AsError(err); e == nil || e.Kind != llm.KindProtocol || e.Retryable || !strings.Contains(e.Message,
		"larger than 16 MB") {
		t.Errorf("got %v", err)
	}
	k.want("1.1")
}

func TestAReaderThatIsSlowHoldsTheServerUp(t *testing.T) {
	// three times: in pieces, with the end of its item, with that of the reply
	r := llmtest.Say(llmtest.Part{Fill: 10 << 20})
	r.Chunk = 256 << 10
	k := newTalk(t, llmtest.Options{}, Config{}, r)
	c, err := k.model.p.sockets.dial(t.Context(), k.model.p.caller.HTTP, k.model.endpoint, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	q := k.model.responsesParts(&llm.Request{Messages: k.msgs, Tools: k.tools})
	if err := c.send(t.Context(), q.message("", q.items)); err != nil {
		t.Fatal(err)
	}
	unread := 0
	waits := func() bool { // for room
		c.mu.Lock()
		defer c.mu.Unlock()
		unread = c.size
		return c.full
	}
	if !await.Until(waits) || unread > 25<<20 {
		t.Errorf("%d bytes are waiting", unread)
	}
	all := 0
	for {
		event, err := c.receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if all += len(event); eventOf(event).Type == "response.completed" {
			break
		}
	}
	if waits(); unread != 0 || all < 30<<20 {
		t.Errorf("%d bytes came, %d are left", all, unread)
	}
	c.close()
}

func TestAConnectionThatIsGoneIsNotKept(t *testing.T) {
	k := newTalk(t, llmtest.Options{}, Config{})
	pool := k.model.p.sockets
	if _, _, ok := pool.take(k.model.endpoint, http.Header{}, &responsesRequest{}, "m", false); !ok || k.open() != 1 {
		t.Fatal("no connection may be opened")
	}
	c, err := pool.dial(t.Context(), k.model.p.caller.HTTP, k.model.endpoint, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	k.srv.DropSockets(0)
	if !await.Until(c.gone) {
		t.Fatal("the end is not noticed")
	}
	if pool.put(c, &socketChain{}); k.open() != 0 || len(pool.idle) != 0 {
		t.Errorf("%d are open, %d idle", k.open(), len(pool.idle))
	}
}
