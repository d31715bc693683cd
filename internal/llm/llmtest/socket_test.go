package llmtest

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// say sends a message and returns the last event of its answer, and the kinds of all.
func say(t *testing.T, ws *websocket.Conn, message string) (last map[string]any, kinds string) {
	t.Helper()
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	for {
		_, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = nil
		if err := json.Unmarshal(b, &last); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		kind, _ := last["type"].(string)
		if kinds += " " + kind; kind == "response.completed" || kind == "error" {
			return last, strings.TrimSpace(kinds)
		}
	}
}

func dial(t *testing.T, srv *Server, key string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), srv.URL()+"/v1/responses",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}})
	if err == nil {
		ws.SetReadLimit(1 << 20)
		t.Cleanup(func() { _ = ws.CloseNow() })
	}
	return ws, resp, err
}

const (
	asked  = `{"type":"response.create","model":"gpt-4o","store":false,"input":[{"role":"user","content":"a"}]`
	goesOn = `{"type":"response.create","model":"gpt-4o","store":false,"input":[{"role":"user","content":"b"}]`
)

func TestASocketKnowsItsLatestResponseOnly(t *testing.T) {
	srv := start(t, Replies(Say(Text("One.")), Say(Text("Two.")), Say(Text("Three."))), Options{Key: "k"})
	if _, resp, err := dial(t, srv, "other"); err == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("another key: %v", err)
	}
	ws, _, err := dial(t, srv, "k")
	if err != nil {
		t.Fatal(err)
	}
	id := func(e map[string]any) string {
		r, _ := e["response"].(map[string]any)
		s, _ := r["id"].(string)
		return s
	}
	first, kinds := say(t, ws, asked+"}")
	if kinds != "response.created response.output_item.added response.output_text.delta response.output_item.done "+
		"response.completed" {
		t.Error(kinds)
	}
	second, _ := say(t, ws, goesOn+`,"previous_response_id":"`+id(first)+`"}`)
	rs := srv.Requests()
	want := `{"model":"gpt-4o","stream":true,"store":false,"input":[{"role":"user","content":"a"},{"content":[{"annotations":[],"text":"One.","type":"output_text"}],"id":"msg_0000_1_a","role":"assistant","status":"completed","type":"message"},{"role":"user","content":"b"}]}`
	if rs[1].Turn != 1 || string(rs[1].Body) != want || string(rs[1].Message) != goesOn+`,"previous_response_id":"`+
		id(first)+`"}` {
		t.Errorf("the second request: %s", rs[1].Body)
	}
	lost := func(message, code string) {
		t.Helper()
		e, _ := say(t, ws, message)
		inner, _ := e["error"].(map[string]any)
		if e["type"] != "error" || e["status"] != float64(400) || inner["code"] != code && code != "" {
			t.Errorf("%s: %v", message, e)
		}
	}
	lost(goesOn+`,"previous_response_id":"`+id(first)+`"}`, "previous_response_not_found")
	lost(goesOn+`,"previous_response_id":"`+id(second)+`"}`, "previous_response_not_found") // a failure has it forgotten
	lost(asked+`,"stream":true}`, "")
	lost(asked+`,"unknown":1}`, "")
	lost(strings.Replace(asked, "response.create", "response.make", 1)+`}`, "")
	lost(`{"type":"response.create","model":"gpt-4o","input":[]}`, "")
	lost(`no JSON`, "")
	e, _ := say(t, ws, asked+"}")
	if e["type"] != "response.completed" {
		t.Errorf("after the failures: %v", e)
	}
	lost(`{"type":"response.create","model":"gpt-4o","input":[],"previous_response_id":"`+id(e)+`"}`, "")
}

func TestASocketForgetsAResponseThatBrokeOff(t *testing.T) {
	r := Say(Text("One."))
	r.Faults = []Fault{{Kind: "error", At: "event -1"}}
	srv := start(t, Replies(r, Say(Text("Two."))), Options{NoKey: true})
	ws, _, err := dial(t, srv, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, kinds := say(t, ws, asked+"}"); !strings.HasPrefix(kinds, "response.created") || !strings.HasSuffix(kinds,
		"error") {
		t.Error(kinds)
	}
	e, _ := say(t, ws, goesOn+`,"previous_response_id":"resp_0000_1"}`)
	if inner, _ := e["error"].(map[string]any); inner["code"] != "previous_response_not_found" {
		t.Errorf("got %v", e)
	}
}

func TestASocketTakesNoMoreThanARequest(t *testing.T) {
	srv := start(t, Replies(Say(Text("x"))), Options{NoKey: true, MaxBody: 1000})
	ws, _, err := dial(t, srv, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.Write(t.Context(), websocket.MessageText, make([]byte, 1001)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("got %v", err)
	}
}

func TestASocketReadsTheFramesOfAClientOnly(t *testing.T) {
	srv := start(t, Replies(Say(Text("x"))), Options{NoKey: true})
	for name, frame := range map[string]string{
		"not masked": "\x81\x02{}", "binary": "\x82\x80abcd",
		"a reserved bit": "\xc1\x80abcd",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(srv.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET /v1/responses HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: "+
			"Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"+frame)
		b, err := io.ReadAll(c)
		if text := string(b); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") ||
			!strings.Contains(text, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") || !strings.HasSuffix(text, "\r\n\r\n") {
			t.Errorf("%s: %q %v", name, b, err)
		}
		_ = c.Close()
	}
}
