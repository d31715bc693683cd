//go:build linux || darwin

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// asker is a server whose tools ask the user: one with a form, one with an address. The results of the questions come
// over the channel.
func asker(t *testing.T) (config string, results chan *sdk.ElicitResult) {
	t.Helper()
	results = make(chan *sdk.ElicitResult, 10)
	s := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, nil)
	add := func(name string, p *sdk.ElicitParams) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				answer, err := r.Session.Elicit(ctx, p)
				if err != nil {
					return nil, err
				}
				results <- answer
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "it was: " + answer.Action}}}, nil
			})
	}
	add("form", &sdk.ElicitParams{Message: "Where shall it go?\x1b[31m", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","enum":["north","south"]},"name":{"type":"string","title":"Name of the host"}},"required":["region","name"]}`,
	)})
	add("address", &sdk.ElicitParams{
		Mode: "url", Message: "Sign in first", URL: "https://login.example.com/start?x=1",
		ElicitationID: "e1",
	})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return fmt.Sprintf(`{"mcpServers": {"asker": {"type": "http", "url": %q, "alwaysLoad": true}}}`, srv.URL), results
}

// waitForServers has the first request wait for the servers, so that the script can call their tools.
var waitForServers = []string{"MCP_CONNECTION_NONBLOCKING=0"}

// callsServer makes a call of a server's tool, and says what came of it.
func callsServer(tool string) *llmtest.Script {
	return llmtest.Replies(llmtest.Say(llmtest.Tool("mcp__asker__"+tool, map[string]any{})),
		llmtest.Say(llmtest.Text("That was it.")))
}

func TestAServersFormIsAnsweredInTheTerminal(t *testing.T) {
	config, results := asker(t)
	s := converseWith(t, "xterm-256color", callsServer("form"), waitForServers, "--mcp-config", config, "--allowedTools",
		"mcp__asker", "hello")
	s.Sees("Where shall it go?")
	s.Shows("The MCP server asker asks")
	s.Press("1", "south") // answer it
	s.Press("2", "Name of the host")
	s.Type("alpha\r")
	s.Press("1", "That was it.") // send the answers
	if r := <-results; r.Action != "accept" || fmt.Sprint(r.Content) != "map[name:alpha region:south]" {
		t.Errorf("%+v", r)
	}
	s.Press("\x03", "again leaves")
	s.Type("\x03")
	if out := ended(t, s, 0); strings.Contains(out, "go?\x1b[31m") {
		t.Errorf("the server's control sequence reached the terminal: %q", out)
	}
}

func TestAServersAddressIsShownInTheTerminalAndCanBeDeclined(t *testing.T) {
	config, results := asker(t)
	s := converseWith(t, "xterm-256color", callsServer("address"), waitForServers, "--mcp-config", config,
		"--allowedTools", "mcp__asker", "hello")
	s.Sees("https://login.example.com/start?x=1")
	s.Press("2", "That was it.")
	if r := <-results; r.Action != "decline" {
		t.Errorf("%+v", r)
	}
	s.Press("\x03", "again leaves")
	s.Type("\x03")
	ended(t, s, 0)
}

func TestAHostAnswersAServersForm(t *testing.T) {
	config, results := asker(t)
	d := drive(t, "reply\n  call mcp__asker__form {}\nfinal\n  say Done.\n", "--mcp-config", config, "--allowedTools",
		"mcp__asker")
	d.send(said("go", "one"))
	asked := d.kind("control_request")
	request, _ := asked["request"].(map[string]any)
	if request["subtype"] != "elicitation" || request["mcp_server_name"] != "asker" || request["requested_schema"] == nil {
		t.Errorf("%v", request)
	}
	d.send(
		fmt.Sprintf(
			`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"action":"accept","content":{"region":"south","name":"alpha"}}}}`, asked["request_id"]))
	d.kind("result")
	if r := <-results; r.Action != "accept" || fmt.Sprint(r.Content) != "map[name:alpha region:south]" {
		t.Errorf("%+v", r)
	}
	d.end()
}

func TestAServersFormIsAnsweredInPlainLines(t *testing.T) {
	config, results := asker(t)
	s := converseWith(t, "dumb", callsServer("form"), waitForServers, "--mcp-config", config, "--allowedTools",
		"mcp__asker", "hello")
	s.Sees("Where shall it go?")
	s.Sees("? ")
	s.Type("1\r")
	s.Sees("south")
	s.Sees("? ")
	s.Type("2\r")
	s.Sees("Name of the host")
	s.Sees("? ")
	s.Type("alpha\r")
	s.Sees("That was it.")
	if r := <-results; r.Action != "accept" || fmt.Sprint(r.Content) != "map[name:alpha region:south]" {
		t.Errorf("%+v", r)
	}
	s.Sees("> ")
	s.Type("\x04")
	ended(t, s, 0)
}

func TestAServersAddressIsAcceptedInPlainLines(t *testing.T) {
	config, results := asker(t)
	s := converseWith(t, "dumb", callsServer("address"), waitForServers, "--mcp-config", config, "--allowedTools",
		"mcp__asker", "hello")
	s.Sees("https://login.example.com/start?x=1")
	s.Sees("? ")
	s.Type("1\r")
	s.Sees("That was it.")
	if r := <-results; r.Action != "accept" {
		t.Errorf("%+v", r)
	}
	s.Sees("> ")
	s.Type("\x04")
	ended(t, s, 0)
}

func TestAHostDeclinesAServersAddress(t *testing.T) {
	config, results := asker(t)
	d := drive(t, "reply\n  call mcp__asker__address {}\nfinal\n  say Done.\n", "--mcp-config", config, "--allowedTools",
		"mcp__asker")
	d.send(said("go", "one"))
	asked := d.kind("control_request")
	request, _ := asked["request"].(map[string]any)
	want := map[string]any{
		"subtype": "elicitation", "mcp_server_name": "asker", "mode": "url", "message": "Sign in first",
		"url": "https://login.example.com/start?x=1", "elicitation_id": "e1",
	}
	for name, value := range want {
		if request[name] != value {
			t.Errorf("%s is %v, want %v", name, request[name], value)
		}
	}
	d.send(
		fmt.Sprintf(
			`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"action":"decline"}}}`,
			asked["request_id"]))
	d.kind("result")
	if r := <-results; r.Action != "decline" {
		t.Errorf("%+v", r)
	}
	d.end()
}
