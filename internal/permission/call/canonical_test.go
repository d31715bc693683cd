package call

import (
	"encoding/json"
	"testing"
)

// FuzzCanonical: an input whose parameters have their own names and types stays as it is, and what was mended needs no
// more mending.
func FuzzCanonical(f *testing.F) {
	c := NewCatalogue(Declaration{
		Name: "Bash", Params: map[string]string{"command": "cmd", "timeout": "timeout_ms"}, Ignored: "why how=quick",
		Schema: json.RawMessage(
			`{"properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"background":{"type":"boolean"},"list":{"type":"array"},"any":{}}}`),
	})
	for input, stays := range map[string]bool{
		`{"command":"ls"}`: true, ` { "command" : "ls" , "timeout" : 5 } `: true, `{}`: true, ` {} `: true, `[]`: true,
		`{"command":"a\"}b","any":{"a":[1,{"b":"}"}]},"timeout":10}`: true, `null`: true, `"x"`: true, `{"any":-1e5}`: true,
		`{"command":"a"`: true, `{"command":"a"}x`: true, `{"list":[1,2],"background":false,"any":1}`: true, `{"odd":1}`: true,
		`{"\u0063ommand":"ls"}`: true, `{"how":"slow"}`: true, `{"command":"a","cmd":"b"}`: true,
		`{"command":null}`: false, `{"timeout":"5"}`: false, `{"timeout":5.0}`: false, `{"background":"true"}`: false,
		`{"list":"[1]"}`: false, `{"cmd":"ls"}`: false, `{"Command":"ls"}`: false, `"{\"command\":\"ls\"}"`: false,
		`{"why":1}`: false, `{"how":"quick"}`: false,
	} {
		f.Add([]byte(input))
		if _, got := c.Canonical("Bash", []byte(input)); (got == nil) != stays {
			f.Errorf("%s became %s", input, got)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if _, got := c.Canonical("Bash", input); got != nil {
			if _, again := c.Canonical("Bash", got); again != nil {
				t.Errorf("%s became %s, and that %s", input, got, again)
			}
		}
	})
}
