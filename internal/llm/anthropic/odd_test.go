package anthropic

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// TestOddEventsOfHostsAreRead has forms that the reference of the Messages API does not have, and hosts send.
func TestOddEventsOfHostsAreRead(t *testing.T) {
	data := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	block := textBlock(0, "Hi")
	all := append(append([]string{msgStart}, block...), stop("end_turn"), msgStop)
	named := func(name, body string) string { return "event: " + name + "\ndata: " + body + "\n\n" }
	for name, body := range map[string]string{
		"no names of events":        data(all...),
		"a keep-alive without data": "data: \n\n" + data(all[:2]...) + "event: ping\ndata:\n\n" + data(all[2:]...),
		"an event that is a ping":   "event: ping\ndata: ping\n\n" + data(all...),
		"an event that is null":     data(append([]string{"null"}, all...)...),
		"comments and a mark":       "\xef\xbb\xbf: hello\n\n" + data(all...),
		"lines that end in CR LF":   strings.ReplaceAll(data(all...), "\n", "\r\n"),
		"a kind in the event's name alone": data(all[:len(all)-2]...) +
			named("message_delta", `{"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`) + named("message_stop",
			`{}`),
		"null in every place": data(
			`{"type":"message_start","index":null,"message":{"id":null,"model":null,"content":null,"stop_reason":null,"usage":null},"content_block":null,"delta":null,"error":null}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":null,"citations":null}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi","partial_json":null}}`, end(0),
			`{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"input_tokens":null,"cache_creation":null}}`, stop("end_turn"), msgStop),
		"[DONE] at the end":        data(append(all[:len(all):len(all)], "[DONE]")...),
		"[DONE] in place of stops": data(append(all[:len(all)-1:len(all)-1], msgStop, " [DONE]")...),
	} {
		t.Run(name, func(t *testing.T) {
			o := ask(t, config(t, saying(t, body), once))
			if o.err != nil || o.done.PlainText() != "Hi" || len(o.done.Parts) != 1 || o.done.Stop != llm.StopEndTurn {
				t.Errorf("%v %+v", o.err, o.done)
			}
		})
	}
}

func TestErrorsWithoutAKindAreReported(t *testing.T) {
	for name, body := range map[string]string{
		"an object alone":   `data: {"error":{"type":"overloaded_error","message":"busy"}}` + "\n\n",
		"the event's name":  "event: error\n" + `data: {"error":{"type":"overloaded_error","message":"busy"}}` + "\n\n",
		"the members alone": "event: error\n" + `data: {"type":"overloaded_error","message":"busy"}` + "\n\n",
		"data in two lines": "event: error\ndata: {\"error\":\ndata: " +
			"{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
	} {
		o := ask(t, config(t, saying(t, "data: "+msgStart+"\n\n"+body), once))
		if e := llm.AsError(o.err); e == nil || e.Kind != llm.KindOverloaded || !strings.Contains(e.Message, "busy") {
			t.Errorf("%s: %v", name, o.err)
		}
	}
}

func TestNumbersInOtherFormsAreRead(t *testing.T) {
	body := "data: " + strings.Join([]string{
		`{"type":"message_start","message":{"id":12,"model":"m","usage":{"input_tokens":9.0,"output_tokens":"1"}}}`,
		`{"type":"content_block_start","index":"0","content_block":{"type":"tool_use","id":7,"name":"Bash","input":{}}}`,
		`{"type":"content_block_delta","index":0.0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1.5}"}}`, end(0),
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2.4,"cache_read_input_tokens":3.0}}`, msgStop,
	}, "\n\ndata: ") + "\n\n"
	o := ask(t, config(t, saying(t, body), once))
	if o.err != nil || len(o.ready) != 1 || o.ready[0].ID != "7" || string(o.ready[0].Input) != `{"n":1.5}` {
		t.Fatalf("%v %+v", o.err, o.ready)
	}
	if u := o.done.Usage; o.done.ID != "12" || u.Input != 9 || u.Output != 2 || u.CacheRead != 3 {
		t.Errorf("%+v %+v", o.done, u)
	}
}
