package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// twenty writes to a state folder the lists that earlier runs remembered of 20 servers with 40 tools each, and returns
// the servers' configuration.
func twenty(t testing.TB, state string) (config string) {
	t.Helper()
	servers := map[string]any{}
	for i := range 20 {
		servers[fmt.Sprintf("server%d", i)] = map[string]any{"command": "true"}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := entry.Read(entry.Places{Flags: []string{string(text)}, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	var tools []client.Tool
	for i := range 40 {
		tools = append(tools, client.Tool{
			Name: fmt.Sprintf("tool_number_%d", i), Description: strings.Repeat(
				fmt.Sprintf("Does the thing number %d with some words about it. ", i), 3),
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"path":{"type":"string","description":"the path of it"},"count":{"type":"integer"}},"required":["path"]}`),
		})
	}
	for _, e := range entries {
		if err := approved.WriteJSON(filepath.Join(state, "mcp", "tools", e.Sum()[:32]+".json"),
			map[string]any{"tools": tools}); err != nil {
			t.Fatal(err)
		}
	}
	return string(text)
}

// The schemas of 800 tools stay out of the first request: it names the servers.
func TestTwentyKnownServersAddLittleToTheFirstRequest(t *testing.T) {
	first := func(servers bool) string {
		f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("Hello."))))
		s := f.open(t, func(o *conversation.Options) {
			if servers {
				o.Servers = serverset.Flags{Configs: []string{twenty(t, filepath.Join(f.home, ".local/state/lathe"))}}
			}
		}, conversation.SessionOptions{})
		if _, err := s.Prompt(t.Context(), llm.UserText("hi")); err != nil {
			t.Fatal(err)
		}
		return f.request(t, 1)
	}
	none, all := first(false), first(true)
	if more := len(all) - len(none); more > 3000 || !strings.Contains(all, "mcp__server7__") {
		t.Errorf("%d bytes more:\n%s", more, all[max(0, len(all)-4000):])
	} else {
		t.Logf("%d bytes more than the %d without servers", more, len(none))
	}
}

// BenchmarkTwentyKnownServers is what 20 servers with 40 tools each add to a start.
func BenchmarkTwentyKnownServers(b *testing.B) {
	state, dir := b.TempDir(), b.TempDir()
	places := entry.Places{Flags: []string{twenty(b, state)}, Strict: true, Lookup: os.LookupEnv}
	o := mcp.Options{
		Places: func() entry.Places { return places }, StateHome: state, Root: dir, Dir: dir,
		Runner: sandbox.New(), Environ: os.Environ,
	}
	for b.Loop() {
		s := mcp.New(o)
		w := s.Join(mcp.Seat{})
		sent, found := w.Tools(200_000, func(string) bool { return false })
		if len(sent) != 0 || len(found) != 800 {
			b.Fatal(len(sent), len(found))
		}
		_ = s.Close()
	}
	b.ReportMetric(800, "tools")
}

// BenchmarkCall is a call of a tool over standard input and output, to a server that answers at once. What the pipes
// and the server need is in it.
func BenchmarkCall(b *testing.B) {
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"quick": self("hostile")}})
	if err != nil {
		b.Fatal(err)
	}
	runner := sandbox.New()
	defer runner.Close()
	dir := b.TempDir()
	set := mcp.New(mcp.Options{
		Places: func() entry.Places {
			return entry.Places{Flags: []string{string(text)}, Strict: true, Lookup: os.LookupEnv}
		},
		Root: dir, Dir: dir, Runner: runner, Environ: os.Environ,
	})
	defer set.Close()
	view := set.Join(mcp.Seat{Waits: true})
	if _, err := view.Hook().Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	sent, found := view.Tools(200_000, func(string) bool { return false })
	tools := append(append([]agent.Tool{}, sent...), found...)
	if len(tools) != 1 {
		b.Fatal(len(tools), set.Status())
	}
	for b.Loop() {
		plan, err := tools[0].Prepare(b.Context(), llm.ToolCall{
			ID: "toolu_1", Name: tools[0].Spec().Name,
			Input: json.RawMessage("{}"),
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := plan.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
