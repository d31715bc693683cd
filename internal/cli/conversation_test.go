//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// The flag is one for all tests of this folder, whichever of them comes first.
func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write what was found into the expected files")
	}
}

// A conversation is a file: a prompt, the model's replies, and the events, requests and files that must
// follow. The commands besides testscript's own:
//
//	model FILE [anthropic|openai]   start the scripted model and point lathe at it
//	turn [CODE] ARGS...             lathe -p --output-format stream-json ARGS; prints the events, short
//	lathe [CODE] [<FILE] ARGS...    lathe with these arguments; CODE is the exit code it must have
//	start ARGS...                   a turn in the background
//	await requests N | fifo FILE    wait for the model's Nth request, or for a writer of FILE
//	signal INT|TERM...              signal the turn in the background
//	end CODE                        wait for it; prints the events, short
//	requests                        print each request's additions to the one before it, short;
//	                                the rest must be byte for byte the same
//	sent N TEXT                     the body of the Nth request has the text; with ! it has not
//	damage                          spoil a line in the middle of the only session's log
//	dead FILE                       the process whose id is in FILE must be gone
func TestConversations(t *testing.T) {
	bin := buildLathe(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/conversation", UpdateScripts: updating(), RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error { return setUpConversation(e, bin) },
		Condition: func(cond string) (bool, error) {
			return cond == "sandbox" && confine.Detect().Tier == confine.Full, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": cmdModel, "turn": cmdTurn, "lathe": cmdLathe, "start": cmdStart, "await": cmdAwait,
			"signal": cmdSignal, "end": cmdEnd, "requests": cmdRequests, "dead": cmdDead, "fifo": cmdFifo, "sent": cmdSent,
			"damage": cmdDamage, "cut": cmdCut,
		},
	})
}

// conversation is the state of one script.
type conversation struct {
	bin    string
	srv    *llmtest.Server
	bg     *exec.Cmd
	bgOut  bytes.Buffer
	work   string
	wait   context.Context
	cancel context.CancelFunc
}

func setUpConversation(e *testscript.Env, bin string) error {
	c := &conversation{bin: bin, work: e.WorkDir}
	c.wait, c.cancel = context.WithTimeout(context.Background(), time.Minute)
	e.Values["conversation"] = c
	home := filepath.Join(e.WorkDir, "home")
	settings := filepath.Join(home, ".config", "lathe")
	if err := errors.Join(os.MkdirAll(settings, 0o700), os.MkdirAll(filepath.Join(e.WorkDir, "p"), 0o700)); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("LATHE", bin)
	e.Cd = filepath.Join(e.WorkDir, "p")
	e.Defer(c.close)
	return os.WriteFile(filepath.Join(settings, "settings.json"), []byte(`{"stream": {"retryBaseMs": 1}}`), 0o600)
}

func (c *conversation) close() {
	c.cancel()
	if c.bg != nil {
		_ = c.bg.Process.Kill()
		_ = c.bg.Wait()
	}
	if c.srv != nil {
		_ = c.srv.Close()
	}
}

func of(ts *testscript.TestScript) *conversation { return ts.Value("conversation").(*conversation) }

func cmdModel(ts *testscript.TestScript, _ bool, args []string) {
	c := of(ts)
	if c.srv != nil {
		ts.Check(c.srv.Close())
	}
	script, err := llmtest.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	c.srv = llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": filepath.Join(c.work, "p")}})
	ts.Check(c.srv.Start("127.0.0.1:0"))
	if len(args) > 1 && args[1] == "openai" {
		ts.Setenv("OPENAI_BASE_URL", c.srv.URL()+"/v1")
		ts.Setenv("OPENAI_API_KEY", "sk-test")
		ts.Setenv("LATHE_MODEL", "gpt-5.1")
		return
	}
	ts.Setenv("ANTHROPIC_BASE_URL", c.srv.URL())
	ts.Setenv("ANTHROPIC_API_KEY", "sk-test")
}

// command prepares lathe; the first argument may be the exit code, the next a file for stdin.
func (c *conversation) command(ts *testscript.TestScript, args []string) (cmd *exec.Cmd, code int) {
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			code, args = n, args[1:]
		}
	}
	stdin := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		stdin, args = ts.ReadFile(args[0][1:]), args[1:]
	}
	cmd = exec.Command(c.bin, args...)
	cmd.Dir, cmd.Stdin = ts.MkAbs("."), strings.NewReader(stdin)
	cmd.Env = []string{"PWD=" + cmd.Dir}
	for _, k := range []string{
		"HOME", "PATH", "TMPDIR", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL",
		"OPENAI_API_KEY", "LATHE_MODEL", "GH_TOKEN", "BOX_KEY", "GITHUB_TOKEN", "AI_GATEWAY_API_KEY",
		"ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
	} {
		if v := ts.Getenv(k); v != "" {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	return cmd, code
}

func exitCodeOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

func cmdLathe(ts *testscript.TestScript, _ bool, args []string) {
	cmd, want := of(ts).command(ts, args)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if got := exitCodeOf(ts, cmd.Run()); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

var turnFlags = []string{"-p", "--output-format", "stream-json"}

func (c *conversation) turn(ts *testscript.TestScript, args []string) (*exec.Cmd, int) {
	n := 0
	for n < len(args) && n < 2 && (strings.HasPrefix(args[n], "<") || strings.Trim(args[n], "0123456789") == "") {
		n++
	}
	return c.command(ts, append(append(append([]string(nil), args[:n]...), turnFlags...), args[n:]...))
}

func cmdTurn(ts *testscript.TestScript, _ bool, args []string) {
	c := of(ts)
	cmd, want := c.turn(ts, args)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, ts.Stderr()
	c.finished(ts, exitCodeOf(ts, cmd.Run()), want, out.Bytes())
}

// finished checks how a turn ended and prints its events.
func (c *conversation) finished(ts *testscript.TestScript, got, want int, out []byte) {
	text, err := briefEvents(out, c.work)
	fmt.Fprint(ts.Stdout(), text)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(c.work, "events.jsonl"), out, 0o600))
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s", got, want, out)
	}
}

func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	c := of(ts)
	cmd, _ := c.turn(ts, args)
	c.bgOut.Reset()
	cmd.Stdout, cmd.Stderr = &c.bgOut, ts.Stderr()
	ts.Check(cmd.Start())
	c.bg = cmd
}

func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	c := of(ts)
	switch args[0] {
	case "requests":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		ts.Check(c.srv.Wait(c.wait, n))
	case "fifo":
		b, err := os.ReadFile(ts.MkAbs(args[1])) // blocks until there is a writer, and until it is done
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[1]+".txt"), b, 0o600))
	default:
		ts.Fatalf("await requests N | fifo FILE")
	}
}

func cmdFifo(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Check(of(ts).bg.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[name]))
	}
}

func cmdEnd(ts *testscript.TestScript, _ bool, args []string) {
	c := of(ts)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := exitCodeOf(ts, c.bg.Wait())
	c.bg = nil
	c.finished(ts, got, want, c.bgOut.Bytes())
}

func cmdRequests(ts *testscript.TestScript, _ bool, _ []string) {
	c := of(ts)
	text, err := briefRequests(c.srv.Requests(), c.work)
	fmt.Fprint(ts.Stdout(), text)
	ts.Check(err)
}

func cmdSent(ts *testscript.TestScript, not bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	all := of(ts).srv.Requests()
	if n > len(all) {
		ts.Fatalf("there were %d requests", len(all))
	}
	if bytes.Contains(all[n-1].Body, []byte(args[1])) == not {
		ts.Fatalf("request %d: has %q: %v", n, args[1], !not)
	}
}

// onlyLog is the log of the one session there is.
func onlyLog(ts *testscript.TestScript) string {
	logs, err := filepath.Glob(filepath.Join(ts.Getenv("HOME"), ".local/share/lathe/projects/*/*/log.jsonl"))
	ts.Check(err)
	if len(logs) != 1 {
		ts.Fatalf("there are %d logs", len(logs))
	}
	return logs[0]
}

func cmdDamage(ts *testscript.TestScript, _ bool, _ []string) {
	log := onlyLog(ts)
	lines := strings.SplitAfter(ts.ReadFile(log), "\n")
	lines[len(lines)/2] = strings.Replace(lines[len(lines)/2], `"`, "'", 1)
	ts.Check(os.WriteFile(log, []byte(strings.Join(lines, "")), 0o600))
}

// cmdCut leaves the first half of the log's first line.
func cmdCut(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.Truncate(onlyLog(ts), 100))
}

func cmdDead(ts *testscript.TestScript, _ bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	if err != nil {
		ts.Fatalf("%s has no process id: %v", args[0], err)
	}
	ts.Check(await.Exit(pid)) // a killed process needs a moment to die
}
