package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// A batch of 25 calls, one more than which is refused: each is decided on by itself, has its own result in order, and
// is in the log before and after it ran.
func TestEachCallOfABatchIsDecidedOnAndJournalled(t *testing.T) {
	call := func(tool string, input map[string]any) map[string]any {
		return map[string]any{"tool": tool, "input": input}
	}
	var calls []map[string]any
	for i := range 21 {
		calls = append(calls, call("Read", map[string]any{"file_path": fmt.Sprintf("f%d.txt", i)}))
	}
	calls = append(calls,
		call("Write", map[string]any{"file_path": "allowed.txt", "content": "made"}),
		call("Write", map[string]any{"file_path": "denied.txt", "content": "made"}),
		call("Nope", map[string]any{}),
		call("Read", map[string]any{"file_path": "missing.txt"}),
	)
	batch := func(calls []map[string]any) llmtest.Part {
		return llmtest.Tool("Batch", map[string]any{"calls": calls})
	}
	p := newPlace(t, toolReplies(batch(append(calls[:25:25], calls[0])), batch(calls)))
	for i := range 21 {
		p.write(t, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("text %d\n", i))
	}
	s := newSession(t, p.open(t, func(o *conversation.Options) {
		o.Allowed, o.Disallowed = []string{"Write(allowed.txt)"}, []string{"Write(denied.txt)"}
	}), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	got := resultTexts(s)
	if len(got) != 2 || !strings.Contains(got[0], "array length 26 is greater than 25") {
		t.Fatalf("%q", got)
	}
	at := 0
	for i, c := range calls {
		state, text := "ok", fmt.Sprintf("\n1\ttext %d", i)
		switch {
		case i == 21:
			text = "File created"
		case i == 22:
			state, text = "error", "denied.txt"
		case i == 23:
			state, text = "error", `no tool "Nope"`
		case i == 24:
			state, text = "error", "missing.txt"
		}
		head := fmt.Sprintf("## %d. %s: %s", i+1, c["tool"], state)
		from := strings.Index(got[1], head)
		if from < at || !strings.Contains(got[1][from:], text) {
			t.Errorf("%q with %q is not where it belongs in\n%s", head, text, got[1])
		}
		at = max(at, from)
	}
	if strings.Count(got[1], "## ") != 25 || p.read(t, "allowed.txt") != "made" {
		t.Errorf("%s", got[1])
	}
	starts, ends := map[string]int{}, map[string]int{}
	for e := range s.Log().Entries() {
		switch b := e.Body.(type) {
		case session.CallStart:
			if b.Invoked {
				starts[b.CallID]++
			}
		case session.CallEnd:
			if b.Invoked && (b.Synthetic || starts[b.Result.CallID] == 0 && !b.Result.IsError) {
				t.Errorf("%s ends without having begun", b.Result.CallID)
			}
			if b.Invoked {
				ends[b.Result.CallID]++
			}
		}
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("%s has %d ends", id, n)
		}
	}
	// the one that is denied, the one without a tool and the one without a file never began
	if len(ends) != 25 || len(starts) != 22 {
		t.Errorf("%d starts and %d ends: %v %v", len(starts), len(ends), starts, ends)
	}
}
