package llm

import (
	"encoding/json"
	"testing"
)

func FuzzScannerReadsAsEncodingJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,"x",null,true,{"b":"\u00e9\n\"\\/"}]}`, `"é 世界"`, `"\ud83d\ude00"`, `[01]`, `[1 2]`, `{"a":}`, `{"a" : 1 , "b":[ ]}`, "\"\x01\"", "\"\xff\"", `12`, `-1`, `[nul]`, `{"a\u0062":1}`,
		`[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]`, ` "a" `, `"a`, `"\u12"`, `"\x"`, `123456789012`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewScanner(b)
		if s.Skip() && s.End() && !json.Valid(b) {
			t.Fatalf("%q is not valid", b)
		}
		text, ok := Unquote(b)
		var want string
		if ok && (json.Unmarshal(b, &want) != nil || text != want) {
			t.Fatalf("%q is %q, not %q", b, text, want)
		}
		n := NewScanner(append([]byte("["), append(b, ']')...))
		var list []int
		if i, ok := 0, n.Array(func(int) (ok bool) { _, ok = n.Int(); return ok }); ok && n.End() {
			if err := json.Unmarshal(append([]byte("["), append(b, ']')...), &list); err != nil {
				t.Fatalf("%q are no numbers: %v, %d", b, err, i)
			}
		}
	})
}

func TestTheScannerTakesOrdinaryEvents(t *testing.T) {
	for _, s := range []string{`{"a":[1,"x",null,true,{"b":"\u00e9\n\"\\/\b\f\r\t"}], "c" : {} , "d":[ ]}`, `"é 世界"`, `"\u2028"`} {
		sc := NewScanner([]byte(s))
		if !sc.Skip() || !sc.End() {
			t.Errorf("%s is left to encoding/json", s)
		}
	}
	if text, ok := Unquote([]byte(`"a\u00e9\n\"\\\/"`)); !ok || text != "aé\n\"\\/" {
		t.Errorf("%q, %v", text, ok)
	}
}
