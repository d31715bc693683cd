package mcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// inProcess is a host with one server of the official SDK in its process.
func inProcess(t *testing.T) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	t.Helper()
	ours, theirs := sdk.NewInMemoryTransports()
	s, err := newOfficial().Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	conn, err := ours.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, _ string, message json.RawMessage) (json.RawMessage, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		m, err := jsonrpc.DecodeMessage(message)
		if err != nil {
			return nil, err
		}
		if err := conn.Write(ctx, m); err != nil {
			return nil, err
		}
		r, ok := m.(*jsonrpc.Request)
		if !ok || !r.IsCall() {
			return json.RawMessage(`{"jsonrpc":"2.0","result":{}}`), nil
		}
		for {
			answer, err := conn.Read(ctx)
			if err != nil {
				return nil, err
			}
			if _, ok := answer.(*jsonrpc.Response); ok {
				return jsonrpc.EncodeMessage(answer)
			}
		}
	}
}

func TestAServerInTheHostsProcessIsUsed(t *testing.T) {
	host := inProcess(t)
	b := newBench(t, map[string]any{"mine": map[string]string{"type": "sdk", "name": "mine"}},
		func(o *mcp.Options) { o.Host = host })
	b.start(t)
	if got := b.text(t, "mcp__mine__echo", `{"text":"in process"}`); got != "echo: in process" {
		t.Errorf("%q", got)
	}
}

// Every host may call its server by the same name, so nothing is remembered of it: another run asks it first.
func TestTheToolsOfAHostsServerAreNotRemembered(t *testing.T) {
	servers := map[string]any{"mine": map[string]string{"type": "sdk", "name": "mine"}}
	b := newBench(t, servers, func(o *mcp.Options) { o.Host = inProcess(t) })
	b.start(t)
	if len(b.tools(t)) == 0 {
		t.Fatal("no tools")
	}
	b.open(t, servers, func(o *mcp.Options) { o.Host = inProcess(t) })
	if tools := b.tools(t); len(tools) > 0 {
		t.Errorf("%d tools of another host are offered", len(tools))
	}
	b.start(t)
	if got := b.text(t, "mcp__mine__echo", `{"text":"again"}`); got != "echo: again" {
		t.Errorf("%q", got)
	}
}

func TestTheHostReplacesItsServersWhileTheSessionRuns(t *testing.T) {
	b := newBench(t, map[string]any{"old": self("official")},
		func(o *mcp.Options) { o.Places = func() entry.Places { return entry.Places{} } })
	b.start(t)
	one := map[string]json.RawMessage{
		"one":       json.RawMessage(object(t, self("official"))),
		"bad__name": json.RawMessage(`{}`),
	}
	added, removed, faults := b.set.SetServers(t.Context(), one)
	if !slices.Equal(added, []string{"one"}) || len(removed) > 0 || len(faults) != 1 || b.text(t, "mcp__one__echo",
		`{"text":"x"}`) != "echo: x" {
		t.Errorf("%q %q %q", added, removed, faults)
	}
	added, removed, _ = b.set.SetServers(t.Context(),
		map[string]json.RawMessage{"two": json.RawMessage(object(t, self("official")))})
	if !slices.Equal(added, []string{"two"}) || !slices.Equal(removed, []string{"one"}) ||
		b.tools(t)["mcp__one__echo"] != nil || b.tools(t)["mcp__two__echo"] == nil {
		t.Errorf("%q %q", added, removed)
	}
	if err := b.set.Toggle("two", false); err != nil || len(b.tools(t)) > 0 || b.set.Status()[0].State != mcp.Disabled {
		t.Errorf("%v %+v", err, b.set.Status())
	}
	if err := b.set.Toggle("two", true); err != nil || b.text(t, "mcp__two__echo", `{"text":"x"}`) != "echo: x" {
		t.Errorf("%v", err)
	}
}

func TestAToolThatTheUserAppointedIsCalledByItsName(t *testing.T) {
	b := newBench(t, map[string]any{"off": self("official")})
	if got, err := b.set.CallRaw(t.Context(), "mcp__off__echo", json.RawMessage(`{"text":"x"}`)); got != "echo: x" ||
		err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := b.set.CallRaw(t.Context(), "mcp__off__none", json.RawMessage(`{}`)); err == nil {
		t.Error("a tool that is not there was called")
	}
}
