//go:build linux

package tool_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

// pidIn is the process id that a command wrote to a file.
func (b *bench) pidIn(name string) int {
	b.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(b.content(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	return pid
}

func TestADaemonStaysOnlyWhenThatWasAskedFor(t *testing.T) {
	for _, start := range []string{"nohup sleep 300 >out 2>&1 &", "setsid sleep 300 >out 2>&1 &"} {
		b := behind(t)
		command := start + " echo $! >pid"
		got := b.must("Bash", in{"command": command, "leave_running": true})
		pid := b.pidIn("pid")
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		wantIn(t, got, "stays running, also after lathe ends: pid ")
		b.must("Bash", in{"command": "true"})
		b.env.Runner.Close()
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("%s: it ended with lathe: %v", start, err)
		}

		b = behind(t)
		wantIn(t, b.must("Bash", in{"command": command}), "left running in the background and ended")
	}
}

func TestWhatACommandLeavesEndsWithTheCommandWhenThatIsInterrupted(t *testing.T) {
	b := behind(t)
	r, err := b.call("Bash", in{"command": "sleep 300 & echo $! >pid; wait", "leave_running": true, "timeout": 300})
	if err != nil || !r.IsError {
		t.Fatal(r, err)
	}
	if err := syscall.Kill(b.pidIn("pid"), 0); err == nil {
		t.Error("it still runs")
	}
}

func TestTheQuestionSaysThatSomethingStays(t *testing.T) {
	b := behind(t)
	plan, err := b.prepare("Bash", in{"command": "nohup x &", "leave_running": true})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, strings.Join(plan.Preview.(event.Command).Warning, "\n"), "stays after lathe ends")
	b.fails("Bash", in{"command": "x", "leave_running": true, "run_in_background": true}, "exclude each other")
}
