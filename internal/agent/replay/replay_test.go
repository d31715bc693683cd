package replay_test

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent/replay"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// wire is a model that sends the texts of a request as JSON and gets no reply.
type wire struct{ t *testing.T }

func (wire) Info() llm.ModelInfo { return llm.ModelInfo{ID: "m"} }

func (w wire) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if yield(llm.Sent{Attempt: 1, URL: "https://x/v1/messages", Body: func() []byte { return body(req) }}, nil) {
			w.t.Error("the request was sent")
		}
	}
}

func body(req *llm.Request) []byte {
	var texts []string
	for _, m := range req.Messages {
		texts = append(texts, m.PlainText())
	}
	b, _ := json.Marshal(map[string]any{"model": "m", "max_tokens": req.MaxTokens, "messages": texts})
	return b
}

func request(texts ...string) *llm.Request {
	req := &llm.Request{MaxTokens: 8}
	for _, s := range texts {
		req.Messages = append(req.Messages, llm.UserText(s))
	}
	return req
}

// recorder writes a record as a session does.
type recorder struct {
	t   *testing.T
	dir string
	bus *event.Bus
	r   *event.Recorder
}

func record(t *testing.T, o event.RecorderOptions) *recorder {
	rec := &recorder{t: t, dir: t.TempDir(), bus: event.NewBus()}
	rec.r = event.NewRecorder(rec.bus, rec.dir, o)
	return rec
}

func (r *recorder) sent(agent string, req *llm.Request) {
	r.bus.Publish("s", chain(agent), event.Request{
		Attempt: 1, URL: "https://x/v1/messages",
		Bytes: func() []byte { return body(req) },
	})
}

func (r *recorder) replied(agent string, parts ...llm.Part) {
	r.bus.Publish("s", chain(agent), event.Response{Message: llm.Message{
		ID: "r", Role: llm.Assistant, Parts: parts,
		Model: "m", Usage: &llm.Usage{Output: 3},
	}})
}

func chain(agent string) []string {
	if agent == "" {
		return nil
	}
	return []string{agent}
}

// open ends the record and opens it again.
func (r *recorder) open(path, dir string) *replay.Recording {
	r.t.Helper()
	if err := r.r.Close(); err != nil {
		r.t.Fatal(err)
	}
	rec, err := replay.Open(path, dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// answer is the reply of the recording, or the error.
func answer(t *testing.T, rec *replay.Recording, req *llm.Request) (reply llm.Message, deltas []llm.Delta, err error) {
	t.Helper()
	for d, err := range rec.Wrap(wire{t}).Stream(t.Context(), req) {
		if err != nil {
			return reply, deltas, err
		}
		if done, ok := d.(llm.Done); ok {
			reply = done.Message
		}
		deltas = append(deltas, d)
	}
	return reply, deltas, nil
}

func TestRequestsGetTheirRecordedReplies(t *testing.T) {
	r := record(t, event.RecorderOptions{})
	call := llm.ToolCall{ID: "c1", Name: "Read", Input: json.RawMessage(`{"file_path":"/old/a<b>.go"}`)}
	r.bus.Publish("s", nil, event.TurnStart{Prompt: llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "Working folder: /old\nDate: 2026-01-02 (Friday)", Origin: llm.OriginContext}, llm.Text{Text: "look"},
	}}})
	r.bus.Publish("s", nil, event.StepStart{Step: 1, Model: "model-1"})
	r.sent("", request("in /old\nDate: 2026-01-02 (Friday)")) // an attempt that failed
	r.sent("", request("in /old\nDate: 2026-01-02 (Friday)"))
	r.replied("", llm.Reasoning{Text: "hm"}, llm.Text{Text: "I look at /old."}, call)
	r.sent("explore/c1", request("a"))
	r.sent("explore/c2", request("b"))
	r.replied("explore/c2", llm.Text{Text: "to b"})
	r.replied("explore/c1", llm.Text{Text: "to a"})
	rec := r.open(filepath.Join(r.dir, "s"), "/new")
	if rec.Prompt != "look" || rec.Model != "model-1" || rec.URL != "https://x/v1/messages" {
		t.Errorf("the run is %q, %q, %q", rec.Prompt, rec.Model, rec.URL)
	}
	reply, deltas, err := answer(t, rec, request("in /new\nDate: 2027-12-31 (Friday)"))
	if err != nil {
		t.Fatal(err)
	}
	call.Input = json.RawMessage(`{"file_path":"/new/a<b>.go"}`)
	want := []llm.Part{llm.Reasoning{Text: "hm"}, llm.Text{Text: "I look at /new."}, call}
	if diff := cmp.Diff(want, reply.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if ready, ok := deltas[len(deltas)-2].(llm.ToolReady); !ok || string(ready.Call.Input) != string(call.Input) ||
		reply.Usage.Output != 3 {
		t.Errorf("the call is not ready before the end: %#v", deltas)
	}
	for _, text := range []string{"a", "b"} {
		if reply, _, err := answer(t, rec, request(text)); err != nil || reply.PlainText() != "to "+text {
			t.Errorf("%s: %q, %v", text, reply.PlainText(), err)
		}
	}
	if n, first := rec.Unused(); n != 0 {
		t.Errorf("%d are unused, from %s", n, first)
	}
	if _, _, err := answer(t, rec, request("a")); err == nil || !strings.Contains(err.Error(), "no more replies") {
		t.Errorf("one more request: %v", err)
	}
}

func TestTheFirstDifferenceIsShownWithItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		now  *llm.Request
		want []string
	}{
		"text": {request("one", "zwei"), []string{
			`messages[1], character 1`, `recorded "two"`, `now "zwei"`,
			"000003_api_request.json",
		}},
		"longer":  {request("one", "two", "three"), []string{"messages[2]", "recorded nothing", `now "three"`}},
		"shorter": {request("one"), []string{"messages[1]", `recorded "two"`, "now nothing"}},
		"middle":  {request("one", "twO and more"), []string{"messages[1], character 3", `now "twO and more"`}},
		"number": {
			&llm.Request{MaxTokens: 9, Messages: request("one", "two").Messages},
			[]string{"max_tokens", "recorded 8", "now 9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, event.RecorderOptions{})
			r.sent("", request("one"))
			r.replied("", llm.Text{Text: "1"})
			r.sent("", request("one", "two"))
			r.replied("", llm.Text{Text: "2"})
			rec := r.open(filepath.Join(r.dir, "s"), "/new")
			if _, _, err := answer(t, rec, request("one")); err != nil {
				t.Fatal(err)
			}
			_, _, err := answer(t, rec, tc.now)
			if e := llm.AsError(err); e == nil || e.Retryable {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if n, first := rec.Unused(); n != 1 || first != "000003_api_request.json" {
				t.Errorf("%d are unused, from %q", n, first)
			}
		})
	}
}

func TestMaskedValuesAndFilesOfLinesMatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.jsonl")
	r := record(t, event.RecorderOptions{File: file, Secrets: []string{"correct horse"}})
	secret := request("the word is correct horse, the key sk-ant-0123456789abcdefghij, the id " +
		"01a2057f-1000-79d9-8ab2-f439272e6151")
	r.sent("", secret)
	r.replied("", llm.Text{Text: "yes"})
	rec := r.open(file, "/new")
	rec.Mask("correct horse")
	now := request("the word is correct horse, the key sk-ant-0123456789abcdefghij, the id " +
		"01a2057f-2222-79d9-8ab2-f439272e6151")
	if reply, _, err := answer(t, rec, now); err != nil || reply.PlainText() != "yes" {
		t.Errorf("%q, %v", reply.PlainText(), err)
	}
}

func TestAFolderWithoutARecordIsRefused(t *testing.T) {
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := replay.Open(path, "/new"); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

// beside answers a request of a call beside the conversation.
func beside(t *testing.T, rec *replay.Recording, purpose string, req *llm.Request) (string, error) {
	t.Helper()
	for d, err := range rec.Wrap(wire{t}).Stream(event.WithSide(t.Context(), purpose, nil), req) {
		if err != nil {
			return "", err
		}
		if done, ok := d.(llm.Done); ok {
			return done.Message.PlainText(), nil
		}
	}
	return "", nil
}

func TestCallsBesideTheConversationGetTheirOwnReplies(t *testing.T) {
	r := record(t, event.RecorderOptions{})
	sent := func(purpose, call, text string) {
		req := event.Request{Attempt: 1, URL: "https://x/small", Bytes: func() []byte { return body(request(text)) }}
		r.bus.Publish("s", nil, event.BesideRequest{Request: req, Purpose: purpose, Call: call})
	}
	replied := func(purpose, call, text string) {
		message := llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: text}}}
		r.bus.Publish("s", nil, event.BesideResponse{
			Response: event.Response{Message: message}, Purpose: purpose,
			Call: call,
		})
	}
	sent("eval", "1", "judge a")
	sent("eval", "2", "judge b")
	sent("title", "4", "same")
	r.sent("", request("same"))
	sent("eval", "3", "judge c")
	replied("eval", "3", "c")
	replied("title", "4", "the title")
	replied("eval", "1", "a")
	r.replied("", llm.Text{Text: "the reply"})
	replied("eval", "2", "b")
	rec := r.open(filepath.Join(r.dir, "s"), "/new")
	if rec.URL != "https://x/v1/messages" {
		t.Errorf("the run's address is that of a side call: %s", rec.URL)
	}
	if _, err := beside(t, rec, "eval", request("judge d")); err == nil || !strings.Contains(err.Error(),
		`character 7: recorded "judge c", now "judge d"`) {
		t.Errorf("another request: %v", err)
	}
	if _, err := beside(t, rec, "web", request("same")); err == nil || !strings.Contains(err.Error(),
		`no call "web of main"`) {
		t.Errorf("a kind that was not recorded: %v", err)
	}
	for _, c := range [][3]string{{"eval", "judge c", "c"}, {"title", "same", "the title"}, {"eval", "judge b", "b"}} {
		if got, err := beside(t, rec, c[0], request(c[1])); err != nil || got != c[2] {
			t.Errorf("%s: %q, %v", c[1], got, err)
		}
	}
	if n, _ := rec.Unused(); n != 1 {
		t.Errorf("%d are unused, want that of the conversation", n)
	}
	if reply, _, err := answer(t, rec, request("same")); err != nil || reply.PlainText() != "the reply" {
		t.Errorf("%q, %v", reply.PlainText(), err)
	}
}
