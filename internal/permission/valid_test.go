package permission

import (
	"encoding/json"
	"testing"
)

var plainObjects = []string{
	`{"command":"ls"}`, ` { "a" : "b\n\"" , "n" : 10, "t":true,"f":false , "z":0} `, `{"a":"größe"}`,
}

func TestPlainObjectsAreKnownWithoutTheParser(t *testing.T) {
	for _, in := range plainObjects {
		if !plainObject([]byte(in)) {
			t.Errorf("%s is left to the parser", in)
		}
	}
}

func FuzzValidJSON(f *testing.F) {
	for _, in := range append(plainObjects,
		`{}`, `{"a":null}`, `{"a":01}`, `{"a":-1}`, `{"a":1.5}`, `{"a":"\u0041"}`, `{"a":"\x"}`, "{\"a\":\"\n\"}",
		`{"a":"b"`, `{"a":"b"}}`, `{"a":"b",}`, `{"a"}`, `{,}`, `{"a":truely}`, `{"a":12e3}`, `{"a":"`, `[]`, ``) {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if ValidJSON(in) != json.Valid(in) {
			t.Errorf("%q: %v", in, ValidJSON(in))
		}
	})
}
