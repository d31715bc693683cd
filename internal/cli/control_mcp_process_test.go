//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// decider is a server whose tool decides on calls, and sends what it was asked; the address is that of an entry.
func decider(t *testing.T, verdict string) (config string, asked chan map[string]any) {
	t.Helper()
	asked = make(chan map[string]any, 10)
	s := sdk.NewServer(&sdk.Implementation{Name: "decider", Version: "3"}, nil)
	s.AddTool(&sdk.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			in := map[string]any{}
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			asked <- in
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: verdict}}}, nil
		})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return fmt.Sprintf(`{"mcpServers": {"x": {"type": "http", "url": %q}}}`, srv.URL), asked
}

func TestAServersToolDecidesOnCalls(t *testing.T) {
	for verdict, made := range map[string]bool{
		`{"behavior":"allow"}`:                          true,
		`{"behavior":"deny","message":"not this time"}`: false,
		`perhaps`: false,
	} {
		config, asked := decider(t, verdict)
		d := drive(t, "reply\n  call Write {\"file_path\":\"made\",\"content\":\"x\"}\nfinal\n  say Done.\n", "--mcp-config",
			config, "--permission-prompt-tool", "mcp__x__ask")
		d.send(said("make it", "one"))
		d.kind("result")
		if _, err := os.Stat(filepath.Join(d.dir, "made")); (err == nil) != made {
			t.Errorf("%s: %v", verdict, err)
		}
		select {
		case in := <-asked:
			if in["tool_name"] != "Write" {
				t.Errorf("%v", in)
			}
		default:
			t.Errorf("%s: the tool was not asked", verdict)
		}
		d.end()
	}
}

func TestTheHostSeesAndSwitchesTheServers(t *testing.T) {
	config, _ := decider(t, "")
	d := drive(t, "final\n  say Done.\n", "--mcp-config", config)
	n := 0
	ask := func(request string) map[string]any {
		t.Helper()
		n++
		d.send(fmt.Sprintf(`{"type":"control_request","request_id":"r%d","request":%s}`, n, request))
		r, _ := d.kind("control_response")["response"].(map[string]any)
		return r
	}
	state := func() map[string]any {
		t.Helper()
		r, _ := ask(`{"subtype":"mcp_status"}`)["response"].(map[string]any)
		all, _ := r["mcpServers"].([]any)
		if len(all) != 1 {
			t.Fatalf("%v", r)
		}
		one, _ := all[0].(map[string]any)
		return one
	}
	if r := ask(`{"subtype":"mcp_reconnect","serverName":"x"}`); r["subtype"] != "success" {
		t.Errorf("%v", r)
	}
	if s := state(); s["status"] != "connected" || fmt.Sprint(s["serverInfo"],
		s["tools"]) != "map[name:decider version:3] [map[name:ask]]" {
		t.Errorf("%v", s)
	}
	if r := ask(`{"subtype":"mcp_toggle","serverName":"x","enabled":false}`); r["subtype"] != "success" ||
		state()["status"] != "disabled" {
		t.Errorf("%v", r)
	}
	if r := ask(`{"subtype":"mcp_reconnect","serverName":"nobody"}`); r["subtype"] != "error" {
		t.Errorf("%v", r)
	}
	d.end()
}
