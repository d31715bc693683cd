package tool_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tool"
)

// A list that nothing updates is named to the model; one without open tasks is not.
func TestAStaleTaskListIsRemindedOf(t *testing.T) {
	var todos tool.Todos
	after := func(steps int) (texts []string) {
		for range steps {
			msgs, err := todos.Remind(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range msgs {
				texts = append(texts, m.PlainText())
			}
		}
		return texts
	}
	todos.Set([]event.TodoItem{{Content: "Run the tests", Status: "pending"}})
	if got := after(10); len(got) != 0 {
		t.Errorf("too early: %q", got)
	}
	if got := after(11); len(got) != 1 {
		t.Errorf("%d reminders", len(got))
	} else {
		wantIn(t, got[0], "not updated for 10 steps", "- [pending] Run the tests")
	}
	todos.Set([]event.TodoItem{{Content: "Run the tests", Status: "completed"}})
	if got := after(30); len(got) != 0 {
		t.Errorf("all is done: %q", got)
	}
}
