package call

import (
	"encoding/json"
	"testing"
)

// slowly is Canonical without the short way.
func slowly(c *Catalogue, spelling string, input []byte) (string, []byte) {
	d := c.find(c.Name(spelling)).Declaration
	d.Mend = func(string, map[string]json.RawMessage) bool { return false }
	return NewCatalogue(d).Canonical(spelling, input)
}

func FuzzInputsThatFitStayAsTheyAre(f *testing.F) {
	c := NewCatalogue(Declaration{
		Name: "Bash", Params: map[string]string{"command": "cmd", "timeout": "timeout_ms"},
		Schema: json.RawMessage(
			`{"properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"background":{"type":"boolean"},"list":{"type":"array"},"any":{}}}`),
	})
	for _, input := range []string{
		`{"command":"ls"}`, ` { "command" : "ls" , "timeout" : 5 } `,
		`{"command":"a\"}b","any":{"a":[1,{"b":"}"}]},"timeout":10}`, `{}`, ` {} `, `[]`, `null`, `"x"`, `{"command":null}`,
		`{"timeout":"5"}`, `{"timeout":5.0}`, `{"background":"true"}`, `{"list":"[1]"}`, `{"cmd":"ls"}`, `{"Command":"ls"}`,
		`{"\u0063ommand":"ls"}`, `{"command":"a","command":"b"}`,
		`{"command":"a"`, `{"command":"a"}x`, `{"list":[1,2],"background":false,"any":1}`, `{"any":[]}`, `{"any":-1e5}`,
		`{"any":{}}`, `{"any":true }`, `{"list":[ [ ] ] }`,
	} {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		name, got := c.Canonical("Bash", input)
		if same, want := slowly(c, "Bash", input); name != same || string(got) != string(want) {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
		if c.find("Bash").fits(input) && got != nil {
			t.Errorf("%s fits, and is changed to %s", input, got)
		}
	})
}
