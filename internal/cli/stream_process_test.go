//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// driven is lathe as a host of the control protocol sees it: a process, a scripted model behind HTTP, and lines.
type driven struct {
	t    *testing.T
	dir  string
	srv  *llmtest.Server
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	seen []map[string]any
}

func drive(t *testing.T, model string, flags ...string) *driven {
	t.Helper()
	return driveIn(t, t.TempDir(), model, flags...)
}

// driveIn is drive with a home, whose folder p is the project.
func driveIn(t *testing.T, root, model string, flags ...string) *driven {
	t.Helper()
	d := &driven{t: t, dir: filepath.Join(root, "p")}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	script, err := llmtest.Parse([]byte(model))
	if err != nil {
		t.Fatal(err)
	}
	d.srv = llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": d.dir}})
	if err := d.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(buildLathe(t), append([]string{
		"-p", "--output-format", "stream-json", "--verbose",
		"--input-format", "stream-json",
	}, flags...)...)
	d.cmd.Dir, d.cmd.Stderr = d.dir, os.Stderr
	d.cmd.Env = []string{
		"HOME=" + root, "PATH=" + os.Getenv("PATH"), "PWD=" + d.dir, "ANTHROPIC_BASE_URL=" + d.srv.URL(),
		"ANTHROPIC_API_KEY=sk-test",
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReaderSize(out, 1<<20)
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait(); _ = d.srv.Close() })
	return d
}

func (d *driven) send(lines ...string) {
	d.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(d.in, l+"\n"); err != nil {
			d.t.Fatal(err)
		}
	}
}

func said(text, uuid string) string {
	b, _ := json.Marshal(text)
	return `{"type":"user","message":{"role":"user","content":` + string(b) + `},"uuid":"` + uuid + `"}`
}

// until reads to the first line that the test wants.
func (d *driven) until(what string, want func(map[string]any) bool) map[string]any {
	d.t.Helper()
	for {
		l, err := d.out.ReadBytes('\n')
		if err != nil {
			d.t.Fatalf("waiting for %s: %v", what, err)
		}
		var m map[string]any
		if err := json.Unmarshal(l, &m); err != nil {
			d.t.Fatalf("%v: %s", err, l)
		}
		d.seen = append(d.seen, m)
		if want(m) {
			return m
		}
	}
}

func (d *driven) kind(name string) map[string]any {
	d.t.Helper()
	return d.until(name, func(m map[string]any) bool { return m["type"] == name || m["subtype"] == name })
}

// ask sends a control request and returns the answer, or its error.
func (d *driven) ask(request string) (map[string]any, string) {
	d.t.Helper()
	d.send(`{"type":"control_request","request_id":"r","request":` + request + `}`)
	r, _ := d.kind("control_response")["response"].(map[string]any)
	answer, _ := r["response"].(map[string]any)
	text, _ := r["error"].(string)
	return answer, text
}

func (d *driven) end() {
	d.t.Helper()
	_ = d.in.Close()
	for {
		if _, err := d.out.ReadBytes('\n'); err != nil {
			break
		}
	}
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("lathe ended with %v", err)
	}
}

// fifo makes a pipe that a command of the model waits for.
func (d *driven) fifo(name string) {
	d.t.Helper()
	if err := syscall.Mkfifo(filepath.Join(d.dir, name), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *driven) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func TestAMessageInTheMiddleOfATurnIsDeliveredAfterTheNextCalls(t *testing.T) {
	d := drive(t, `
reply
  call Bash {"command":"cat gate"}
reply
  when contains="use tabs"
  say With tabs.
final
  say Nobody told me.
`, "--dangerously-skip-permissions", "--replay-user-messages")
	d.fifo("gate")
	d.send(said("format it", "one"))
	if u := d.kind("user"); u["isReplay"] != true || u["uuid"] != "one" ||
		u["message"].(map[string]any)["content"] != "format it" {
		t.Errorf("the replay is not what was typed: %v", u)
	}
	d.kind("assistant")
	d.send(said("use tabs", "two"))
	if _, text := d.ask(`{"subtype":"get_status"}`); text != "" { // the message before it was taken
		t.Error(text)
	}
	d.write("gate", "open\n")
	if r := d.kind("result"); r["result"] != "With tabs." {
		t.Errorf("got %v", r)
	}
	replayed := 0
	for _, m := range d.seen {
		if m["uuid"] == "two" && m["isReplay"] == true {
			replayed++
		}
	}
	if replayed != 1 {
		t.Errorf("the message was replayed %d times", replayed)
	}
	d.end()
}

func TestAMessageThatNoCallsFollowHasATurnOfItsOwn(t *testing.T) {
	d := drive(t, `
reply
  when contains="one"
  say First.
reply
  when contains="two"
  say Second.
`)
	d.send(said("one", "1"), said("two", "2"))
	for _, want := range []string{"First.", "Second."} {
		if r := d.kind("result"); r["result"] != want {
			t.Errorf("got %v, want %q", r, want)
		}
	}
	d.end()
}

func TestAQueuedMessageCanBeTakenBack(t *testing.T) {
	d := drive(t, `
reply
  call Bash {"command":"cat gate"}
final
  say Done.
`, "--dangerously-skip-permissions")
	d.fifo("gate")
	d.send(said("go", "one"))
	d.kind("assistant")
	d.send(said("and this", "two"), said("and that", "three"))
	for id, want := range map[string]bool{"two": true, "none": false} {
		if a, text := d.ask(`{"subtype":"cancel_async_message","message_uuid":"` + id + `"}`); a["cancelled"] != want ||
			text != "" {
			t.Errorf("%s: %v %s", id, a, text)
		}
	}
	d.write("gate", "open\n")
	d.kind("result")
	d.end()
	last := string(d.srv.Requests()[1].Body)
	if strings.Contains(last, "and this") || !strings.Contains(last, "and that") {
		t.Error("the second request has the message that was taken back, or lacks the other")
	}
}

func TestARefusalThatInterruptsEndsTheTurn(t *testing.T) {
	d := drive(t, `
reply
  call Bash {"command":"touch made"}
final
  say I went on.
`, "--permission-prompt-tool", "stdio")
	d.send(said("make it", "one"))
	id, _ := d.kind("control_request")["request_id"].(string)
	d.send(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id +
		`","response":{"behavior":"deny","message":"stop here","interrupt":true}}}`)
	r := d.kind("result")
	if r["subtype"] != "error_during_execution" || r["terminal_reason"] != "aborted_tools" {
		t.Errorf("got %v", r)
	}
	if n := len(d.srv.Requests()); n != 1 {
		t.Errorf("%d requests: the turn went on", n)
	}
	d.end()
}

// No call of a reply runs after the host refused one of them and wants the turn to end, neither one that reads nor one
// that writes, and one that runs already is stopped.
func TestARefusalThatInterruptsEndsTheCallsBesideIt(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, calls := range map[string][]string{
		"after it": {
			`Bash {"command":"touch first"}`, `Bash {"command":"cat a.txt"}`, `Read {"file_path":"a.txt"}`,
			`Write {"file_path":"b.txt","content":"b"}`, `Bash {"command":"touch last"}`,
		},
		"beside it": {
			`Bash {"command":"tail -f a.txt"}`, `Read {"file_path":"` + outside + `"}`,
			`Write {"file_path":"b.txt","content":"b"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, "reply\n  call "+strings.Join(calls, "\n  call ")+"\nfinal\n  say I went on.\n",
				"--permission-prompt-tool", "stdio")
			d.write("a.txt", "a\n")
			d.send(said("go", "one"))
			id, _ := d.kind("control_request")["request_id"].(string)
			d.send(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id +
				`","response":{"behavior":"deny","message":"stop here","interrupt":true}}}`)
			if r := d.kind("result"); r["subtype"] != "error_during_execution" || len(d.srv.Requests()) != 1 {
				t.Errorf("%d requests, %v", len(d.srv.Requests()), r)
			}
			refused, stopped, unrun := 0, 0, 0
			for _, text := range toolResults(d.seen) {
				refused += strings.Count(text, "stop here")
				stopped += strings.Count(text, "was interrupted before it ended") +
					strings.Count(text, "interrupted this call before it finished")
				unrun += strings.Count(text, "This call was not run: ")
			}
			if refused != 1 || refused+stopped+unrun != len(calls) {
				t.Errorf("%d refused, %d stopped, %d not run of %d: %q", refused, stopped, unrun, len(calls), toolResults(d.seen))
			}
			for _, made := range []string{"first", "b.txt", "last"} {
				if _, err := os.Stat(filepath.Join(d.dir, made)); err == nil {
					t.Errorf("%s was made", made)
				}
			}
			d.end()
		})
	}
}

func TestAForbiddenModeAutoIsRefusedByName(t *testing.T) {
	d := drive(t, "final\n  say Hello.\n", "--settings", `{"permissions":{"disableAutoMode":"disable"}}`)
	if _, text := d.ask(`{"subtype":"set_permission_mode","mode":"auto"}`); !strings.Contains(text,
		"permissions.disableAutoMode") {
		t.Errorf("the control request is answered with %q", text)
	}
	d.send(said("/mode auto", "1"))
	if r := d.kind("result"); r["is_error"] != true || !strings.Contains(fmt.Sprint(r["errors"]),
		"permissions.disableAutoMode") {
		t.Errorf("got %v", r)
	}
	d.send(said("go on", "2")) // the last turn decides on the exit status
	d.kind("result")
	d.end()
}

// toolResults are the texts of the tool results in lines of output.
func toolResults(lines []map[string]any) (out []string) {
	for _, l := range lines {
		m, _ := l["message"].(map[string]any)
		parts, _ := m["content"].([]any)
		for _, p := range parts {
			if p, _ := p.(map[string]any); p["type"] == "tool_result" {
				out = append(out, fmt.Sprint(p["content"]))
			}
		}
	}
	return out
}

func TestSlashCommandsOfAStreamAreCommands(t *testing.T) {
	d := drive(t, `
final
  say Hello.
`)
	d.send(said("hi", "1"))
	d.kind("result")
	d.send(said("/cost", "2"))
	if m := d.kind("local_command_output"); !strings.Contains(m["content"].(string), "$") {
		t.Errorf("got %v", m)
	}
	if r := d.kind("result"); r["is_error"] != false || !strings.Contains(r["result"].(string), "$") {
		t.Errorf("got %v", r)
	}
	d.send(said("/nope", "3"))
	if r := d.kind("result"); r["result"] != "Hello." { // the model answers
		t.Errorf("got %v", r)
	}
	d.send(said("/new", "4"))
	before := d.kind("init")["session_id"]
	d.kind("result")
	d.send(said("again", "5"))
	if r := d.kind("result"); r["session_id"] == before && r["result"] != "Hello." {
		t.Errorf("got %v", r)
	}
	if n := len(d.srv.Requests()); n != 3 {
		t.Errorf("%d requests: a command went to the model", n)
	}
	d.end()
}

func TestASessionGoesOnAfterAnEarlierMessage(t *testing.T) {
	d := drive(t, `
reply
  when contains="first"
  say One.
reply
  when contains="zebra"
  say Two.
final
  say Again.
`, "--name", "My work")
	d.send(said("first", "11111111-1111-4111-8111-111111111111"))
	line, _ := d.kind("assistant")["uuid"].(string)
	d.kind("result")
	d.send(said("zebra", "22222222-2222-4222-8222-222222222222"))
	session, _ := d.kind("result")["session_id"].(string)
	d.end()
	for at, want := range map[string]string{line: "One.", "11111111-1111-4111-8111-111111111111": `"text":"first"`} {
		c := exec.Command(d.cmd.Path, "-p", "--resume", session, "--resume-session-at", at, "--fork-session", "anew")
		c.Dir, c.Env, c.Stderr = d.dir, d.cmd.Env, os.Stderr
		if out, err := c.Output(); err != nil || string(out) != "Again.\n" {
			t.Fatalf("%q %v", out, err)
		}
		rs := d.srv.Requests()
		if body := string(rs[len(rs)-1].Body); strings.Contains(body, "zebra") || !strings.Contains(body, want) {
			t.Errorf("after %s the request is not what it should be", at)
		}
	}
	c := exec.Command(d.cmd.Path, "session", "list")
	c.Dir, c.Env = d.dir, d.cmd.Env
	if out, err := c.Output(); err != nil || !strings.Contains(string(out), "My work") {
		t.Errorf("%s %v", out, err)
	}
}

func TestControlRequestsAboutTheSessionAreServed(t *testing.T) {
	d := drive(t, `
reply
  when system="You name conversations"
  say A fine title
reply
  call Edit {"file_path":"${WORKDIR}/a.txt","old_string":"one","new_string":"two"}
final
  say Done.
`, "--permission-mode", "acceptEdits", "--model", "claude-sonnet-4-5")
	d.write("a.txt", "one\n")
	a, text := d.ask(`{"subtype":"initialize"}`)
	if text != "" || len(a["commands"].([]any)) < 10 || len(a["models"].([]any)) < 3 {
		t.Errorf("initialize: %v %s", a, text)
	}
	for _, c := range []struct{ request, want string }{
		{`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":2048}`, `{}`},
		{`{"subtype":"get_context_usage"}`, `"categories":[`},
		{`{"subtype":"apply_flag_settings","settings":{"effortLevel":"low","env":{}}}`, `{}`},
		{`{"subtype":"read_file","path":"a.txt"}`, `"contents":"one\n"`},
		{`{"subtype":"read_file","path":"a.txt","encoding":"base64","max_bytes":2}`, `"truncated":true`},
		{`{"subtype":"seed_read_state","path":"a.txt","mtime":99999999999999}`, `"seeded":true`},
		{`{"subtype":"rename_session","title":"mine"}`, `{}`},
		{`{"subtype":"generate_session_title","description":"do it","persist":false}`, `"title":"A fine title"`},
		{`{"subtype":"get_usage"}`, `"total_cost_usd":`},
		{`{"subtype":"get_settings"}`, `"effective":{`},
		{`{"subtype":"get_status"}`, `"session":`},
		{`{"subtype":"list_models"}`, `"models":[`},
		{`{"subtype":"list_permission_rules"}`, `"workspaceDirectories":[`},
		{`{"subtype":"set_cwd","path":"."}`, `"cwd":`},
		{`{"subtype":"reload_plugins"}`, `"commands":[`},
		{`{"subtype":"reload_skills"}`, `"skills":[]`},
		{`{"subtype":"reload_output_styles"}`, `"available_output_styles":["default","Explanatory","Learning"]`},
		{`{"subtype":"get_binary_version"}`, `"version":`},
		{`{"subtype":"set_permission_mode","mode":"manual"}`, `"mode":"default"`},
		{`{"subtype":"set_permission_mode","mode":"acceptEdits"}`, `"mode":"acceptEdits"`},
	} {
		a, text := d.ask(c.request)
		if text != "" || !strings.Contains(toJSON(a), c.want) {
			t.Errorf("%s: %s %s", c.request, toJSON(a), text)
		}
	}
	for _, c := range []struct{ request, want string }{
		{`{"subtype":"stop_task","task_id":"bash_7"}`, "bash_7"},
		{`{"subtype":"background_tasks"}`, "nothing runs"},
		{`{"subtype":"get_task_output","task_id":"bash_7"}`, "bash_7"},
		{`{"subtype":"read_file","path":"/etc/shadow"}`, "/etc/shadow"},
		{`{"subtype":"read_file","path":"none.txt"}`, "none.txt"},
		{`{"subtype":"set_cwd","path":"/"}`, "outside"},
		{`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":-1}`, "less than 0"},
		{`{"subtype":"apply_flag_settings","settings":{"effortLevel":7}}`, "effortLevel"},
		{`{"subtype":"apply_flag_settings","settings":{"sandbox":{"enabled":true}}}`, "sandbox"},
		{`{"subtype":"rewind_files","user_message_id":"x"}`, "no message \"x\""},
		{`{"subtype":"make_tea"}`, "make_tea"},
	} {
		if a, text := d.ask(c.request); a != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v %q", c.request, a, text)
		}
	}
	d.send(said("write it", "1"))
	d.kind("result")
	if b, _ := os.ReadFile(filepath.Join(d.dir, "a.txt")); string(b) != "two\n" {
		t.Errorf("the file that the host had read could not be edited: %q", b)
	}
	for _, c := range []struct{ request, want, file string }{
		{
			`{"subtype":"rewind_files","user_message_id":"1","dry_run":true}`,
			`{"canRewind":true,"deletions":1,"filesChanged":["a.txt"],"insertions":1}`, "two\n",
		},
		{
			`{"subtype":"rewind_files","user_message_id":"1"}`,
			`{"canRewind":true,"deletions":1,"filesChanged":["a.txt"],"insertions":1}`, "one\n",
		},
		{
			`{"subtype":"rewind_files","user_message_id":"1"}`,
			`{"canRewind":true,"deletions":0,"filesChanged":[],"insertions":0}`, "one\n",
		},
	} {
		a, text := d.ask(c.request)
		if b, _ := os.ReadFile(filepath.Join(d.dir, "a.txt")); text != "" || toJSON(a) != c.want || string(b) != c.file {
			t.Errorf("%s: %s %s, the file is %q", c.request, toJSON(a), text, b)
		}
	}
	d.send(`{"type":"control_request","request_id":"e","request":{"subtype":"end_session"}}`)
	d.kind("control_response")
	d.end()
}

func TestAQuestionSuggestsWhatFitsOnceEach(t *testing.T) {
	d := drive(t, `
reply
  call Write {"file_path":"${WORKDIR}/new.txt","content":"x"}
reply
  call Bash {"command":"cd ../third && touch b.txt"}
reply
  call Bash {"command":"cd / && touch b.txt"}
reply
  call Read {"file_path":"${WORKDIR}/../other/b.txt"}
final
  say Done.
`, "--permission-prompt-tool", "stdio")
	other := filepath.Join(filepath.Dir(d.dir), "other")
	third := filepath.Join(filepath.Dir(d.dir), "third")
	for _, dir := range []string{other, third} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.write("../other/b.txt", "b")
	d.send(said("go", "1"))
	for _, want := range []struct{ tool, reason, kind, has string }{
		{"Write", "mode", "setMode", `"mode":"acceptEdits"`},
		{"Bash", "workingDir", "addDirectories", `"directories":["` + third + `"]`},
		{"Bash", "workingDir", "addRules", `"Bash"`},
		{"Read", "workingDir", "addDirectories", `"directories":["` + other + `"]`},
	} {
		q := d.kind("control_request")
		r, _ := q["request"].(map[string]any)
		got, _ := json.Marshal(r["permission_suggestions"])
		if r["display_name"] != want.tool || r["decision_reason_type"] != want.reason || strings.Count(string(got),
			want.kind) != 1 || !strings.Contains(string(got), want.has) {
			t.Errorf("%s: %v", want.tool, r)
		}
		id, _ := q["request_id"].(string)
		answer := `{"behavior":"allow","updatedPermissions":` + string(got) + `}`
		if want.tool == "Bash" {
			answer = `{"behavior":"deny","message":"no"}`
		}
		if strings.Contains(string(got), `"directories":["/"]`) {
			t.Errorf("%s: the whole disk is offered: %s", want.tool, got)
		}
		d.send(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` + answer +
			`}}`)
	}
	d.kind("result")
	if a, _ := d.ask(`{"subtype":"list_permission_rules"}`); !strings.Contains(toJSON(a), other+`"`) {
		t.Errorf("the folder was not added: %v", a)
	}
	d.end()
}

func toJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
