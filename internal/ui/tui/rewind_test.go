package tui

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
)

// A rewind opens the conversation again, after its output came or before: the user sees which files changed in both
// cases.
func TestTheOutputOfARewindIsShownInTheConversationThatItOpens(t *testing.T) {
	output := outputMsg{
		command: dialog.Command{Name: "rewind 0198", Args: "both"},
		out:     event.Output{Text: "2 files changed"},
	}
	opened := event.Opened{Session: "s", Dir: "/home/me/project"}
	for name, run := range map[string]func(m *model){
		"the output first":       func(m *model) { m.output(output); m.apply1(opened) },
		"the conversation first": func(m *model) { m.apply1(opened); m.output(output) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestModel(t, 80, 24)
			m.apply1(opened)
			m.running++
			run(m)
			count := 0
			for _, it := range m.log.items {
				if it.text == "2 files changed" {
					count++
				}
			}
			if count != 1 {
				t.Errorf("it is shown %d times", count)
			}
		})
	}
}
