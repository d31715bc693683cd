package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

var quickSeeds = []string{
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi é 🙂"}      }`,
	`{"type":"content_block_delta","index":12,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"thinking_delta","thinking":"Hm. "} }`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\nb\u00e9\""}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}      }`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{},"caller":{"type":"direct"}}     }`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`,
	`{"type":"content_block_stop","index":0      }`, `{"type": "ping"}`, `{"type":"message_stop"             }`,
	`{"type":"message_start","message":{"model":"claude-opus-4-7","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":1},"output_tokens":1}}         }`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":5,"output_tokens":6}               }`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","extra":1}}`, `{"type":"error","error":{}}`, `{"index":0}`, `{"type":"message_delta","usage":{"input_tokens":"x"}}`,
	`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"a"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}`,
	"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}",
	"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\t\"}}",
}

func TestTheFormsOfTheAPIAreReadQuickly(t *testing.T) {
	for i, data := range quickSeeds {
		if got := (&quick{}).read([]byte(data)); got != (i < 12) {
			t.Errorf("%s: %v", data, got)
		}
	}
}

// An event that is read quickly is read as encoding/json reads it, whichever came before it.
func FuzzQuickDelta(f *testing.F) {
	for _, s := range quickSeeds {
		f.Add(quickSeeds[0], s)
		f.Add(s, strings.Replace(s, `"a`, `"b\"`, 1))
		f.Add(s, strings.ReplaceAll(s, "}", "} "))
	}
	f.Fuzz(func(t *testing.T, before, data string) {
		var q quick
		q.read([]byte(before))
		if !q.read([]byte(data)) {
			return
		}
		var want event
		if err := llm.Unmarshal([]byte(data), &want); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, q.event); diff != "" {
			t.Errorf("%s after %s: %s", data, before, diff)
		}
	})
}
