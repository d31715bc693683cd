package session

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The calls of one reply belong together, whether one ran while the reply streamed, or after the result of another.
func TestTheCallsOfOneReplyHaveOneNumber(t *testing.T) {
	s := create(t, newStore(t))
	ctx := t.Context()
	must(t, s.AddUser(ctx, llm.UserText("go"), false, false))
	must(t, s.AddPart(ctx, 0, toolCall("a")))
	first := s.Exchange()
	must(t, s.StartCall(ctx, CallStart{CallID: "a"}, false))
	must(t, s.EndCall(ctx, CallEnd{Result: llm.TextResult(toolCall("a"), "done", false)}))
	must(t, s.AddPart(ctx, 1, toolCall("b")))
	while := s.Exchange()
	must(t, s.AddReply(ctx, llm.Message{Role: llm.Assistant, Parts: []llm.Part{toolCall("a"), toolCall("b")}}))
	after := s.Exchange()
	must(t, s.EndCall(ctx, CallEnd{Result: llm.TextResult(toolCall("b"), "done", false)}))
	if while != first || after != first || s.Exchange() == first {
		t.Errorf("%d, then %d, %d, and %d in the next step", first, while, after, s.Exchange())
	}
}
