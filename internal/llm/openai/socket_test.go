package openai

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

// handClock moves only when a test says so, but for waits of less than a second, which are over at once.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*handTimer
}

type handTimer struct {
	c    *handClock
	at   time.Time // zero: stopped
	call func()
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) AfterFunc(d time.Duration, f func()) llm.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{c, c.now.Add(d), f}
	if d < time.Second {
		t.at = time.Time{}
		go f()
	}
	c.timers = append(c.timers, t)
	return t
}

func (t *handTimer) Stop() bool { return t.set(time.Time{}) }

func (t *handTimer) Reset(d time.Duration) bool { return t.set(t.c.Now().Add(d)) }

func (t *handTimer) set(at time.Time) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	was := !t.at.IsZero()
	t.at = at
	return was
}

// pass lets time pass, and starts what was due.
func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for _, t := range c.timers {
		if !t.at.IsZero() && !t.at.After(c.now) {
			t.at = time.Time{}
			go t.call()
		}
	}
}

// set is the number of timers so far.
func (c *handClock) set() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// fire ends a wait of this length that has just begun with a timer after the first n, without time passing for the
// others.
func (c *handClock) fire(n int, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.timers[n:] {
		if t.at.Equal(c.now.Add(d)) {
			t.at = time.Time{}
			go t.call()
			return true
		}
	}
	return false
}

// talk is a conversation over WebSockets.
type talk struct {
	t     *testing.T
	srv   *llmtest.Server
	clock *handClock
	model *model
	ctx   context.Context
	tools []llm.ToolSpec
	msgs  []llm.Message
	again []llm.Retrying // since the last step began
}

var socketTools = []llm.ToolSpec{{
	Name: "Read", Description: "Reads.",
	Schema: []byte(`{"type":"object","properties":{}}`),
}}

// steps are replies that each call a tool.
func steps(n int) []llmtest.Reply {
	var out []llmtest.Reply
	for i := range n {
		out = append(out, llmtest.Say(llmtest.Thinking(fmt.Sprint("Thought ", i)), llmtest.Text(fmt.Sprint("Step ", i)),
			llmtest.Tool("Read", map[string]any{"n": i})))
	}
	return out
}

func newTalk(t *testing.T, o llmtest.Options, c Config, replies ...llmtest.Reply) *talk {
	t.Helper()
	o.NoKey = true
	srv := suite.Serve(t, llmtest.Replies(replies...), o)
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	client, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	if c.HTTP == nil {
		c.HTTP = client
	}
	if c.BaseURL == "" {
		c.BaseURL = srv.URL()
	}
	c.Clock, c.Responses, c.WebSocket = clock, true, true
	return &talk{
		t: t, srv: srv, clock: clock, model: newModel(t, c, "gpt-5.1"), ctx: t.Context(), tools: socketTools,
		msgs: []llm.Message{llm.UserText("the beginning")},
	}
}

// ask runs one request.
func (k *talk) ask() (*llm.Message, error) {
	k.again = nil
	for d, err := range k.model.Stream(k.ctx, &llm.Request{
		System:   []llm.Part{llm.Text{Text: "Be brief."}},
		Messages: k.msgs, Tools: k.tools,
	}) {
		if err != nil {
			return nil, err
		}
		switch d := d.(type) {
		case llm.Retrying:
			k.again = append(k.again, d)
		case llm.Done:
			return &d.Message, nil
		}
	}
	return nil, fmt.Errorf("no reply")
}

// step asks, and answers the calls of the reply.
func (k *talk) step() *llm.Message {
	k.t.Helper()
	m, err := k.ask()
	if err != nil {
		k.t.Fatal(err)
	}
	k.follow(m)
	return m
}

func (k *talk) follow(m *llm.Message) {
	var parts []llm.Part
	for _, c := range m.Calls() {
		parts = append(parts, llm.TextResult(c, "result of "+c.ID, false))
	}
	if parts == nil {
		parts = []llm.Part{llm.Text{Text: "go on"}}
	}
	k.msgs = append(k.msgs, *m, llm.Message{Role: llm.User, Parts: parts})
}

// want compares the requests that the server got: "1.2+" is the second message on the first connection, with only what
// is new; "2.1" has everything; "http" came over HTTP. Connections have numbers in the order of their first request.
func (k *talk) want(want string) {
	k.t.Helper()
	names := map[int]int{}
	var got []string
	for _, r := range k.srv.Requests() {
		switch {
		case r.Socket == 0:
			got = append(got, "http")
			continue
		case names[r.Conn] == 0:
			names[r.Conn] = len(names) + 1
		}
		s := fmt.Sprintf("%d.%d", names[r.Conn], r.Socket)
		whole := bytes.Contains(r.Message, []byte("the beginning"))
		if chained := bytes.Contains(r.Message, []byte(`"previous_response_id"`)); chained == whole {
			k.t.Errorf("a message is neither whole nor new: %s", r.Message)
		}
		if !whole {
			s += "+"
		}
		got = append(got, s)
	}
	if g := strings.Join(got, " "); g != want {
		k.t.Errorf("requests: %s, want %s", g, want)
	}
}

// lost is a failure that the server reports with a code of its own.
func lost(code string, times int) llmtest.Fault {
	return llmtest.Fault{
		Kind: "status", Status: 400, Times: times,
		Body: `{"error":{"type":"invalid_request_error","code":"` + code + `","message":"gone"}}`,
	}
}

func TestWhatTheServerHasLostIsSentAgainWithinTheAttempt(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault llmtest.Fault
		want  string
	}{
		{"response", lost("previous_response_not_found", 1), "1.1 1.2+ 2.1 2.2+"},
		{"60 minutes", lost("websocket_connection_limit_reached", 1), "1.1 1.2+ 2.1 2.2+"},
		{"closed without a word", llmtest.Fault{Kind: "close", At: "start"}, "1.1 1.2+ 2.1 2.2+"},
		{"closed with a code", llmtest.Fault{Kind: "close", At: "start", Status: 1001}, "1.1 1.2+ 2.1 2.2+"},
		{"reset", llmtest.Fault{Kind: "reset", At: "start"}, "1.1 1.2+ 2.1 2.2+"},
		{"after the reply began", llmtest.Fault{Kind: "close", At: "event 1"}, "1.1 1.2+ 2.1 2.2+"},
		{"twice", lost("websocket_connection_limit_reached", 2), "1.1 1.2+ 2.1 http 3.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			replies := steps(3)
			replies[1].Faults = []llmtest.Fault{row.fault}
			k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, replies...)
			for i := range 3 {
				if m := k.step(); m.PlainText() != fmt.Sprint("Step ", i) || len(m.Calls()) != 1 || len(k.again) != 0 {
					t.Errorf("step %d: %+v after %v", i, m, k.again)
				}
			}
			k.want(row.want)
		})
	}
}

func TestWhatIsAskedAgainIsWholeAlsoWhereAnotherConnectionHasTheBeginning(t *testing.T) {
	first := llmtest.Say(llmtest.Part{Tool: "Read", Input: []byte(`{}`), ID: "call_1"})
	second := steps(2)[1]
	second.Faults = []llmtest.Fault{lost("previous_response_not_found", 1)}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, first, second)
	if _, err := k.ask(); err != nil {
		t.Fatal(err)
	}
	k.step() // the same again, on a connection of its own
	k.step()
	k.want("1.1 2.1 1.2+ 3.1")
}

func TestALimitOfConnectionsAtTheFirstStepGoesOverHTTP(t *testing.T) {
	replies := steps(1)
	replies[0].Faults = []llmtest.Fault{lost("websocket_connection_limit_reached", 2)}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, replies...)
	k.step()
	k.want("1.1 2.1 http")
}

func TestAConnectionThatEndsBetweenTwoStepsIsReplaced(t *testing.T) {
	for _, code := range []int{0, 1000, 1001, 1011} {
		k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(3)...)
		k.step()
		k.srv.DropSockets(code)
		if code == 1001 && !await.Until(func() bool { return k.open() == 0 }) {
			t.Error("the end is not noticed between two steps")
		}
		k.step()
		k.step()
		rs := k.srv.Requests()
		if last := rs[len(rs)-1]; last.Socket != 2 || rs[len(rs)-2].Socket != 1 {
			t.Errorf("code %d: the last request was message %d", code, last.Socket)
		}
	}
}

// open is the number of the provider's connections.
func (k *talk) open() int {
	s := k.model.p.sockets
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func TestABreakWithinAReplyIsAskedAgainOverHTTP(t *testing.T) {
	for _, f := range []llmtest.Fault{
		{Kind: "close", At: "event 3"},
		{Kind: "close", At: "event 4", Status: 1011},
		{Kind: "close", At: "60%"},
		{Kind: "reset", At: "part 1 50%"},
		{Kind: "end", At: "70%"},
	} {
		replies := steps(3)
		replies[1].Faults = []llmtest.Fault{f}
		k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Base: 1, Jitter: -1}}, replies...)
		for range 3 {
			k.step()
			if len(k.again) > 1 || len(k.again) == 1 && f.Status > 0 && !strings.Contains(k.again[0].Err.Error(),
				"as the test says") {
				t.Errorf("%+v: %v", f, k.again)
			}
		}
		k.want("1.1 1.2+ http 2.1")
	}
}

func TestFailuresThatTheServerReportsAreAskedAgainOverAWebSocket(t *testing.T) {
	replies := steps(3)
	replies[1].Faults = []llmtest.Fault{
		{Kind: "status", Status: 429},
		{Kind: "error", At: "event 3"},
		{Kind: "status", Status: 503},
	}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Base: 1, Jitter: -1}}, replies...)
	for range 3 {
		k.step()
	}
	k.want("1.1 1.2+ 2.1 3.1 4.1 4.2+")
}

func TestAMessageThatTheServerDoesNotTakeGoesOverHTTP(t *testing.T) {
	for _, code := range []int{1003, 1008, 1009} {
		replies := steps(3)
		for i := range 2 {
			replies[i].Faults = []llmtest.Fault{{Kind: "close", At: "start", Status: code}}
		}
		k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, replies...)
		k.step()
		k.want("1.1 http")
		k.step()
		k.want("1.1 http 2.1 http")
	}
}

func TestARefusedHandshakeGoesOverHTTPForAWhile(t *testing.T) {
	for status, want := range map[int]string{404: "1 1 2", 426: "1 1 2", 502: "1 1 2", 401: "1 2 3"} {
		k := newTalk(t, llmtest.Options{SocketStatus: status}, Config{Retry: llm.RetryPolicy{Max: -1}}, steps(3)...)
		var got []string
		for i := range 3 {
			if i == 2 {
				k.clock.pass(socketPause)
			}
			k.step()
			got = append(got, fmt.Sprint(k.srv.Handshakes()))
		}
		k.want("http http http")
		if g := strings.Join(got, " "); g != want || k.open() != 0 {
			t.Errorf("%d: handshakes after each step %s, want %s; %d open", status, g, want, k.open())
		}
	}
}

func TestConnectionsThatBreakOffInARowAreLeftAloneForAWhile(t *testing.T) {
	replies := steps(7)
	for _, i := range []int{0, 1, 3, 4, 5} { // the third one works
		replies[i].Faults = []llmtest.Fault{{Kind: "close", At: "event 3"}}
	}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Base: 1, Jitter: -1}}, replies...)
	for range 7 {
		k.step()
	}
	k.want("1.1 http 2.1 http 3.1 3.2+ http 4.1 http 5.1 http http")
	k.clock.pass(socketPause)
	k.msgs = k.msgs[:1]
	k.step()
	k.want("1.1 http 2.1 http 3.1 3.2+ http 4.1 http 5.1 http http 6.1")
}

func TestAConnectionThatFallsSilentIsLeftAloneLikeOneThatBreaks(t *testing.T) {
	replies := steps(4)
	for i := range 3 {
		replies[i].Faults = []llmtest.Fault{{Kind: "stall", At: []string{"start", "event 1", "event 4"}[i]}}
	}
	k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Base: 1, Jitter: -1}}, replies...)
	for i := range 4 {
		var watchdog sync.WaitGroup
		if i < 3 {
			limit := []time.Duration{llm.DefaultHeaderTimeout, llm.DefaultStallTimeout, llm.DefaultStallTimeout}[i]
			before := k.clock.set()
			watchdog.Go(func() {
				struck := func() bool { rs := k.srv.Requests(); return len(rs) > 2*i && rs[2*i].Fault != "" }
				if !await.Until(func() bool { return struck() && k.clock.fire(before, limit) }) {
					t.Error("no watchdog is set")
				}
			})
		}
		k.step()
		watchdog.Wait()
	}
	k.want("1.1 http 2.1 http 3.1 http http")
}

func TestAFailureHasTheHeadersThatAreAboutIt(t *testing.T) {
	e := eventOf(
		[]byte(
			`{"type":"error","status_code":503,"headers":{"retry-after":7,"Content-Encoding":"gzip","Location":"http://x","x-request-id":"req_7"},"error":{"message":"later"}}`))
	got := e.response(nil, nil, "req_1")
	want := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"7"}, "X-Request-Id": {"req_7"}}
	if diff := cmp.Diff(want, got.Header); diff != "" || got.StatusCode != 503 {
		t.Errorf("%d %s", got.StatusCode, diff)
	}
}

func TestOnlyWhatFollowsTheLastResponseIsSentAlone(t *testing.T) {
	// Each change is made after the first of two steps.
	for name, row := range map[string]struct {
		change func(*talk)
		want   string
	}{
		"nothing": {func(*talk) {}, "1.1 1.2+"},
		"another reply": {func(k *talk) {
			k.msgs[1].Parts = append([]llm.Part{llm.Text{Text: "Other."}}, k.msgs[1].Parts...)
		}, "1.1 2.1"},
		"another prompt": {func(k *talk) { k.msgs[0] = llm.UserText("the beginning, otherwise") }, "1.1 2.1"},
		"a rewind": {
			func(k *talk) { k.msgs = []llm.Message{llm.UserText("the beginning"), llm.UserText("again")} },
			"1.1 2.1",
		},
		"the same again": {func(k *talk) { k.msgs = k.msgs[:1] }, "1.1 2.1"},
		"nothing is new": {func(k *talk) { k.msgs = append(k.msgs[:2:2], llm.UserText("")) }, "1.1 2.1"},
		"more tools": {func(k *talk) {
			k.tools = append(k.tools[:1:1], llm.ToolSpec{Name: "B", Schema: k.tools[0].Schema})
		}, "1.1 1.2+"},
		"no tools":        {func(k *talk) { k.tools = nil }, "1.1 http"},
		"another model":   {func(k *talk) { k.model = mustModel(k, "gpt-5.2") }, "1.1 2.1"},
		"the model again": {func(k *talk) { k.model = mustModel(k, "gpt-5.1") }, "1.1 1.2+"},
		"a header":        {func(k *talk) { k.ctx = llm.WithHeaders(k.ctx, http.Header{"X-Trace": {"1"}}) }, "1.1 2.1"},
		"an address": {func(k *talk) {
			k.model.p.caller.Prepare = func(_ context.Context, o *llm.Outgoing) error { o.URL += "?region=2"; return nil }
		}, "1.1 2.1"},
		"an hour": {func(k *talk) { k.clock.pass(socketAge) }, "1.1 2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := steps(2)
			k := newTalk(t, llmtest.Options{Lenient: true}, Config{Retry: llm.RetryPolicy{Max: -1}}, r...)
			k.step()
			row.change(k)
			if _, err := k.ask(); err != nil {
				t.Fatal(err)
			}
			k.want(row.want)
			if name == "an hour" || name == "a header" {
				if k.open() != 1 {
					t.Errorf("%d connections are open", k.open())
				}
			}
			if got := k.srv.Requests(); name == "a header" && (got[1].Header.Get("X-Trace") != "1" ||
				got[1].Header.Get("Content-Type") != "") {
				t.Errorf("headers: %v", got[1].Header)
			}
		})
	}
}

func mustModel(k *talk, id string) *model {
	m, err := k.model.p.Model(k.ctx, id)
	if err != nil {
		k.t.Fatal(err)
	}
	return m.(*model)
}

func TestAReplyThatTheServerHasOtherwiseIsNotBuiltOn(t *testing.T) {
	cut := steps(1)[0]
	cut.Stop = "max_tokens"
	same := llmtest.Say(llmtest.Tool("Read", map[string]any{"n": 1}), llmtest.Tool("Read", map[string]any{"n": 2}))
	same.Shape = []string{"ids_same"}
	none := llmtest.Say(llmtest.Tool("Read", map[string]any{"n": 1}))
	none.Shape = []string{"ids_empty"}
	long := llmtest.Say(llmtest.Part{Tool: "Read", Input: []byte(`{}`), ID: "call_" + strings.Repeat("x", 50)})
	for name, r := range map[string]llmtest.Reply{
		"cut": cut, "ids repeated": same, "ids missing": none,
		"a long id": long,
	} {
		k := newTalk(t, llmtest.Options{}, Config{Retry: llm.RetryPolicy{Max: -1}}, r, steps(1)[0])
		k.step()
		k.step()
		k.want("1.1 2.1")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}
