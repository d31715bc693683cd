//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// behind makes the tools of a session whose background commands are ended with the test.
func behind(t testing.TB) *bench {
	t.Helper()
	b := newBench(t)
	b.env.Shell = "bash"
	b.env.Blob, b.env.NewBlob = nil, func(context.Context, string) (tool.BlobWriter, error) {
		f, err := os.CreateTemp(b.t.TempDir(), "blob-*")
		return &tool.TempBlob{File: f}, err
	}
	t.Cleanup(b.env.Runner.Close)
	t.Cleanup(func() {
		if err := b.env.Background.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// spawn starts a command in the background and returns its id.
func (b *bench) spawn(command string) string {
	b.t.Helper()
	r, err := b.call("Bash", in{"command": command, "run_in_background": true})
	if err != nil {
		b.t.Fatal(err)
	}
	id, _ := r.Meta["backgroundTaskId"].(string)
	if id == "" || !strings.Contains(text(r), id) || r.View.(event.Command).Background != id {
		b.t.Fatalf("no id in %q, %+v", text(r), r)
	}
	return id
}

// until asks for output until it contains the wanted text.
func (b *bench) until(id, want string) string {
	b.t.Helper()
	all := ""
	for range 200 {
		r, err := b.call("TaskOutput", in{"task_id": id, "block": true, "timeout": 50})
		if err != nil {
			b.t.Fatal(err)
		}
		if all += r.Meta["stdout"].(string); strings.Contains(all, want) {
			return all
		}
	}
	b.t.Fatalf("%q never came, but %q", want, all)
	return ""
}

func TestACommandRunsInTheBackground(t *testing.T) {
	b := behind(t)
	fifo := filepath.Join(b.dir, "go")
	b.must("Bash", in{"command": "mkfifo go"})
	id := b.spawn("cd /; echo first; cat " + fifo + "; echo last; exit 3")
	if id != "bash_1" || b.env.Dir.Get() != b.dir {
		t.Errorf("%s in %s", id, b.env.Dir.Get())
	}
	b.until(id, "first")
	list := b.env.Background.List()
	if len(list) != 1 || list[0].Status != tool.ShellRunning || list[0].ID != id || list[0].Dir != b.dir ||
		b.env.Background.Running() != 1 {
		t.Errorf("%+v", list)
	}
	wantIn(t, b.must("TaskOutput", in{"task_id": id}), "bash_1 is running", "No new output")
	if err := os.WriteFile(fifo, []byte("middle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := b.call("TaskOutput", in{"task_id": id, "block": true})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "bash_1 ended with exit code 3", "middle\nlast", "All of the output is in ")
	if strings.Contains(text(r), "first") || r.Meta["status"] != "failed" || r.Meta["exitCode"] != 3 {
		t.Errorf("%q %v", text(r), r.Meta)
	}
	path, _ := r.Meta["persistedOutputPath"].(string)
	if data, err := os.ReadFile(path); err != nil || string(data) != "first\nmiddle\nlast\n" {
		t.Errorf("%q, %v", data, err)
	}
	wantIn(t, b.must("TaskOutput", in{"task_id": id}), "No new output")
	wantIn(t, b.must("TaskStop", in{"task_id": id}), "ended with exit code 3")
	b.fails("TaskOutput", in{"task_id": "bash_9"}, "no background command \"bash_9\"", "bash_1")
	b.fails("TaskOutput", in{"task_id": id, "filter": "("}, "regular expression")
}

func TestKillShellEndsTheWholeTree(t *testing.T) {
	b := behind(t)
	id := b.spawn("(setsid sleep 1000 & echo $! >pid); trap '' TERM; echo ready; while :; do sleep 1000; done")
	b.until(id, "ready")
	pid := strings.TrimSpace(b.content("pid"))
	r, err := b.call("TaskStop", in{"task_id": id})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "bash_1 was ended")
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Error("a process is left")
	}
	if got := b.env.Background.List()[0].Status; got != tool.ShellKilled {
		t.Error(got)
	}
}

func TestTheFilterChoosesLines(t *testing.T) {
	b := behind(t)
	id := b.spawn("for i in $(seq 1 30000); do echo \"line $i\"; done; printf '\\033[31merror\\033[0m: last'")
	if _, err := b.call("TaskOutput", in{"task_id": id, "block": true, "filter": "^line 2[0-9]{3}9$|^error"}); err != nil {
		t.Fatal(err)
	}
	id = b.spawn("for i in $(seq 1 30000); do echo \"line $i\"; done; printf '\\033[31merror\\033[0m: last'")
	<-b.env.Background.Ended(1)
	r, err := b.call("TaskOutput", in{"task_id": id, "filter": "^line 2000[0-4]$|^error"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Meta["stdout"]; got != "line 20000\nline 20001\nline 20002\nline 20003\nline 20004\nerror: last" {
		t.Errorf("%q", got)
	}
}

func TestALineIsShownAgainWhenItIsWhole(t *testing.T) {
	b := behind(t)
	b.must("Bash", in{"command": "mkfifo go"})
	id := b.spawn("echo one; printf 'two...'; cat go; echo done")
	if got := b.until(id, "two..."); !strings.HasPrefix(got, "one\n") {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), []byte(" ready\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-b.env.Background.Ended(0)
	wantIn(t, b.must("TaskOutput", in{"task_id": id}), "two... ready\ndone")
}

func TestMuchOutputInTheBackgroundIsShortenedAndKept(t *testing.T) {
	b := behind(t)
	b.env.Limits.BashOutput = 1000
	id := b.spawn("seq 1 200000")
	<-b.env.Background.Ended(0)
	r, err := b.call("TaskOutput", in{"task_id": id})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "1\n2\n3\n", "characters left out here; all of the output is in ", "199999\n200000")
	if n := len(text(r)); n > 1500 {
		t.Errorf("%d bytes", n)
	}
}

func TestOutputInTheBackgroundTakesNoMemory(t *testing.T) {
	b := behind(t)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	b.must("Bash", in{"command": "true"})
	before := heap()
	id := b.spawn("yes 'a line of output that says nothing new' | head -c 80000000")
	<-b.env.Background.Ended(0)
	if got := b.env.Background.List()[0].Size; got != tool.BashKept {
		t.Errorf("%d bytes are kept", got)
	}
	wantIn(t, b.must("TaskOutput", in{"task_id": id}), "Of the 76.3 MB of output only the first 64.0 MB were kept, in ")
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d bytes more are held", after-before)
	}
}

func TestOnlySoManyRunInTheBackground(t *testing.T) {
	b := behind(t)
	for range tool.MostBackground {
		b.spawn("sleep 1000")
	}
	b.fails("Bash", in{"command": "sleep 1000", "run_in_background": true}, "16 commands run in the background",
		"TaskStop")
	b.must("TaskStop", in{"task_id": "bash_3"})
	b.spawn("sleep 1000")
	if got := len(b.env.Background.List()); got != tool.MostBackground+1 {
		t.Errorf("%d in the list", got)
	}
}

// slow starts a call of Bash that waits, and returns its result when it is there.
func (b *bench) slow(ctx context.Context, id, command string) <-chan *agent.Result {
	b.t.Helper()
	raw, err := json.Marshal(in{"command": command})
	if err != nil {
		b.t.Fatal(err)
	}
	plan, err := b.tool("Bash").Prepare(ctx, llm.ToolCall{ID: id, Name: "Bash", Input: raw})
	if err != nil {
		b.t.Fatal(err)
	}
	out := make(chan *agent.Result, 1)
	go func() {
		r, err := plan.Run(ctx)
		if err != nil {
			b.t.Error(err)
		}
		out <- r
	}()
	return out
}

// ready returns a context whose live output says when a command got somewhere.
func ready(ctx context.Context, word string) (context.Context, <-chan struct{}) {
	there := make(chan struct{})
	said := false
	all := ""
	return agent.WithOutput(ctx, func(s string) {
		if all += s; !said && strings.Contains(all, word) {
			said = true
			close(there)
		}
	}), there
}

func TestARunningCommandIsSentToTheBackground(t *testing.T) {
	for _, long := range []bool{false, true} {
		t.Run(fmt.Sprint(long), func(t *testing.T) {
			b := behind(t)
			b.must("Bash", in{"command": "mkfifo go"})
			count := 3
			if long {
				count = 20_000
			}
			told := make(chan tool.BackgroundShell, 10)
			b.env.Background.Notify(func(s tool.BackgroundShell) { told <- s })
			turn, cancel := context.WithCancel(t.Context())
			ctx, there := ready(turn, "ready")
			out := b.slow(ctx, "call_x", fmt.Sprintf("seq 1 %d; echo ready; cat go; cd /; echo after", count))
			<-there
			if b.env.Background.Detach("call_y") {
				t.Error("a call that is not there was detached")
			}
			if got := b.env.Background.Waiting(""); len(got) != 1 || got[0] != "call_x" {
				t.Errorf("%q", got)
			}
			if !b.env.Background.Detach("call_x") {
				t.Fatal("not detached")
			}
			r := <-out
			wantIn(t, text(r), "moved the command to the background", "bash_1", "1\n2\n3\n", "ready")
			if r.IsError || r.Meta["backgroundTaskId"] != "bash_1" || r.Meta["backgroundedByUser"] != true {
				t.Errorf("%+v", r.Meta)
			}
			if s := <-told; s.Status != tool.ShellRunning || s.CallID != "call_x" {
				t.Errorf("%+v", s)
			}
			cancel() // the turn is over; the command is not
			if b.env.Background.Detach("call_x") || b.env.Background.Running() != 1 {
				t.Error("detached twice, or ended with the turn")
			}
			if err := os.WriteFile(filepath.Join(b.dir, "go"), []byte("more\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := <-told
			if s.Status != tool.ShellCompleted || s.Output == "" || b.env.Dir.Get() != b.dir {
				t.Errorf("%+v in %s", s, b.env.Dir.Get())
			}
			if got := b.must("TaskOutput", in{"task_id": "bash_1"}); !strings.Contains(got, "more\nafter") ||
				strings.Contains(got, "ready") {
				t.Errorf("%q", got)
			}
			data, err := os.ReadFile(s.Output)
			if err != nil || strings.Count(string(data), "\n") != count+3 {
				t.Errorf("%d lines kept, %v", strings.Count(string(data), "\n"), err)
			}
		})
	}
}

func TestADetachedCommandHasNoTimeout(t *testing.T) {
	b := behind(t)
	b.env.Limits.BashTimeout = 400 * time.Millisecond
	b.must("Bash", in{"command": "mkfifo go"})
	ctx, there := ready(t.Context(), "ready")
	out := b.slow(ctx, "c", "echo ready; cat go; sleep 0.6; echo after")
	<-there
	if !b.env.Background.Detach("c") {
		t.Skip("the machine is so slow that the command ran out of time")
	}
	<-out
	if err := os.WriteFile(filepath.Join(b.dir, "go"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-b.env.Background.Ended(0)
	if s := b.env.Background.List()[0]; s.Status != tool.ShellCompleted {
		t.Errorf("%+v", s)
	}
}

func TestClosingEndsWhatRunsInTheBackground(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := behind(t)
	id := b.spawn("echo $$ >pid; echo up; sleep 1000")
	b.until(id, "up")
	if err := b.env.Background.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(b.content("pid"))); err == nil {
		t.Error("it runs on")
	}
	s := b.env.Background.List()[0]
	if s.Status != tool.ShellKilled || s.Output == "" {
		t.Errorf("%+v", s)
	}
	b.fails("Bash", in{"command": "true", "run_in_background": true}, "closed")
	b.env.Runner.Close() // it has goroutines of its own
}

func TestOutputThatCannotBeKeptDoesNotEndTheCommand(t *testing.T) {
	b := behind(t)
	b.env.NewBlob = func(context.Context, string) (tool.BlobWriter, error) { return tool.NoBlob{}, nil }
	id := b.spawn("seq 1 100000; echo done >marker")
	<-b.env.Background.Ended(0)
	if b.content("marker") != "done\n" {
		t.Error("it was ended")
	}
	wantIn(t, b.must("TaskOutput", in{"task_id": id}), "ended with exit code 0", "could not be kept")
}

func TestTheModelHearsOfAnEndOnce(t *testing.T) {
	b := behind(t)
	b.spawn("exit 4")
	seen := b.spawn("true")
	for n := range b.env.Background.List() {
		<-b.env.Background.Ended(n)
	}
	b.must("TaskOutput", in{"task_id": seen})
	got := b.must("Bash", in{"command": "echo x"})
	wantIn(t, got, "x\n", "In the background: bash_1 ended with exit code 4")
	if strings.Contains(got, seen) {
		t.Errorf("told again: %q", got)
	}
	if got := b.must("Bash", in{"command": "echo x"}); got != "x" {
		t.Errorf("told twice: %q", got)
	}
}

func TestASubagentSeesTheSameCommands(t *testing.T) {
	b := behind(t)
	id := b.spawn("sleep 1000")
	if got := b.env.Clone().Background.List(); len(got) != 1 || got[0].ID != id {
		t.Errorf("%+v", got)
	}
}
