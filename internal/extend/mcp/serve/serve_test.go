package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serve"
)

func text(t string) client.Result {
	return client.Result{Content: []client.Content{{Type: "text", Text: t}}}
}

// offered are tools that use all that a call can do. Cancelled gets the end of each call of wait.
func offered(cancelled chan error) serve.Options {
	object := json.RawMessage(`{"type":"object"}`)
	return serve.Options{Info: client.Info{Name: "test", Version: "1"}, Instructions: "Be brief.", Tools: []serve.Tool{
		{
			Name: "echo", Description: "Echoes.", Input: object, Hints: &serve.Hints{ReadOnly: true},
			Call: func(_ context.Context, c *serve.Call) (client.Result, error) { return text(string(c.Arguments)), nil },
		},
		{Name: "fail", Description: "Fails.", Input: object, Call: func(context.Context, *serve.Call) (client.Result, error) {
			return client.Result{}, errors.New("no luck")
		}},
		{Name: "ask", Description: "Asks.", Input: object, Call: func(ctx context.Context, c *serve.Call) (client.Result,
			error,
		) {
			c.Progress(ctx, "asking")
			content, ok, err := c.Ask(ctx, "Really?", map[string]any{
				"type":       "object",
				"properties": map[string]any{"choice": map[string]any{"type": "string", "enum": []string{"yes", "no"}}},
			})
			if err != nil {
				return client.Result{}, err
			}
			answer, _ := content["choice"].(string)
			if !ok {
				answer = "declined"
			}
			return text(answer), nil
		}},
		{Name: "wait", Description: "Waits.", Input: object, Call: func(ctx context.Context, c *serve.Call) (client.Result,
			error,
		) {
			c.Progress(ctx, "waiting")
			<-ctx.Done()
			cancelled <- ctx.Err()
			return client.Result{}, ctx.Err()
		}},
	}}
}

// peers are the ways to connect; each returns a transport of the official SDK.
var peers = map[string]func(t *testing.T, o serve.Options) sdk.Transport{
	"stdio": func(t *testing.T, o serve.Options) sdk.Transport {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- serve.Stdio(t.Context(), o, in, out, func() error { return errors.Join(in.Close(), out.Close()) })
		}()
		t.Cleanup(func() {
			_ = toServer.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return &sdk.IOTransport{Reader: fromServer, Writer: toServer}
	},
	"http": func(t *testing.T, o serve.Options) sdk.Transport {
		srv := httptest.NewServer(serve.NewHTTP(o, "s3cret"))
		t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
		return &sdk.StreamableClientTransport{
			Endpoint:   srv.URL + "/mcp",
			HTTPClient: &http.Client{Transport: bearer("s3cret")}, DisableStandaloneSSE: true,
		}
	},
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func first(r *sdk.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	t, _ := r.Content[0].(*sdk.TextContent)
	return t.Text
}

func TestTheOfficialClientUsesAll(t *testing.T) {
	for name, connect := range peers {
		t.Run(name, func(t *testing.T) {
			cancelled, progress := make(chan error, 1), make(chan string, 10)
			var answer *sdk.ElicitResult
			c := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					if r.Params.Message != "Really?" {
						t.Errorf("%q", r.Params.Message)
					}
					return answer, nil
				},
				ProgressNotificationHandler: func(_ context.Context,
					r *sdk.ProgressNotificationClientRequest,
				) {
					progress <- r.Params.Message
				},
			})
			s, err := c.Connect(t.Context(), connect(t, offered(cancelled)), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := s.InitializeResult(); got.Instructions != "Be brief." || got.ServerInfo.Name != "test" {
				t.Errorf("%+v", got)
			}
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 4 || !list.Tools[0].Annotations.ReadOnlyHint {
				t.Fatalf("%+v, %v", list, err)
			}
			call := func(name string) *sdk.CallToolResult {
				t.Helper()
				p := &sdk.CallToolParams{Name: name, Arguments: map[string]any{"a": 1}}
				p.SetProgressToken("token")
				r, err := s.CallTool(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := call("echo"); first(r) != `{"a":1}` || r.IsError {
				t.Errorf("%+v", r)
			}
			if r := call("fail"); first(r) != "no luck" || !r.IsError {
				t.Errorf("%+v", r)
			}
			answer = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": "yes"}}
			if r := call("ask"); first(r) != "yes" {
				t.Errorf("%+v", r)
			}
			if got := <-progress; got != "asking" {
				t.Error(got)
			}
			answer = &sdk.ElicitResult{Action: "decline"}
			if r := call("ask"); first(r) != "declined" {
				t.Errorf("%+v", r)
			}
			<-progress
			ctx, cancel := context.WithCancel(t.Context())
			p := &sdk.CallToolParams{Name: "wait"}
			p.SetProgressToken("other")
			done := make(chan error, 1)
			go func() { _, err := s.CallTool(ctx, p); done <- err }()
			<-progress
			cancel()
			if err := <-done; err == nil {
				t.Error("the cancelled call has a result")
			}
			if err := <-cancelled; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "none"}); err == nil ||
				!strings.Contains(err.Error(), "no tool") {
				t.Error(err)
			}
		})
	}
}

func TestAClientThatCannotAskIsNotAsked(t *testing.T) {
	for name, connect := range peers {
		t.Run(name, func(t *testing.T) {
			s, err := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "1"}, nil).Connect(t.Context(),
				connect(t, offered(nil)), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask"})
			if err != nil || !r.IsError || first(r) != serve.ErrNobody.Error() {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`

func TestOverHTTPOnlyProgramsHereWithTheTokenConnect(t *testing.T) {
	srv := httptest.NewServer(serve.NewHTTP(offered(nil), "s3cret"))
	t.Cleanup(srv.Close)
	good := map[string]string{"Authorization": "Bearer s3cret", "Content-Type": "application/json"}
	for name, c := range map[string]struct {
		change map[string]string // of the headers; Host is the request's
		method string
		path   string
		body   string
		want   int
	}{
		"all is right":             {want: 200},
		"a page of this machine":   {change: map[string]string{"Origin": "http://localhost:3000"}, want: 200},
		"no token":                 {change: map[string]string{"Authorization": ""}, want: 401},
		"another token":            {change: map[string]string{"Authorization": "Bearer s3cre"}, want: 401},
		"another scheme":           {change: map[string]string{"Authorization": "Basic s3cret"}, want: 401},
		"a page of the web":        {change: map[string]string{"Origin": "https://evil.example.com"}, want: 403},
		"a page without an origin": {change: map[string]string{"Origin": "null"}, want: 403},
		"a name that was rebound":  {change: map[string]string{"Host": "evil.example.com"}, want: 403},
		"a name that looks local":  {change: map[string]string{"Host": "localhost.evil.example.com"}, want: 403},
		"a form":                   {change: map[string]string{"Content-Type": "text/plain"}, want: 415},
		"an unknown version":       {change: map[string]string{"MCP-Protocol-Version": "1999-01-01"}, want: 400},
		"no JSON":                  {body: "{", want: 400},
		"a list of messages":       {body: "[" + hello + "]", want: 400},
		"no session":               {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, want: 400},
		"a session that has ended": {
			change: map[string]string{"Mcp-Session-Id": "x"},
			body:   `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, want: 404,
		},
		"a message without an end": {body: `{"jsonrpc":"2.0","x":"` + strings.Repeat("x", 9<<20), want: 413},
		"a stream of what comes":   {method: http.MethodGet, want: 405},
		"another address":          {path: "/", want: 404},
		"the end of an unknown":    {method: http.MethodDelete, want: 204},
	} {
		t.Run(name, func(t *testing.T) {
			method, path, body := c.method, c.path, c.body
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = "/mcp"
			}
			if body == "" {
				body = hello
			}
			r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, headers := range []map[string]string{good, c.change} {
				for name, value := range headers {
					r.Header.Set(name, value)
				}
			}
			if host := c.change["Host"]; host != "" {
				r.Host = host
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("status %d, want %d", resp.StatusCode, c.want)
			}
		})
	}
}

func TestOtherMachinesAreNotListenedTo(t *testing.T) {
	for _, address := range []string{":8765", "0.0.0.0:0", "[::]:0", "192.0.2.1:80", "example.com:80"} {
		err := serve.NewHTTP(offered(nil), "x").Listen(t.Context(), address,
			func(string) { t.Errorf("%s is listened to", address) })
		if err == nil || !strings.Contains(err.Error(), "this machine") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestVersionsAreNegotiated(t *testing.T) {
	srv := httptest.NewServer(serve.NewHTTP(offered(nil), "x"))
	t.Cleanup(srv.Close)
	for _, asked := range append(slices.Clone(client.Handshakes()), "2099-01-01", "") {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/mcp",
			strings.NewReader(strings.Replace(hello, "2025-06-18", asked, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Result struct{ ProtocolVersion string }
		}
		err = json.NewDecoder(resp.Body).Decode(&got)
		resp.Body.Close()
		want := asked
		if !slices.Contains(client.Handshakes(), asked) {
			want = client.Handshakes()[0]
		}
		if err != nil || got.Result.ProtocolVersion != want {
			t.Errorf("%s: %+v, %v", asked, got, err)
		}
	}
}

// A reader that no one can close, as the standard input of a terminal is.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { select {} }

func TestTheServerEndsThoughItsInputDoesNot(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve.Stdio(ctx, offered(nil), stuck{}, io.Discard, func() error { return nil }); err != nil {
		t.Error(err)
	}
}
