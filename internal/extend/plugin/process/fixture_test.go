package process_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// The test binary is also the plugin process of the tests: the variable says how it behaves.
const behaviour = "LATHE_TEST_PROCESS"

func TestMain(m *testing.M) {
	if kind := os.Getenv(behaviour); kind != "" {
		behave(kind)
		return
	}
	os.Exit(m.Run())
}

var out sync.Mutex

func say(v any) {
	out.Lock()
	defer out.Unlock()
	line, _ := json.Marshal(v)
	_, _ = os.Stdout.Write(append(line, '\n'))
}

func notify(method string, params any) {
	say(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// behave is the program: it answers initialize with the JSON of the variable LATHE_TEST_ABOUT, then acts as its kind
// says.
func behave(kind string) {
	if kind == "silent" {
		select {}
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params map[string]any  `json:"params"`
		}
		_ = json.Unmarshal(line, &m)
		answer := func(v any, moan ...string) {
			switch {
			case m.ID == nil:
			case len(moan) > 0:
				say(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": 1, "message": moan[0]}})
			default:
				say(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": v})
			}
		}
		if m.Method == "initialize" && kind != "refuses" {
			answer(json.RawMessage(os.Getenv("LATHE_TEST_ABOUT")))
			began(kind)
			continue
		}
		answered(kind, m.Method, m.Params, answer)
	}
}

// began is what a kind does after the answer to initialize.
func began(kind string) {
	switch kind {
	case "deaf":
		select {}
	case "flood":
		for {
			fmt.Println(`{"jsonrpc":"2.0","method":"status","params":{"text":"x"}}`)
		}
	case "asks":
		for i := range 50_000 {
			say(map[string]any{
				"jsonrpc": "2.0", "id": i, "method": "fs/read",
				"params": map[string]string{"path": "/etc/passwd"},
			})
		}
	case "long":
		fmt.Println(strings.Repeat("x", 5<<20))
		select {}
	case "greedy":
		held := make([]byte, 200<<20)
		for i := range held {
			held[i] = byte(i)
		}
		select {}
	case "exits":
		os.Exit(3)
	case "forks":
		child := exec.Command("sleep", "1000")
		child.Env = append(os.Environ(), behaviour+"=")
		_ = child.Start()
		_ = os.WriteFile(os.Getenv("LATHE_TEST_FILE"), fmt.Append(nil, child.Process.Pid), 0o600)
	}
}

func answered(kind, method string, params map[string]any, answer func(v any, moan ...string)) {
	switch {
	case kind == "stuck" && method != "event":
	case kind == "chatty":
		for i := range 6000 {
			notify("status", map[string]any{"text": fmt.Sprint("at ", i)})
		}
		answer(map[string]any{})
	case kind == "moans", kind == "refuses":
		answer(nil, strings.Repeat("x", 3<<20))
	case method == "tool/call":
		notify("tool/output", map[string]any{"call_id": params["call_id"], "text": "working\n"})
		notify("status", map[string]any{"text": "did " + fmt.Sprint(params["name"])})
		text, _ := json.Marshal(params["input"])
		answer(map[string]any{"text": "got " + string(text)})
	case method == "event":
		if f, err := os.OpenFile(os.Getenv("LATHE_TEST_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, params["kind"])
			_ = f.Close()
		}
	case method == "command/run":
		answer(map[string]any{"prompt": "please " + fmt.Sprint(params["arguments"])})
	default:
		reply := os.Getenv("LATHE_TEST_ANSWER")
		if reply == "" {
			reply = "{}"
		}
		answer(json.RawMessage(reply))
	}
}

// fixture is a set with one process.
type fixture struct {
	*process.Set
	catalogue *call.Catalogue
	runner    *sandbox.Runner
	now       time.Time
	mu        sync.Mutex
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func start(t testing.TB, kind, about, answer string, more ...process.Spec) *fixture {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	few := 120
	d := process.Declaration{Command: self, Timeout: 2000, Memory: &few, Env: map[string]string{
		behaviour: kind, "LATHE_TEST_ABOUT": about, "LATHE_TEST_ANSWER": answer, "LATHE_TEST_FILE": t.TempDir() + "/file",
	}}
	specs := append([]process.Spec{{Declaration: d, Name: "test", Origin: "the test", Dir: t.TempDir()}}, more...)
	f := &fixture{catalogue: call.NewCatalogue(), runner: sandbox.New(), now: time.Now()}
	f.Set = process.New(process.Options{
		Specs: func() ([]process.Spec, []string) { return specs, nil }, Version: func() uint64 { return 1 }, Runner: f.runner,
		Environ: func(bool) []string { return []string{"PATH=" + os.Getenv("PATH")} }, Tools: f.catalogue, Dir: t.TempDir(),
		Lathe: "test", Clock: f.clock, Every: 5 * time.Millisecond,
	})
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		f.runner.Close()
	})
	return f
}

// file is where the process writes.
func (f *fixture) file() string { return f.All()[0].Environ("LATHE_TEST_FILE") }
