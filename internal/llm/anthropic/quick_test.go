package anthropic

import (
	"encoding/json"
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
		var e event
		var d delta
		if got := quickDelta([]byte(data), &e, &d); got != (i < 4) {
			t.Errorf("%s: %v", data, got)
		}
	}
}

// An event that is read quickly is read as encoding/json reads it.
func FuzzQuickDelta(f *testing.F) {
	for _, s := range quickSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var quick, whole event
		var d delta
		if !quickDelta([]byte(data), &quick, &d) {
			return
		}
		if err := json.Unmarshal([]byte(data), &whole); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(whole, quick); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	})
}
