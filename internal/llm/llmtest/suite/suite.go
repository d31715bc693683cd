// Package suite is the conformance suite for model providers, over real HTTP against the scripted server of
// package llmtest. A provider's test is a few lines:
//
//	suite.Run(t, func(t testing.TB, baseURL string, o suite.Options) llm.Model {
//		p := openai.New(openai.Config{BaseURL: baseURL, APIKey: o.Key, HTTP: o.HTTP, Retry: o.Retry, ...})
//		m, err := p.Model(t.Context(), "gpt-4o")
//		...
//	}, suite.Traits{...})
//
// In addition, every stream is checked against the promises of package llm (see outcome.check): indexes never
// decrease, the message equals its deltas, a call is ready once and only when complete, no retry follows, and
// so on.
//
// The package imports testing, so only tests may import it.
package suite

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// Options are settings of the provider under test.
type Options struct {
	Key          string
	HTTP         *http.Client
	Retry        llm.RetryPolicy
	Clock        llm.Clock
	StallTimeout time.Duration // also for headers
	Prepare      llm.Prepare
}

// Make makes a model of the provider at a base URL.
type Make func(t testing.TB, baseURL string, o Options) llm.Model

// Traits are the capabilities of a wire.
type Traits struct {
	Wire        string           // the server's name for it: "anthropic", "chat", "responses"
	Effort      llm.Effort       // that makes the model think; "" if the wire has no reasoning
	Signatures  bool             // reasoning is signed, and there is redacted reasoning
	Stops       []llm.StopReason // besides end_turn and tool_use
	CacheWrites bool             // usage reports cache writes
	Whole       bool             // accepts single JSON replies
	ReadyAtEnd  bool             // the wire marks the end of a call; else it is known when the next part begins
	Shapes      []string         // irregularities of llmtest.Shapes that it must handle
	Signed      []string         // shapes whose signatures must be sent back; "" is a reply without a shape
	Costs       bool             // usage reports the cost
	Sealed      bool             // reasoning goes back as data that only its host can read
	Unnumbered  bool             // calls of other providers have no ids: results belong to them by their order
	NoForbid    bool             // the wire cannot forbid calls where there are tools
	Socket      bool             // steps of a conversation go over one WebSocket
	Choice      string           // the member that restricts the choice of tools; "" means tool_choice
}

type test struct {
	make   Make
	traits Traits
	client *http.Client
}

// Run runs the suite.
func Run(t *testing.T, mk Make, traits Traits) {
	leaks := goleak.IgnoreCurrent()
	client, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	c := &test{mk, traits, client}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Replies", c.replies},
		{"Requests", c.requests},
		{"Signatures", c.signatures},
		{"Faults", c.faults},
		{"Cuts", c.cuts},
		{"Endings", c.endings},
		{"Conversation", c.conversation},
	} {
		t.Run(part.name, part.run)
	}
	client.CloseIdleConnections()
	goleak.VerifyNone(t, leaks)
}

// Serve starts a server for a script and stops it after the test.
func Serve(t testing.TB, s *llmtest.Script, o llmtest.Options) *llmtest.Server {
	t.Helper()
	srv := llmtest.New(s, o)
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// quick retries almost without delay.
var quick = llm.RetryPolicy{Base: time.Millisecond, Cap: 2 * time.Millisecond, Jitter: -1}

// never does not retry.
var never = llm.RetryPolicy{Max: -1}

// scene is a server and a model that talks to it.
type scene struct {
	*test
	t     *testing.T
	srv   *llmtest.Server
	model llm.Model
}

const key = "sk-suite-0123456789"

func (c *test) scene(t *testing.T, retry llm.RetryPolicy, replies ...llmtest.Reply) *scene {
	t.Helper()
	return c.sceneWith(t, Options{Retry: retry}, replies...)
}

func (c *test) sceneWith(t *testing.T, o Options, replies ...llmtest.Reply) *scene {
	t.Helper()
	srv := Serve(t, llmtest.Replies(replies...), llmtest.Options{Key: key, ReasoningBack: c.traits.Effort != ""})
	if o.Prepare == nil {
		o.Key = key
	}
	o.HTTP = c.client
	return &scene{c, t, srv, c.make(t, srv.URL(), o)}
}

var tools = []llm.ToolSpec{
	{
		Name: "Read", Description: "Reads a file.",
		Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}`),
	},
	{
		Name: "Bash", Description: "Runs a <command> & more.",
		Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
	},
}

// request is a conversation that begins with one user message.
func (c *test) request(msgs ...llm.Message) *llm.Request {
	if len(msgs) == 0 {
		msgs = []llm.Message{llm.UserText("Please fix the failing test.")}
	}
	return &llm.Request{
		System:   []llm.Part{llm.Text{Text: "You are a careful engineer."}},
		Messages: msgs, Tools: tools, Effort: c.traits.Effort,
	}
}

// ask runs one request to its end and checks the promises.
func (s *scene) ask(req *llm.Request) *outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	o := stream(ctx, s.model, req, nil)
	o.check(s.t)
	return o
}

// done is ask for a request that must succeed.
func (s *scene) done(req *llm.Request) *outcome {
	s.t.Helper()
	o := s.ask(req)
	if o.err != nil {
		s.t.Fatalf("the request failed: %v", o.err)
	}
	return o
}

// failed is ask for a request that must fail with an *llm.Error.
func (s *scene) failed(req *llm.Request) *llm.Error {
	s.t.Helper()
	o := s.ask(req)
	e := llm.AsError(o.err)
	if e == nil {
		s.t.Fatalf("want an *llm.Error, got %v with %+v", o.err, o.message)
	}
	if e.Message == "" || e.Hint == "" {
		s.t.Errorf("the error does not say what happened and what to do: %+v", e)
	}
	return e
}

func (s *scene) wantRequests(n int) {
	s.t.Helper()
	if got := len(s.srv.Requests()); got != n {
		s.t.Errorf("the server got %d requests, want %d", got, n)
	}
}

// waitEnded waits until the server is done with n requests.
func (s *scene) waitEnded(n int) []llmtest.Request {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	if err := s.srv.WaitEnded(ctx, n); err != nil {
		s.t.Fatal(err)
	}
	return s.srv.Requests()
}

func read(path string) llmtest.Part {
	return llmtest.Tool("Read", map[string]any{"file_path": path})
}

func bash(command string) llmtest.Part {
	return llmtest.Tool("Bash", map[string]any{"command": command})
}

// calls are the tool calls of a message that may be missing.
func calls(m *llm.Message) []llm.ToolCall {
	if m == nil {
		return nil
	}
	return m.Calls()
}

func inputs(m *llm.Message) []string {
	var out []string
	for _, c := range calls(m) {
		out = append(out, c.Name+" "+string(c.Input))
	}
	return out
}

func (c *test) wantInputs(t *testing.T, m *llm.Message, want ...string) {
	t.Helper()
	if got := inputs(m); !slices.Equal(got, want) {
		t.Errorf("calls are\n %q, want\n %q", got, want)
	}
}
