package llm

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestQuotedTextIsWhatEncodingJSONReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s")) + rapid.String().Draw(t, "text")
		var got string
		if err := json.Unmarshal(AppendQuoted(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(s) && got != s {
			t.Fatalf("%q became %q", s, got)
		}
		ref, _ := json.Marshal(s)
		var want string
		_ = json.Unmarshal(ref, &want)
		if got != want {
			t.Fatalf("%q became %q, encoding/json makes %q", s, got, want)
		}
	})
	if got := string(AppendQuoted(nil, "<a>&\u2028é\n\x00\"")); got != "\"<a>&\u2028é\\n\\u0000\\\"\"" {
		t.Error(got)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add(`{"a": [1, "x <y> \u003c \\u003c \u2028", {"b" : null}]}`)
	f.Add(`"\\\u003c\\"`)
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		got := AppendCanonical(nil, []byte(s))
		stored, err := json.Marshal(json.RawMessage(s))
		if err != nil {
			t.Fatal(err)
		}
		if again := AppendCanonical(nil, stored); !bytes.Equal(got, again) {
			t.Fatalf("%q: %q before, %q after it was stored", s, got, again)
		}
		if again := AppendCanonical(nil, got); !bytes.Equal(got, again) {
			t.Fatalf("%q is not stable: %q", got, again)
		}
		var a, b any
		if json.Unmarshal([]byte(s), &a) == nil {
			if err := json.Unmarshal(got, &b); err != nil {
				t.Fatal(err)
			}
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if !bytes.Equal(x, y) {
				t.Fatalf("%q became %q", s, got)
			}
		}
	})
}

func TestEncodingsAreKeptByIdentity(t *testing.T) {
	var c EncodeCache[int]
	made := 0
	encode := func(*Message) int { made++; return made }
	use := func(msgs ...Message) (got []int) {
		c.Encode(msgs, encode, func(_, v int) { got = append(got, v) })
		return got
	}
	a, b := UserText("a"), UserText("a")
	if got := use(a, b, a); got[0] != got[2] || got[0] == got[1] || made != 2 {
		t.Errorf("%v, %d made", got, made)
	}
	asReply := a
	asReply.Role = Assistant
	if use(a, asReply); made != 3 {
		t.Errorf("%d made: the role counts", made)
	}
	if use(Message{Role: User}, Message{Role: User}); made != 5 {
		t.Errorf("%d made: messages without parts have no identity", made)
	}
}

func TestEncodingsThatNobodyUsesAreForgotten(t *testing.T) {
	var c EncodeCache[int]
	kept := UserText("kept")
	for range 1000 {
		runtime.Gosched()
		c.Encode([]Message{kept, UserText("passing")}, func(*Message) int { return 0 }, func(int, int) {})
	}
	if n := len(c.items); n > 100 {
		t.Errorf("%d kept", n)
	}
}

func TestTokensAreEstimated(t *testing.T) {
	if n := EstimateText(3500); n < 1000 || n > 1001 {
		t.Error(n)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 750, 100))); err != nil {
		t.Fatal(err)
	}
	pic := Message{Role: User, Parts: []Part{Media{MIME: "image/png", Data: b.Bytes()}}}
	if n := EstimateTokens(pic); n != messageTokens+101 {
		t.Error(n)
	}
	pic.Parts = []Part{Media{Data: []byte("no image")}}
	if n := EstimateTokens(pic); n != messageTokens+imageTokens {
		t.Error(n)
	}
	small := EstimateRequest(&Request{Messages: []Message{UserText("a")}})
	big := EstimateRequest(&Request{
		System:   []Part{Text{Text: strings.Repeat("x", 350)}},
		Tools:    []ToolSpec{{Name: "Read", Description: strings.Repeat("x", 350)}},
		Messages: []Message{UserText("a")},
	})
	if big < small+200 {
		t.Errorf("%d and %d", small, big)
	}
}
