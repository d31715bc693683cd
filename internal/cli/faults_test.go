//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/cli"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// faultRun is a whole run of lathe, in this process, against a scripted model in which something goes wrong.
type faultRun struct {
	wire     string
	script   *llmtest.Script
	settings string // more of them, as JSON members

	dir    string
	srv    *llmtest.Server
	events string // short
	stderr string
	code   int
}

func (r *faultRun) run(t *testing.T) {
	t.Helper()
	r.dir = t.TempDir()
	r.srv = llmtest.New(r.script, llmtest.Options{Vars: map[string]string{"WORKDIR": r.dir}})
	if err := r.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.srv.Close() })
	base, model := r.srv.URL(), "claude-sonnet-4-5"
	if r.wire == "openai" {
		base, model = base+"/v1", "gpt-5.1"
	}
	settings := `{"stream": {"retryBaseMs": 1, "stallTimeoutMs": 150}` + r.settings + `}`
	var out, errOut bytes.Buffer
	r.code = cli.Main([]string{
		"lathe", "-p", "--output-format", "stream-json", "--dangerously-skip-permissions", "--cwd", r.dir,
		"--provider", r.wire, "--model", model, "--api-base", base, "--settings", settings, "go",
	}, strings.NewReader(""), &out, &errOut)
	r.stderr = errOut.String()
	var err error
	if r.events, err = briefEvents(out.Bytes(), r.dir); err != nil {
		t.Fatal(err)
	}
}

// ranOnce: the command ran once, whole, and nothing else was done.
func (r *faultRun) ranOnce(t *testing.T) {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(r.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	if diff := cmp.Diff(map[string]string{"log.txt": "ran\n"}, files); diff != "" {
		t.Errorf("the command should have run once (-want +got):\n%s%s", diff, r.events)
	}
	if _, err := briefRequests(r.srv.Requests(), r.dir); err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.events, `success error=false completed`) || !strings.HasSuffix(r.events, "\"Done.\"\n") ||
		r.code != 0 {
		t.Errorf("exit code %d\n%s%s", r.code, r.events, r.stderr)
	}
}

// failsClearly: one line names the failure, and nothing ran.
func (r *faultRun) failsClearly(t *testing.T, what string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, "log.txt")); err == nil {
		t.Errorf("the command ran")
	}
	last := r.events[strings.LastIndex(strings.TrimSuffix(r.events, "\n"), "\n")+1:]
	if !strings.HasPrefix(last, "success error=true api_error") || !strings.Contains(last, what) || r.code != 1 {
		t.Errorf("exit code %d, want 1 and %q in\n%s%s", r.code, what, r.events, r.stderr)
	}
}

// oneCommand is a reply with a text and a command, and an answer.
func oneCommand(chunk int, faults ...llmtest.Fault) *llmtest.Script {
	first := llmtest.Say(llmtest.Text("Let me see."),
		llmtest.Tool("Bash", map[string]any{"command": "echo ran >> log.txt"}))
	first.Faults = faults
	return &llmtest.Script{Chunk: chunk, Replies: []llmtest.Reply{first, llmtest.Say(llmtest.Text("Done."))}}
}

// quietHome is its own home, and no setting of this machine.
func quietHome(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	for _, k := range []string{
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "ANTHROPIC_BASE_URL",
		"OPENAI_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "LATHE_MODEL",
	} {
		t.Setenv(k, "")
	}
	t.Setenv("ANTHROPIC_API_KEY", "sk-test")
	t.Setenv("OPENAI_API_KEY", "sk-test")
}

var wires = []string{"anthropic", "openai"}

func TestAFaultIsOvercomeOrToldAndNoCallRunsTwice(t *testing.T) {
	quietHome(t)
	for _, f := range []struct {
		llmtest.Fault
		lasting string // in the error when it lasts
	}{
		{llmtest.Fault{Kind: "status", Status: 429, RetryAfter: "0"}, "rate limit"},
		{llmtest.Fault{Kind: "status", Status: 500}, "HTTP 500"},
		{llmtest.Fault{Kind: "status", Status: 529, Header: map[string]string{"retry-after-ms": "1"}}, "overloaded"},
		{llmtest.Fault{Kind: "reset", At: "start"}, "connection"},
		{llmtest.Fault{Kind: "reset", At: "30%"}, "connection"},
		{llmtest.Fault{Kind: "close", At: "30%"}, ""},
		{llmtest.Fault{Kind: "end", At: "event 3"}, ""},
		{llmtest.Fault{Kind: "garbage", At: "event 1"}, ""},
		{llmtest.Fault{Kind: "html"}, "web page"},
		{llmtest.Fault{Kind: "error", At: "event 2"}, ""},
		{llmtest.Fault{Kind: "stall", At: "event 2"}, ""},
	} {
		for _, wire := range wires {
			name := strings.TrimSpace(fmt.Sprint(wire, " ", f.Kind, " ", f.Status, " ", f.At))
			t.Run(name+" twice", func(t *testing.T) {
				t.Parallel()
				f := f.Fault
				f.Times = 2
				r := faultRun{wire: wire, script: oneCommand(5, f)}
				r.run(t)
				r.ranOnce(t)
			})
			t.Run(name+" for ever", func(t *testing.T) {
				t.Parallel()
				last := f.Fault
				last.Times = -1
				r := faultRun{wire: wire, script: oneCommand(5, last)}
				r.run(t)
				r.failsClearly(t, f.lasting)
			})
		}
	}
}

// A key that is refused is not tried again.
func TestAuthenticationIsNotTriedAgain(t *testing.T) {
	quietHome(t)
	for _, wire := range wires {
		r := faultRun{wire: wire, script: oneCommand(0, llmtest.Fault{Kind: "status", Status: 401, Times: -1})}
		r.run(t)
		r.failsClearly(t, "authentication failed")
		if n := len(r.srv.Requests()); n != 1 {
			t.Errorf("%s: %d requests, want 1", wire, n)
		}
	}
}

// cutEvery is the distance of the cuts; LATHE_CUTS=all cuts at every byte.
const cutEvery = 9

// Wherever the stream of a call is cut, the command runs once, and never from a part of its input.
func TestACallThatIsCutRunsOnceAndNeverFromAPart(t *testing.T) {
	quietHome(t)
	step := cutEvery
	if os.Getenv("LATHE_CUTS") == "all" {
		step = 1
	}
	for _, wire := range wires {
		for _, kind := range []string{"close", "end"} {
			t.Run(wire+" "+kind, func(t *testing.T) {
				t.Parallel()
				length := callLength(t, wire)
				for at := 0; at <= length; at += step {
					r := faultRun{wire: wire, script: oneCommand(11, llmtest.Fault{Kind: kind, At: fmt.Sprint("part 1 ", at)})}
					r.run(t)
					if r.ranOnce(t); t.Failed() {
						t.Fatalf("cut after %d of %d bytes of the call", at, length)
					}
					_ = r.srv.Close()
				}
			})
		}
	}
}

// callLength is how many bytes the events of the call take.
func callLength(t *testing.T, wire string) int {
	t.Helper()
	whole := faultRun{wire: wire, script: oneCommand(11)}
	whole.run(t)
	without := faultRun{wire: wire, script: &llmtest.Script{
		Chunk:   11,
		Replies: []llmtest.Reply{llmtest.Say(llmtest.Text("Let me see."))},
	}}
	without.run(t)
	return whole.srv.Requests()[0].Sent - without.srv.Requests()[0].Sent
}

func TestARunLeavesNoGoroutineBehind(t *testing.T) {
	quietHome(t)
	before := goleak.IgnoreCurrent()
	for _, wire := range wires {
		for _, faults := range [][]llmtest.Fault{
			nil,
			{{Kind: "close", At: "part 1 50%"}},
			{{Kind: "status", Status: 401, Times: -1}},
		} {
			r := faultRun{wire: wire, script: oneCommand(5, faults...)}
			r.run(t)
			if err := r.srv.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// Two faults in a row, before and behind the call.
func TestTwoFaultsInARow(t *testing.T) {
	quietHome(t)
	for _, wire := range wires {
		r := faultRun{wire: wire, script: oneCommand(5,
			llmtest.Fault{Kind: "status", Status: 529}, llmtest.Fault{Kind: "close", At: "part 1 50%"},
			llmtest.Fault{Kind: "reset", At: "after part 1"})}
		began := time.Now()
		r.run(t)
		r.ranOnce(t)
		t.Logf("%s: %v", wire, time.Since(began))
	}
}
