package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// remembering is a home in which lathe runs several times with one MCP server, made with the official SDK, whose tools
// the test changes.
type remembering struct {
	home, dir, settings string
	tools               atomic.Pointer[[]string]
	gate                atomic.Pointer[chan struct{}] // the server answers nothing before it is closed
}

func newRemembering(t *testing.T, tools ...string) *remembering {
	t.Helper()
	r := &remembering{home: t.TempDir()}
	r.dir = filepath.Join(r.home, "p")
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.offer(tools...)
	r.shut()
	r.open()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return r.server() },
		&sdk.StreamableHTTPOptions{Stateless: true})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		select {
		case <-*r.gate.Load():
			handler.ServeHTTP(w, q)
		case <-t.Context().Done():
		}
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	r.settings = fmt.Sprintf(`"mcpServers": {"x": {"type": "http", "url": %q}}, "permissions": {"allow": ["mcp__x"]}`,
		srv.URL)
	return r
}

func (r *remembering) offer(tools ...string) { r.tools.Store(&tools) }
func (r *remembering) open()                 { close(*r.gate.Load()) }
func (r *remembering) shut()                 { gate := make(chan struct{}); r.gate.Store(&gate) }

func (r *remembering) server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "x", Version: "1"}, nil)
	for _, name := range *r.tools.Load() {
		s.AddTool(&sdk.Tool{
			Name: name, Description: "Does " + name + ".",
			InputSchema: json.RawMessage(`{"type":"object"}`),
		}, func(context.Context, *sdk.CallToolRequest) (
			*sdk.CallToolResult, error,
		) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "this is " + name}}}, nil
		})
	}
	return s
}

// ran is one run of lathe.
type ran struct {
	init     map[string]any
	requests []string
	stdout   string
	stderr   string
}

// run runs lathe with more settings. Meanwhile the test may do something, once n requests to the model have come.
func (r *remembering) run(t *testing.T, script *llmtest.Script, settings string, n int, meanwhile func()) ran {
	t.Helper()
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	c := exec.Command(buildLathe(t), "-p", "--output-format", "stream-json", "--verbose", "--settings", "{"+r.settings+
		settings+"}", "go")
	c.Dir = r.dir
	c.Env = []string{
		"HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "PWD=" + r.dir, "ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=sk-test",
	}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		if err := srv.Wait(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		meanwhile()
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	out := ran{stdout: stdout.String(), stderr: stderr.String()}
	for line := range strings.Lines(out.stdout) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m["subtype"] == "init" {
			out.init = m
		}
	}
	for _, q := range srv.Requests() {
		out.requests = append(out.requests, string(q.Body))
	}
	return out
}

// sends reports whether the nth request has the schema of a tool of the server.
func (r ran) sends(n int, tool string) bool {
	var body struct{ Tools []struct{ Name string } }
	return json.Unmarshal([]byte(r.requests[n-1]), &body) == nil && slices.ContainsFunc(body.Tools,
		func(t struct{ Name string }) bool { return t.Name == "mcp__x__"+tool })
}

func (r ran) state() string { return fmt.Sprint(r.init["mcp_servers"]) }

func calls(tools ...string) *llmtest.Script {
	var replies []llmtest.Reply
	for _, name := range tools {
		replies = append(replies, llmtest.Say(llmtest.Tool("mcp__x__"+name, map[string]any{})))
	}
	return llmtest.Replies(append(replies, llmtest.Say(llmtest.Text("Done.")))...)
}

// The first request has the tools of a server that lathe waits for once, and then of one that it remembers, while the
// server still starts.
func TestTheFirstRequestHasTheToolsOfConfiguredServers(t *testing.T) {
	r := newRemembering(t, "echo")
	first := r.run(t, calls(), "", 0, nil)
	if !first.sends(1, "echo") || first.state() != "[map[name:x status:connected]]" ||
		!strings.Contains(fmt.Sprint(first.init["tools"]), "mcp__x__echo") {
		t.Errorf("not known: %v\n%s", first.init, first.requests[0])
	}
	r.shut()
	second := r.run(t, calls("echo"), "", 1, r.open)
	if !second.sends(1, "echo") || second.state() != "[map[name:x status:pending]]" ||
		!strings.Contains(second.requests[1], "this is echo") {
		t.Errorf("known: %v\n%s", second.init, second.requests)
	}
}

func TestARunGoesOnWithoutAServerThatDoesNotAnswer(t *testing.T) {
	r := newRemembering(t, "echo")
	r.shut()
	got := r.run(t, calls(), `, "env": {"MCP_TIMEOUT": "1500"}`, 0, nil)
	if got.sends(1, "echo") || got.state() != "[map[name:x status:failed]]" {
		t.Errorf("%v", got.init)
	}
	waits, left := strings.Index(got.stderr, "waiting for x"),
		strings.Index(got.stderr, "the MCP server x did not start: it did not answer within 1.5s")
	if waits < 0 || left < waits || !strings.Contains(got.stderr[left:], "the run goes on without it") {
		t.Errorf("%s", got.stderr)
	}
}

// The tools of a server are others than it listed in an earlier run: the list that is sent grows, and the next run has
// the new one.
func TestAServerHasOtherToolsThanRemembered(t *testing.T) {
	r := newRemembering(t, "echo", "gone")
	r.run(t, calls(), "", 0, nil)
	r.offer("echo", "added")
	second := r.run(t, calls("gone", "echo", "gone"), "", 0, nil)
	if !second.sends(1, "gone") || second.sends(1, "added") || !second.sends(4, "gone") {
		t.Errorf("%s", second.requests)
	}
	for n, want := range map[int]string{
		2: "The MCP server x has no tool gone any more", 3: "this is echo",
		4: "The tool mcp__x__gone is not available any more",
	} {
		if !strings.Contains(second.requests[n-1], want) {
			t.Errorf("request %d lacks %q:\n%s", n, want, end(second.requests[n-1]))
		}
	}
	if !strings.Contains(second.requests[1], "mcp__x__*: added") {
		t.Errorf("the new tool is not announced:\n%s", end(second.requests[1]))
	}
	third := r.run(t, calls("added"), "", 0, nil)
	if third.sends(1, "gone") || !third.sends(1, "added") || !strings.Contains(third.requests[1], "this is added") {
		t.Errorf("%s", third.requests)
	}
}

func end(body string) string { return body[max(0, len(body)-1500):] }
