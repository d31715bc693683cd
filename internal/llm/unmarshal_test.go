package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type wide struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
	Many  []struct {
		ID    string `json:"id"`
		Index *int   `json:"index"`
	} `json:"many"`
	Flag bool `json:"flag"`
}

func TestNumbersInOtherFormsAreRead(t *testing.T) {
	for odd, plain := range map[string]string{
		`{"id":12,"count":3.0}`:                                `{"id":"12","count":3}`,
		`{"id":-1.50,"count":2.6}`:                             `{"id":"-1.50","count":3}`,
		`{"count":"17" ,"id":"x"}`:                             `{"count":17,"id":"x"}`,
		`{"count":1e3,"id":null}`:                              `{"count":1000}`,
		`{"count":"-2.5"}`:                                     `{"count":-3}`,
		`{"count":1e300}`:                                      `{"count":1000000000000}`,
		`{"many":[{"id":1,"index":"0"},{"id":2,"index":1.0}]}`: `{"many":[{"id":"1","index":0},{"id":"2","index":1}]}`,
	} {
		var got, want wide
		if err := json.Unmarshal([]byte(plain), &want); err != nil {
			t.Fatal(err)
		}
		if err := Unmarshal([]byte(odd), &got); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v\n%s", odd, err, cmp.Diff(want, got))
		}
	}
	for _, wrong := range []string{
		`{"id":true}`, `{"id":{}}`, `{"id":[1]}`, `{"count":"x"}`, `{"count":""}`,
		`{"count":"1`, `{"count":"\u0031"}`, `{"count":true}`, `{"flag":1}`, `{"count":"1 "}`, `{"count":"+"}`,
	} {
		var v wide
		if err := Unmarshal([]byte(wrong), &v); err == nil {
			t.Errorf("%s is read as %+v", wrong, v)
		}
	}
}

// Whatever encoding/json reads is read the same, and nothing that is no JSON is.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"id":12,"count":"3.5","many":[{"id":1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want wide
		err, plain := Unmarshal(b, &got), json.Unmarshal(b, &want)
		if plain == nil && (err != nil || !cmp.Equal(got, want)) || err == nil && !json.Valid(b) {
			t.Fatalf("%q: %v, not %v: %s", b, err, plain, cmp.Diff(want, got))
		}
	})
}
