package anthropic

import (
	"bytes"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestCitationsGoBackWithTheirText(t *testing.T) {
	const cited = `{"type":"web_search_result_location","url":"https://a.example/<x>","title":"A","encrypted_index":"Eo8B","cited_text":"one"}`
	body := events(
		`{"type":"message_start","message":{"id":"m","model":"claude-sonnet-5","usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":`+cited+`}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"As A says."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","start_char_index":1}}}`,
		end(0), stop("end_turn"), `{"type":"message_stop"}`,
	)
	c := config(t, saying(t, body), once)
	o := run(t, newModel(t, "claude-sonnet-5", c), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
	if o.err != nil {
		t.Fatal(o.err)
	}
	reply := *o.done
	want := []byte(`{"type":"text","text":"As A says.","citations":[` + cited +
		`,{"type":"char_location","start_char_index":1}]}`)
	next := &llm.Request{Messages: []llm.Message{llm.UserText("x"), reply, llm.UserText("y")}}
	if sent := sentBy(local(t, "claude-sonnet-5", c), next); !bytes.Contains(sent, want) {
		t.Errorf("%s lacks %s", sent, want)
	}
	if sent := sentBy(local(t, "claude-sonnet-5", Config{BaseURL: "https://other.example"}), next); bytes.Contains(sent,
		[]byte("citations")) {
		t.Errorf("another host gets the citations: %s", sent)
	}
}

func sentBy(m *model, req *llm.Request) []byte {
	b, _ := m.build(req)
	return b.Bytes()
}
