package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var quickSeeds = []string{
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi é 🙂"}      }`,
	`{"type":"content_block_delta","index":12,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"thinking_delta","thinking":"Hm. "} }`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\nb\u00e9\""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","extra":1}}`,
	`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"a"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}`,
	"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}",
	"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\t\"}}",
}

func TestTheFormsOfTheAPIAreReadQuickly(t *testing.T) {
	for i, data := range quickSeeds {
		if got := (&quick{}).read([]byte(data)); got != (i < 4) {
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
		if err := json.Unmarshal([]byte(data), &want); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, q.event); diff != "" {
			t.Errorf("%s after %s: %s", data, before, diff)
		}
	})
}
