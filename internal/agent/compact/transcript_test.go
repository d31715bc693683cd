package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Ten sessions in which each thing that must be known afterwards stands in the middle of a long text: the request for
// the summary has all of it.
func TestTheRequestForASummaryHasAllThatFits(t *testing.T) {
	filler := strings.Repeat("something that was printed and does not matter\n", 300)
	for n := range 10 {
		say := func(what string) string { return fmt.Sprintf("%s %d", what, n) }
		in := func(what string) string { return filler + say(what) + "\n" + filler }
		input, err := json.Marshal(map[string]string{"file_path": "/w/" + say("path"), "content": in("signature")})
		if err != nil {
			t.Fatal(err)
		}
		msgs := []llm.Message{llm.UserText(in("rule"))}
		for i := range 1 + n {
			id := fmt.Sprint(i)
			msgs = append(msgs,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{
					llm.Text{Text: in("decision")}, llm.ToolCall{ID: id, Name: "Write", Input: input},
				}},
				llm.Message{Role: llm.User, Parts: []llm.Part{llm.ToolResult{
					CallID: id, Name: "Write", IsError: true, Parts: []llm.Part{llm.Text{Text: in("failed attempt")}},
				}}})
		}
		text := compact.Request(msgs, "", 2_000_000).Messages[0].PlainText()
		for _, what := range []string{"rule", "path", "signature", "decision", "failed attempt"} {
			if !strings.Contains(text, say(what)) {
				t.Errorf("session %d: %q is not in the request", n, say(what))
			}
		}
	}
}
