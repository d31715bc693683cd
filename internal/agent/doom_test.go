package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// play runs a list of calls, each "name" or "name=result", past the watcher, a step each, until one is
// stopped. It returns how many ran.
func (d *doom) play(calls string) int {
	for i, c := range strings.Fields(calls) {
		name, result, _ := strings.Cut(c, "=")
		call := llm.ToolCall{ID: fmt.Sprint(i), Name: name, Input: json.RawMessage(`{"b":1,"a":2}`)}
		if i%2 == 1 {
			call.Input = json.RawMessage(`{ "a":2, "b":1 }`) // the same in other words
		}
		if stuck, _ := d.stuck(call); stuck {
			return i
		}
		d.note([]*pending{{shown: call, result: llm.TextResult(call, result, false)}})
	}
	return len(strings.Fields(calls))
}

func TestCirclesAreSeen(t *testing.T) {
	for _, tt := range []struct {
		name, calls string
		ran         int
	}{
		{"the same again and again", "A A A A A", 3},
		{"two in turn", "A B A B A B A B", 6},
		{"three in turn", "A B C A B C A B C A", 9},
		{"after a good start", "X Y Z A B A B A B A", 9},
		{"a result that changed meanwhile", "A=1 A=1 A=2 A=2 A=2 A=2", 5},
		{"back and forth", "A=1 B=1 A=2 B=2 A=1 B=1 A=2 B=2 A=1 B=1 A=2 B=2", 12}, // never the same result twice in a row
		{"an edit undone and done", "T E U T E U T E U T", 9},
		{"a break does not help for ever", "A A X A A A", 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&doom{}).play(tt.calls); got != tt.ran {
				t.Errorf("%d calls ran, want %d", got, tt.ran)
			}
		})
	}
}

func TestWorkIsNoCircle(t *testing.T) {
	for name, calls := range map[string]string{
		"a test after each edit":          "T E1 T E2 T E3 T E4 T E5 T",
		"a look between other looks":      "S R1 S R2 S R3 S R4 S R5 S",
		"a result that changes":           "P=1 P=2 P=3 P=4 P=5",
		"polling that shows time":         "P=1s P=2s P=3s P=4s",
		"a repetition before other work":  "A A A B C D A E A F",
		"different edits, the same error": "E1 E2 E3 T=bad E4 T=bad E5 T=bad E6 T=bad",
		"twice and then another result":   "A=1 A=1 A=2 A=2 A=3 A=3",
	} {
		t.Run(name, func(t *testing.T) {
			if got, all := (&doom{}).play(calls), len(strings.Fields(calls)); got != all {
				t.Errorf("stopped after %d of %d", got, all)
			}
		})
	}
}

func TestANewTurnForgetsTheCircle(t *testing.T) {
	d := &doom{}
	if d.play("A A A") != 3 {
		t.Fatal("stopped early")
	}
	d.warn()
	d.reset()
	if got := d.play("A A A A"); got != 3 {
		t.Errorf("stopped after %d", got)
	}
	if _, warned := d.stuck(llm.ToolCall{Name: "A", Input: json.RawMessage(`{"a":2,"b":1}`)}); warned {
		t.Error("the warning of the turn before counts")
	}
}

// The watcher is told of calls while others are judged; nothing that it is told may get lost.
func TestTheWatcherLearnsFromSeveralAtOnce(t *testing.T) {
	var d doom
	var wait sync.WaitGroup
	const players, calls = 8, 200
	for p := range players {
		wait.Go(func() {
			for i := range calls {
				c := llm.ToolCall{ID: fmt.Sprint(i), Name: "T", Input: json.RawMessage(fmt.Sprintf(`{"x":"%d %d"}`, p, i))}
				if stuck, _ := d.stuck(c); stuck {
					t.Error("a new call is stuck")
				}
				d.note([]*pending{{shown: c, result: llm.TextResult(c, "ok", false)}})
			}
		})
	}
	wait.Wait()
	if d.news != players*calls || len(d.calls) != players*calls {
		t.Errorf("%d news of %d calls, want %d", d.news, len(d.calls), players*calls)
	}
}
