package conversation_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The first request is paid for by every session: what is added to it must be worth its place.
func TestTheFirstRequestIsShort(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("Yes."))))
	body := firstRequest(t, p, nil)
	t.Logf("%d bytes", len(body))
	if len(body) > 12_000 {
		t.Errorf("the first request has %d bytes", len(body))
	}
}
