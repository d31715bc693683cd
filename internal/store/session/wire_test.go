package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/llm"
)

func anyText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{
			"", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<a&b>\u2028\u2029", "\xff\xc0\x80 broken",
			"\U0001F600é", "\ufffd",
		}),
	).Draw(t, "text")
}

func anyContent(t *rapid.T) llm.Part {
	if rapid.IntRange(0, 3).Draw(t, "content") == 0 {
		return llm.Media{MIME: anyText(t), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), Name: anyText(t)}
	}
	return llm.Text{
		Text: anyText(t), Origin: rapid.SampledFrom([]llm.Origin{"", llm.OriginMemory}).Draw(t, "origin"),
		Opaque: anyOpaque(t),
	}
}

func anyContents(t *rapid.T) []llm.Part {
	return rapid.SliceOfN(rapid.Custom(anyContent), 0, 12).Draw(t, "parts")
}

func anyJSON(t *rapid.T) json.RawMessage {
	b, err := json.MarshalIndent(map[string]any{anyText(t): []any{
		anyText(t), rapid.Float64().Draw(t, "n"), nil,
		map[string]any{},
	}}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func anyOpaque(t *rapid.T) *llm.Opaque {
	if !rapid.Bool().Draw(t, "opaque") {
		return nil
	}
	return &llm.Opaque{Provider: anyText(t), JSON: anyJSON(t)}
}

func anyReplyPart(t *rapid.T) llm.Part {
	switch rapid.IntRange(0, 3).Draw(t, "part") {
	case 0:
		return llm.Reasoning{
			Text: anyText(t), Signature: anyText(t), Data: anyText(t), Provider: anyText(t),
			Opaque: anyOpaque(t),
		}
	case 1:
		return llm.ToolCall{ID: anyText(t), Name: anyText(t), Input: anyJSON(t), Raw: anyText(t), Opaque: anyOpaque(t)}
	case 2:
		return llm.Opaque{Provider: anyText(t), JSON: anyJSON(t)}
	}
	return anyContent(t)
}

func anyBody(t *rapid.T) Body {
	switch rapid.IntRange(0, 4).Draw(t, "body") {
	case 0:
		return User{
			Message:   llm.Message{Role: llm.User, Parts: anyContents(t)},
			Steered:   rapid.Bool().Draw(t, "steered"),
			Synthetic: rapid.Bool().Draw(t, "synthetic"),
		}
	case 1:
		return Part{rapid.IntRange(0, 99).Draw(t, "index"), anyReplyPart(t)}
	case 2:
		return TurnEnd{
			Reason: "completed", Usage: llm.Usage{Input: 3, Estimated: true}, CostUSD: 0.1, Steps: 2,
			Duration: 5 * time.Millisecond,
		}
	case 3:
		return Unknown{Name: "later", JSON: json.RawMessage(`{"a":[1,"<"]}`)}
	}
	return CallEnd{
		Result: llm.ToolResult{CallID: anyText(t), Name: anyText(t), Parts: anyContents(t), IsError: rapid.Bool().Draw(t,
			"error")},
		Title: rapid.String().Draw(t, "title"), View: json.RawMessage(`{"a":1}`), Denied: true, Synthetic: true,
		Duration: 7 * time.Millisecond,
	}
}

// cleaned is a body as a session keeps it.
func cleaned(t *rapid.T, b Body) Body {
	var err error
	switch v := b.(type) {
	case User:
		v.Message, err = cleanUser(v.Message)
		b = v
	case Part:
		v.Part, err = cleanReply(v.Part)
		b = v
	case CallEnd:
		v.Result, err = cleanResult(v.Result)
		b = v
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatIsWrittenIsReadBackByBothDecoders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := cleaned(t, anyBody(t))
		line, err := appendEntry(nil, Entry{ID: "1", Time: time.Now(), Body: want})
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, '}')
		slow, err := slowBody(want.Kind(), line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var d decoder
		d.scan.reset(line)
		fast, err := d.body(want.Kind(), line)
		if err != nil || d.scan.bad {
			t.Fatalf("the scanner stumbles over %s", line)
		}
		for _, got := range []Body{slow, fast} {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s\n%s", line, diff)
			}
		}
	})
}

func TestTheStoredFormIsThatOfPackageLLM(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := cleanReply(anyReplyPart(t))
		if err != nil {
			t.Fatal(err)
		}
		line, err := appendEntry(nil, Entry{ID: "1", Time: time.Now(), Body: Part{0, p}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := llm.MarshalPart(p)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(line, append([]byte(`"part":`), want...)) {
			t.Fatalf("%s does not end with %s", line, want)
		}
	})
}

// FuzzLine holds the scanner against encoding/json: where both read a line, they must agree, and neither
// may fail badly.
func FuzzLine(f *testing.F) {
	for _, l := range []string{
		lineA, lineC, plainHeader,
		`{"id":"1","kind":"part","index":0,"part":{"type":"tool_call","id":"a","name":"b","input":{"x":"\ud83d\ude00\ud83d"}}}`,
	} {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		env, err := openEnvelope(line)
		if err != nil || foldable(line) {
			return
		}
		for _, kind := range []string{"user", "part", "call_end", string(env.kind)} {
			want, err := slowBody(kind, line)
			var d decoder
			got, ferr := d.body(kind, line)
			if err != nil {
				continue
			}
			if ferr != nil {
				t.Fatalf("%s: %v", kind, ferr)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s\n%s", kind, diff)
			}
		}
	})
}

// foldable reports whether encoding/json might take a key of the line for one of ours that it is not: it
// ignores case, which the scanner does not.
func foldable(line []byte) bool {
	return bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf || unicode.IsUpper(r) })
}

// FuzzLog opens any bytes as a log.
func FuzzLog(f *testing.F) {
	f.Add([]byte(plainHeader + "\n" + lineA + "\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		var lines []string
		for l := range strings.Lines(string(log)) {
			lines = append(lines, strings.TrimSuffix(l, "\n")) // plant seals those that look like entries
		}
		st := plant(t, lines...)
		s, err := st.Open(ctx, plantedID)
		if err != nil {
			return // a newer format
		}
		defer s.Close()
		if err := wellFormed(s.Messages()); err != nil {
			t.Fatal(err)
		}
		must(t, s.AddUser(ctx, llm.UserText("x"), false, false))
	})
}

func TestCallsMayEndAtTheSameTime(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "go")
	var calls []llm.Part
	for i := range 40 {
		calls = append(calls, toolCall(string(rune('A'+i))))
	}
	must(t, s.AddReply(ctx, reply(calls...)))
	var wg sync.WaitGroup
	for _, c := range calls {
		id := c.(llm.ToolCall).ID
		wg.Go(func() {
			if err := s.StartCall(ctx, CallStart{CallID: id}, true); err != nil {
				t.Error(err)
			}
			if _, err := s.Blob(ctx, "x.txt", []byte(id)); err != nil {
				t.Error(err)
			}
			if err := s.EndCall(ctx, result(id, id)); err != nil {
				t.Error(err)
			}
			_ = s.Messages()
			for range s.Entries() {
			}
			s.Info()
		})
	}
	wg.Wait()
	must(t, wellFormed(s.Messages()))
	live := s.Messages()
	same(t, reopen(t, st, s).Messages(), live)
}
