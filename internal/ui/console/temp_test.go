package console

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The person is told once where files lie that commands wrote to /tmp.
func TestFilesInTmpAreFound(t *testing.T) {
	s := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("x")))).open(t, nil)
	seen := func(path string) string { return strings.Replace(path, "/tmp/", "/cache/own/tmp/", 1) }
	for range 2 {
		s.tellTemp(event.ToolEnd{View: event.Command{Command: "echo x >/tmp/out.txt"}}, seen)
	}
	s.notice("info", "the end")
	n := 0
	until(s, func(b event.Notice) bool {
		if strings.Contains(b.Text, "/tmp/out.txt is /cache/own/tmp/out.txt") {
			n++
		}
		return b.Text == "the end"
	})
	if n != 1 {
		t.Errorf("said %d times", n)
	}
}
