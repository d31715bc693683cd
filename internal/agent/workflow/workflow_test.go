package workflow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/workflow"
)

func host(answer func(workflow.Task) (string, error)) (workflow.Host, *[]string) {
	var mu sync.Mutex
	told := &[]string{}
	return workflow.Host{
		Agent: func(_ context.Context, t workflow.Task) (string, error) { return answer(t) },
		Tell: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			*told = append(*told, line)
		},
	}, told
}

var wide = workflow.Limits{Agents: 100, Time: time.Minute}

const sixty = `
phase("find")
files = json.decode(agent("List the files", kind = "Explore"))
phase("change")
done = agents(["Change " + f for f in files])
rounds = 0
while len([d for d in done if d != "ok"]) > 0 and rounds < 3:
    done = ["ok" for d in done]
    rounds += 1
phase("check")
if agent("Check", optional = True) == None:
    log("the check failed")
result = "%d changed" % len(done)
`

func TestAWorkflowOfSixtyAgents(t *testing.T) {
	var mu sync.Mutex
	var titles []string
	h, told := host(func(task workflow.Task) (string, error) {
		mu.Lock()
		titles = append(titles, task.Title)
		mu.Unlock()
		switch {
		case task.Kind == "Explore":
			return `["` + strings.Repeat(`f", "`, 57) + `f"]`, nil
		case task.Prompt == "Check":
			return "", errors.New("no")
		}
		return "ok", nil
	})
	if err := workflow.Check(sixty); err != nil {
		t.Fatal(err)
	}
	if got := workflow.Phases(sixty); !slices.Equal(got, []string{"find", "change", "check"}) {
		t.Errorf("%q", got)
	}
	got, err := workflow.Run(t.Context(), sixty, h, wide)
	if err != nil || got != "58 changed" || len(titles) != 60 || !slices.Contains(titles, "change: Change f") ||
		!slices.Contains(*told, "the check failed") {
		t.Errorf("%q %v, %d agents, told %q", got, err, len(titles), *told)
	}
}

func TestAWorkflowEndsAtItsLimits(t *testing.T) {
	h, _ := host(func(workflow.Task) (string, error) { return "ok", nil })
	for script, want := range map[string]string{
		`agents(["a"] * 101)`: "may start 100 agents",
		`while True: pass`:    "too many steps",
		`open("/etc/passwd")`: "undefined: open",
		`agent(1)`:            "got int, want string",
	} {
		if _, err := workflow.Run(t.Context(), script, h, wide); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	h, _ = host(func(workflow.Task) (string, error) { return "", errors.New("overloaded") })
	if _, err := workflow.Run(t.Context(), `agent("x")`, h, wide); err == nil || !strings.Contains(err.Error(), "overloaded") {
		t.Error(err)
	}
}
