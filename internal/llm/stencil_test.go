package llm

import "testing"

// readPair reads {"a": text, "n": number, "p": padding, "k": a word that stays}.
func readPair(t *Stencil, event string, text *string, n *int) bool {
	if t.Again([]byte(event)) {
		return true
	}
	s := t.Scan([]byte(event))
	return t.Done(s.Object(func(name []byte) bool {
		switch string(name) {
		case "a":
			return s.TextTo(text)
		case "n":
			return s.IntTo(n)
		case "p":
			return s.Vary()
		}
		return s.Skip()
	}) && s.End())
}

func TestAnEventLikeTheLastIsReadByItsValues(t *testing.T) {
	first := `{"a":"one","n":1,"p":"xx","k":"same"}`
	for event, like := range map[string]bool{
		`{"a":"two","n":22,"p":"y","k":"same"}`:        true,
		`{"a":"\u00e9\n","n":0,"p":"","k":"same"}`:     true,
		`{"a":"two","n":22,"p":"y","k":"other"}`:       false,
		`{"a":"two","n":22,"p":"y","k":"same"} `:       false, // the end is no bracket
		`{"a":"two","n":22,"p":1,"k":"same"}`:          false,
		`{"a":"two","n":-22,"p":"y","k":"same"}`:       false,
		`{"a":"two","n":2.5,"p":"y","k":"same"}`:       false,
		`{"a":"two","n":1234567890,"p":"","k":"same"}`: false,
		`{"a":"two","n":22,"p":"y","k":"same"`:         false,
		`{"a": "two","n":22,"p":"y","k":"same"}`:       false,
		`{"a":null,"n":22,"p":"y","k":"same"}`:         false,
		`{"a":"tw","o":"","n":22,"p":"y","k":"same"}`:  false,
		`{"b":"two","n":22,"p":"y","k":"same"}`:        false,
		`{"a":"two","m":22,"p":"y","k":"same"}`:        false,
		``:                                             false,
	} {
		var text string
		var n int
		var s Stencil
		if s.Again([]byte(first)) || !readPair(&s, first, &text, &n) {
			t.Fatal("the first event is not scanned")
		}
		if got := s.Again([]byte(event)); got != like {
			t.Errorf("%s: %v", event, got)
		}
	}
	var s Stencil
	var text string
	var n int
	for _, event := range []string{first, `{"a":"t\nwo","n":22,"p":"y","k":"same"}`} {
		if !readPair(&s, event, &text, &n) {
			t.Fatal(event)
		}
	}
	if text != "t\nwo" || n != 22 {
		t.Errorf("%q, %d", text, n)
	}
}

// The bytes of an event are those of the next one afterwards.
func TestAnEventIsKeptAsACopy(t *testing.T) {
	var s Stencil
	var text string
	buf := []byte(`{"a":"one","n":1,"k":"same"}`)
	scanner := s.Scan(buf)
	s.Done(scanner.Object(func(name []byte) bool {
		if string(name) == "a" {
			return scanner.TextTo(&text)
		}
		return scanner.Skip()
	}))
	copy(buf, `{"b":"two","n":2,"k":"same"}`)
	if s.Again(buf) {
		t.Errorf("an event is compared with itself: %q", text)
	}
}

func TestWhiteSpaceBetweenClosingBracketsDoesNotCount(t *testing.T) {
	var s Stencil
	var text string
	var n int
	readPair(&s, `{"a":"x"  }`, &text, &n)
	if !s.Again([]byte(`{"a":"y"}    `)) || text != "y" {
		t.Errorf("%q", text)
	}
	if s.Again([]byte(`{"a":"y"}   }`)) || s.Again([]byte(`{"a":"y"  `)) {
		t.Error("an event with other brackets is taken for the same")
	}
}

func TestAnEventThatCannotBeReadIsNoStencil(t *testing.T) {
	var s Stencil
	var text string
	var n int
	if bad := `{"a":"x"} x`; readPair(&s, bad, &text, &n) || s.Again([]byte(bad)) {
		t.Error("an event that a scanner refused is read")
	}
}

func FuzzStencilReadsAsAScanner(f *testing.F) {
	f.Add(`{"a":"one","n":1,"p":"xx","k":{"b":[1,2]}}`, `{"a":"tw\no","n":12,"p":"","k":{"b":[1,2]}}`)
	f.Add(`{"a":"x"  }`, `{"a":"y"} `)
	f.Fuzz(func(t *testing.T, before, event string) {
		var s, plain Stencil
		var text, wantText string
		var n, want int
		readPair(&s, before, &text, &n)
		text, n = "", 0
		if got, ok := readPair(&s, event, &text, &n), readPair(&plain, event, &wantText, &want); got != ok || ok && (text != wantText || n != want) {
			t.Fatalf("%q after %q: %v %q %d, not %v %q %d", event, before, got, text, n, ok, wantText, want)
		}
	})
}
