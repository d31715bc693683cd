package llm

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// For any sequence of requests, each message gets its own encoding, and is encoded only once while requests
// keep using it.
func TestEncodeCacheGivesEachMessageItsEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := make([]Message, 30)
		for i := range pool {
			pool[i] = Message{Role: User, Parts: []Part{Text{Text: fmt.Sprint(i)}}}
			if i%7 == 0 {
				pool[i].Parts = nil
			}
		}
		var c EncodeCache[string]
		encode := func(m *Message) string { return m.PlainText() }
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			picks := rapid.SliceOfN(rapid.IntRange(0, len(pool)-1), 0, 20).Draw(t, "messages")
			msgs := make([]Message, len(picks))
			for i, p := range picks {
				msgs[i] = pool[p]
			}
			n := 0
			c.Encode(msgs, encode, func(i int, got string) {
				if i != n || got != msgs[i].PlainText() {
					t.Fatalf("message %d: %q, want %q", i, got, msgs[i].PlainText())
				}
				n++
			})
			if n != len(msgs) {
				t.Fatalf("%d of %d", n, len(msgs))
			}
		}
	})
}

func TestEncodeCacheEncodesOnce(t *testing.T) {
	var c EncodeCache[int]
	var msgs []Message
	calls := 0
	for i := range 200 {
		msgs = append(msgs, UserText(fmt.Sprint(i)))
		c.Encode(msgs, func(*Message) int { calls++; return calls }, func(int, int) {})
	}
	if calls != 200 {
		t.Errorf("%d encodings of 200 messages", calls)
	}
}
