package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// host is the other side of the control protocol.
type host struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

// startHost runs lathe with the flags of the SDKs against a fake.
func startHost(t *testing.T, f *fake, flags ...string) *host {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	p, _, _ := fakeProgram(t, f, stdin)
	p.out = stdout
	h := &host{t: t, in: in, out: bufio.NewReader(out), done: make(chan error, 1)}
	args := append([]string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}, flags...)
	go func() {
		err := p.run(context.Background(), args)
		_ = stdout.Close()
		h.done <- err
	}()
	t.Cleanup(func() { _ = in.Close(); _ = out.Close() })
	return h
}

func (h *host) send(lines ...string) {
	h.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(h.in, l+"\n"); err != nil {
			h.t.Fatal(err)
		}
	}
}

// until reads lines up to one of the type and returns that, whole.
func (h *host) until(kind string) map[string]any {
	h.t.Helper()
	for {
		l, err := h.out.ReadBytes('\n')
		if err != nil {
			h.t.Fatalf("waiting for %s: %v", kind, err)
		}
		var m map[string]any
		if err := json.Unmarshal(l, &m); err != nil {
			h.t.Fatalf("%v: %s", err, l)
		}
		if m["type"] == kind {
			return m
		}
	}
}

// reply is the answer to a control request.
func (h *host) reply() map[string]any {
	h.t.Helper()
	r, _ := h.until("control_response")["response"].(map[string]any)
	return r
}

// end closes stdin, reads the rest of the output, and returns the program's exit error.
func (h *host) end() error {
	h.t.Helper()
	_ = h.in.Close()
	if _, err := io.Copy(io.Discard, h.out); err != nil {
		h.t.Fatal(err)
	}
	return <-h.done
}

func user(text string) string {
	return `{"type":"user","session_id":"","message":{"role":"user","content":[{"type":"text","text":"` + text +
		`"}]},"parent_tool_use_id":null,"uuid":"` + text + `"}`
}

func control(id, request string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":` + request + `}`
}

func TestInitializeTellsAboutTheConversation(t *testing.T) {
	f := newFake()
	f.about.Parts = func() Parts { return Parts{Commands: []Described{{Name: "review", Text: "review the changes"}}} }
	h := startHost(t, f)
	h.send(control("r1", `{"subtype":"initialize","hooks":null,"systemPrompt":[""],"agents":{}}`))
	r := h.reply()
	got, _ := r["response"].(map[string]any)
	if r["subtype"] != "success" || r["request_id"] != "r1" || got["output_style"] != "default" {
		t.Errorf("got %v", r)
	}
	want := []any{map[string]any{"name": "review", "description": "review the changes", "argumentHint": ""}}
	if diff := cmp.Diff(want, got["commands"]); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
	if !f.closed {
		t.Error("the conversation was not closed")
	}
}

func TestInitializeRefusesWhatItCannotDo(t *testing.T) {
	for _, in := range []string{`"agents":{"a":{}}`, `"toolAliases":["a"]`, `"jsonSchema":{"type":12}`} {
		h := startHost(t, newFake())
		h.send(control("r1", `{"subtype":"initialize",`+in+`}`))
		if r := h.reply(); r["subtype"] != "error" || r["error"] == "" {
			t.Errorf("%s: got %v", in, r)
		}
		h.send(user("go"))
		if err := h.end(); exitCode(err) != exitUsage {
			t.Errorf("%s: a message after a refused initialize: %v; want a usage error", in, err)
		}
	}
}

func TestMessagesQueueAndTheEndOfStdinFinishesThem(t *testing.T) {
	f := newFake()
	h := startHost(t, f)
	h.send(user("one"), user("two"), `{"type":"keep_alive"}`,
		`{"type":"user","message":{"role":"user","content":"held"},"shouldQuery":false}`, user("three"))
	_ = h.in.Close()
	for i := range 3 {
		if r := h.until("result"); r["subtype"] != "success" || r["result"] != "Hello there." {
			t.Errorf("result %d: %v", i, r)
		}
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
	var got []string
	for _, m := range f.prompts {
		got = append(got, m.ID+": "+m.PlainText())
	}
	if diff := cmp.Diff([]string{"one: one", "two: two", "three: held\n\nthree"}, got); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

func TestTheCostAddsUpOverTheTurns(t *testing.T) {
	h := startHost(t, newFake())
	h.send(user("one"), user("two"))
	for _, want := range []float64{0.25, 0.5} {
		r := h.until("result")
		usage, _ := r["usage"].(map[string]any)
		models, _ := r["modelUsage"].(map[string]any)
		model, _ := models["model-1"].(map[string]any)
		if r["total_cost_usd"] != want || usage["output_tokens"] != 7.0 || model["outputTokens"] != want/0.25*7 {
			t.Errorf("want cost %v: %v", want, r)
		}
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// waits is a turn that ends when it is interrupted.
func waits(began chan<- struct{}) func(*fakeTurn) error {
	return func(f *fakeTurn) error {
		f.publish(event.TurnStart{}, event.StepStart{Step: 1, Model: "model-1"})
		if began != nil {
			close(began)
		}
		<-f.ctx.Done()
		f.publish(event.TurnEnd{Reason: event.EndInterrupted, Steps: 1})
		return nil
	}
}

func TestInterruptEndsTheTurnAndKeepsTheQueue(t *testing.T) {
	began := make(chan struct{})
	f := newFake(waits(began))
	h := startHost(t, f)
	h.send(user("one"))
	h.until("system")
	<-began
	h.send(user("two"), control("r1", `{"subtype":"interrupt"}`))
	r := h.reply()
	if diff := cmp.Diff(map[string]any{"still_queued": []any{"two"}}, r["response"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	res := h.until("result")
	if res["subtype"] != "error_during_execution" || res["is_error"] != true ||
		res["terminal_reason"] != "aborted_streaming" {
		t.Errorf("got %v", res)
	}
	if res := h.until("result"); res["result"] != "Hello there." {
		t.Errorf("got %v", res)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

func TestInterruptCanEmptyTheQueue(t *testing.T) {
	began := make(chan struct{})
	f := newFake(waits(began))
	h := startHost(t, f)
	h.send(user("one"))
	h.until("system")
	<-began
	h.send(user("two"), control("r1", `{"subtype":"interrupt","cancel_queued":true}`))
	want := map[string]any{"still_queued": []any{}, "cancelled": []any{"two"}}
	if diff := cmp.Diff(want, h.reply()["response"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	h.until("result")
	if err := h.end(); err != nil {
		t.Errorf("a turn that the host ended is no failure: %v", err)
	}
	if len(f.prompts) != 1 {
		t.Errorf("%d turns ran", len(f.prompts))
	}
}

func TestInterruptDoesNothingBetweenTurns(t *testing.T) {
	f := newFake()
	h := startHost(t, f)
	h.send(control("r1", `{"subtype":"interrupt"}`))
	h.reply()
	h.send(user("one"))
	if r := h.until("result"); r["subtype"] != "success" {
		t.Errorf("got %v", r)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

func TestModelAndModeCanBeChanged(t *testing.T) {
	f := newFake()
	h := startHost(t, f)
	for _, r := range []string{
		`{"subtype":"set_model","model":"other"}`, `{"subtype":"set_model"}`,
		`{"subtype":"set_permission_mode","mode":"acceptEdits"}`,
	} {
		h.send(control("r", r))
		if a := h.reply(); a["subtype"] != "success" {
			t.Errorf("%s: %v", r, a)
		}
	}
	for _, r := range []string{`{"subtype":"set_permission_mode","mode":"yolo"}`, `{"subtype":"make_tea"}`, `12`} {
		h.send(control("bad", r))
		if a := h.reply(); a["subtype"] != "error" || a["request_id"] != "bad" {
			t.Errorf("%s: %v", r, a)
		}
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
	if !slices.Equal(f.models, []string{"other", ""}) || !slices.Equal(f.modes,
		[]permission.Mode{permission.AcceptEdits}) {
		t.Errorf("models %q, modes %q", f.models, f.modes)
	}
}

// asks is a turn that asks about a call and hands over the answer.
func asks(got *event.Answer) func(*fakeTurn) error {
	return func(f *fakeTurn) error {
		f.publish(event.TurnStart{}, event.StepStart{Step: 1, Model: "model-1"})
		c := llm.ToolCall{ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)}
		*got = f.ask("q1", event.Question{
			Title: "Bash", Text: "make", Call: &c, Reason: "runs a program",
			Permission: &permission.Request{
				Tool:     "Bash",
				Accesses: []permission.Access{{Kind: permission.Exec, Target: "make"}},
			},
			Options: []event.Option{
				{ID: event.ChoiceOnce},
				{ID: event.ChoiceSession, Help: "Bash(make)"},
				{ID: event.ChoiceAlways, Help: "Bash(make)"},
				{ID: event.ChoiceNo},
			},
		})
		f.publish(event.TurnEnd{Reason: event.EndCompleted, Steps: 1})
		return nil
	}
}

func TestTheHostIsAskedForPermission(t *testing.T) {
	for _, tt := range []struct {
		name, response string
		want           event.Answer
		modes          []permission.Mode
	}{
		{"allow", `{"behavior":"allow","updatedInput":{"command":"make"}}`, event.Answer{Choice: event.ChoiceOnce}, nil},
		{
			"allow another input", `{"behavior":"allow","updatedInput":{"command":"make -n"}}`,
			event.Answer{Choice: event.ChoiceOnce, Input: json.RawMessage(`{"command":"make -n"}`)},
			nil,
		},
		{
			"allow for the session, in another mode",
			`{"behavior":"allow","updatedPermissions":[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"make *"}]},{"type":"setMode","mode":"acceptEdits","destination":"session"}]}`,
			event.Answer{Choice: event.ChoiceSession, Rules: []string{"Bash(make *)"}},
			[]permission.Mode{permission.AcceptEdits},
		},
		{
			"allow always",
			`{"behavior":"allow","updatedPermissions":[{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[{"toolName":"Bash"}]}]}`,
			event.Answer{Choice: event.ChoiceAlways, Rules: []string{"Bash"}},
			nil,
		},
		{"deny", `{"behavior":"deny","message":"use ninja"}`, event.Answer{Choice: event.ChoiceNo, Text: "use ninja"}, nil},
		{"nonsense", `{"behavior":"perhaps"}`, event.Answer{Choice: event.ChoiceNo, Text: "the host refused"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got event.Answer
			f := newFake(asks(&got))
			h := startHost(t, f, "--permission-prompt-tool", "stdio")
			h.send(user("go"))
			q := h.until("control_request")
			r, _ := q["request"].(map[string]any)
			if r["subtype"] != "can_use_tool" || r["tool_name"] != "Bash" || r["tool_use_id"] != "toolu_1" ||
				r["decision_reason"] != "runs a program" {
				t.Errorf("request %v", r)
			}
			if s, _ := r["permission_suggestions"].([]any); len(s) != 1 ||
				s[0].(map[string]any)["destination"] != "localSettings" {
				t.Errorf("suggestions %v", s)
			}
			id, _ := q["request_id"].(string)
			h.send(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` +
				tt.response + `}}`)
			h.until("result")
			if err := h.end(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if !slices.Equal(tt.modes, f.modes) {
				t.Errorf("modes %q", f.modes)
			}
		})
	}
}

func TestTheHostIsToldWhatWouldBeLost(t *testing.T) {
	r := requestOf(event.Question{
		Text: "rm -rf build", Call: &llm.ToolCall{Name: "Bash"}, Permission: &permission.Request{},
		Preview: event.Command{Command: "rm -rf build", Warning: []string{"build: 3 files, 12 bytes"}},
		Undo:    "2 files can be restored; not: build/x, 4 bytes (ignored by git)",
	})
	want := "rm -rf build\nbuild: 3 files, 12 bytes\nundo: 2 files can be restored; not: build/x, 4 bytes (ignored by git)"
	if r.Description != want {
		t.Errorf("%q", r.Description)
	}
}

func TestTheHostGetsTheModelsDescriptionOfACall(t *testing.T) {
	r := requestOf(event.Question{
		Text: "make -j4", Call: &llm.ToolCall{
			Name:  "Bash",
			Input: []byte(`{"command":"make -j4","description":"Build all programs"}`),
		}, Permission: &permission.Request{},
		Preview: event.Command{Command: "make -j4", Warning: []string{"build: 3 files"}},
	})
	if want := "Build all programs\nbuild: 3 files"; r.Description != want ||
		string(r.Input) != `{"command":"make -j4","description":"Build all programs"}` {
		t.Errorf("%q, %s", r.Description, r.Input)
	}
}

func TestAHostThatFailsToAnswerRefuses(t *testing.T) {
	var got event.Answer
	h := startHost(t, newFake(asks(&got)), "--permission-prompt-tool", "stdio")
	h.send(user("go"))
	id, _ := h.until("control_request")["request_id"].(string)
	h.send(`{"type":"control_response","response":{"subtype":"error","request_id":"` + id + `","error":"callback threw"}}`)
	h.until("result")
	if err := h.end(); err != nil || got.Choice != event.ChoiceNo || got.Text != "callback threw" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTheEndOfStdinRefusesOpenQuestions(t *testing.T) {
	var got event.Answer
	h := startHost(t, newFake(asks(&got)), "--permission-prompt-tool", "stdio")
	h.send(user("go"))
	h.until("control_request")
	if err := h.end(); err != nil || got.Choice != event.ChoiceNo {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnInterruptedQuestionIsWithdrawn(t *testing.T) {
	var got event.Answer
	h := startHost(t, newFake(asks(&got)), "--permission-prompt-tool", "stdio")
	h.send(user("go"))
	id := h.until("control_request")["request_id"]
	h.send(control("r1", `{"subtype":"interrupt"}`))
	if c := h.until("control_cancel_request"); c["request_id"] != id {
		t.Errorf("cancelled %v, want %v", c, id)
	}
	if err := h.end(); err != nil || !got.Canceled {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWithoutAHostQuestionsAreRefused(t *testing.T) {
	var got event.Answer
	h := startHost(t, newFake(asks(&got)))
	h.send(user("go"))
	h.until("result")
	if err := h.end(); err != nil || got.Choice != event.ChoiceNo || !got.Canceled {
		t.Errorf("%v, %v", got, err)
	}
}

func TestABrokenLineEndsInputAndFinishesTheQueue(t *testing.T) {
	for _, line := range []string{
		`{"type":"user"`, `nonsense`,
		`{"type":"user","message":{"role":"assistant","content":"x"}}`,
		`{"type":"user","message":{"role":"user","content":[]}}`,
	} {
		f := newFake()
		h := startHost(t, f)
		h.send(user("one"), line)
		err := h.end()
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != exitUsage || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", line, err)
		}
		if len(f.prompts) != 1 {
			t.Errorf("%s: %d turns ran", line, len(f.prompts))
		}
	}
}

func TestPicturesAreSentAlong(t *testing.T) {
	f := newFake()
	h := startHost(t, f)
	h.send(
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"what is this"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}}`)
	h.until("result")
	if err := h.end(); err != nil {
		t.Fatal(err)
	}
	want := []llm.Part{llm.Text{Text: "what is this"}, llm.Media{MIME: "image/png", Data: []byte("hi")}}
	if diff := cmp.Diff(want, f.prompts[0].Parts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUserMessagesAreReplayedWithTheirIDs(t *testing.T) {
	f := newFake()
	f.turns = []func(*fakeTurn) error{func(t *fakeTurn) error {
		t.publish(event.TurnStart{}, event.UserMessage{Message: t.prompts[0]})
		t.publish(hello()[1:]...)
		return nil
	}}
	h := startHost(t, f, "--replay-user-messages")
	h.send(user("one"))
	if u := h.until("user"); u["isReplay"] != true || u["uuid"] != "one" {
		t.Errorf("got %v", u)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

func TestAModeThatChangesBetweenTurnsIsToldOnce(t *testing.T) {
	h := startHost(t, newFake())
	h.send(user("one"))
	h.until("result")
	for _, mode := range []string{"plan", "acceptEdits"} {
		h.send(control("r", `{"subtype":"set_permission_mode","mode":"`+mode+`"}`))
		h.reply()
	}
	h.send(user("two"))
	if m := h.until("system"); m["subtype"] != "init" || m["permissionMode"] != "acceptEdits" {
		t.Errorf("got %v", m)
	}
	for {
		l, err := h.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(l, `"subtype":"status"`) {
			t.Errorf("the first line has the mode already: %s", l)
		}
		if strings.Contains(l, `"type":"result"`) {
			break
		}
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

func TestAMessageThatCannotBeUsedHasAResultAndTheSessionGoesOn(t *testing.T) {
	f := newFake()
	h := startHost(t, f)
	message := func(content string) string {
		return `{"type":"user","message":{"role":"user","content":` + content + `}}`
	}
	for _, line := range []string{
		message(`[]`), message(`"  "`), `{"type":"user"`, `{"type":"user","message":{"role":"assistant","content":"x"}}`,
	} {
		h.send(line)
		r := h.until("result")
		errs, _ := r["errors"].([]any)
		if r["is_error"] != true || r["subtype"] != "error_during_execution" ||
			r["terminal_reason"] != "turn_setup_failed" || len(errs) != 1 || !strings.HasPrefix(errs[0].(string),
			"stdin, line ") {
			t.Errorf("%s: %v", line, r)
		}
	}
	h.send(
		message(`[{"type":"text","text":"look"},{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}]`))
	if r := h.until("result"); r["is_error"] != false {
		t.Errorf("%v", r)
	}
	h.send(
		message(
			`[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"notes\u0000"}},{"type":"text","text":"a` + "\xff\x00" + `b"}]`))
	if r := h.until("result"); r["is_error"] != false {
		t.Errorf("%v", r)
	}
	for _, source := range []string{
		`{"type":"url","url":"https://x.example/a.png"}`,
		`{"type":"base64","media_type":"image/png","data":"*"}`,
	} {
		h.send(message(`[{"type":"image","source":` + source + `}]`))
		if r := h.until("result"); r["is_error"] != false {
			t.Errorf("%v", r)
		}
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
	if len(f.prompts) != 4 {
		t.Fatalf("%v", f.prompts)
	}
	for _, p := range f.prompts[2:] {
		if got := p.Parts; len(got) != 2 || !strings.HasPrefix(got[1].(llm.Text).Text, "[Left out: ") {
			t.Errorf("%v", got)
		}
	}
	if got := f.prompts[0].Parts; len(got) != 2 || got[0].(llm.Text).Text != "look" ||
		!strings.HasPrefix(got[1].(llm.Text).Text, "[Left out: a block of type \"image\"") {
		t.Errorf("%v", got)
	}
	if got := f.prompts[1].Parts; len(got) != 2 || got[0].(llm.Text).Text != "notes\ufffd" ||
		got[1].(llm.Text).Text != "a\ufffd\ufffdb" {
		t.Errorf("%v", f.prompts)
	}
}

func TestAHostMayBypassPermissionsOnlyWhenTheCommandLineAllowsIt(t *testing.T) {
	for _, tt := range []struct {
		flags []string
		ok    bool
	}{
		{nil, false},
		{[]string{"--permission-mode", "acceptEdits"}, false},
		{[]string{"--permission-mode", "bypassPermissions"}, true},
		{[]string{"--dangerously-skip-permissions"}, true},
		{[]string{"--allow-dangerously-skip-permissions"}, true},
	} {
		f := newFake()
		h := startHost(t, f, tt.flags...)
		h.send(control("1", `{"subtype":"set_permission_mode","mode":"bypassPermissions"}`))
		r := h.reply()
		if (r["subtype"] == "success") != tt.ok || (len(f.modes) == 1) != tt.ok {
			t.Errorf("%q: %v, modes %q", tt.flags, r, f.modes)
		}
		if text, _ := r["error"].(string); !tt.ok && !strings.Contains(text, "--dangerously-skip-permissions") {
			t.Errorf("%q: the error does not name the flag: %v", tt.flags, r)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	}
}
