package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// step publishes one step of a run with one call.
func step(b *event.Bus, session string) {
	call := llm.ToolCall{ID: "c1", Name: "Bash", Input: json.RawMessage(`{"command":"env"}`)}
	b.Publish(session, nil, event.StepStart{Step: 1, Model: "m"})
	b.Publish(session, nil, event.Request{Attempt: 1, URL: "https://x/v1?key=0123456789abc", Bytes: func() []byte {
		return []byte(`{"z":1.0,"a":"my key is sk-ant-0123456789abcdefghij","b":"correct horse"}`)
	}})
	b.Publish(session, nil, event.Delta{MessageID: "r", Delta: llm.TextDelta{Text: "hi"}})
	b.Publish(session, nil, event.Response{Message: llm.UserText("hi")})
	b.Publish(session, nil, event.ToolStart{Call: call, Title: "env"})
	b.Publish(session, nil, event.ToolOutput{CallID: "c1", Text: "A=1\n"})
	b.Publish(session, nil, event.ToolEnd{Call: call, Result: llm.TextResult(call, "OPENAI_API_KEY=abcdefgh123", false)})
	b.Publish(session, nil, event.StepEnd{Step: 1})
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// kinds lists the kinds in a record and the files its lines name.
func kinds(t *testing.T, record string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(record) {
		var l struct {
			Kind, File string
			Body       json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, strings.TrimSpace(l.Kind+" "+l.File))
	}
	return out
}

func TestARunIsRecordedInFilesThatTellItAgain(t *testing.T) {
	bus, dir := event.NewBus(), t.TempDir()
	r := event.NewRecorder(bus, dir, event.RecorderOptions{Secrets: []string{"correct horse"}})
	step(bus, "s1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "s1")
	want := []string{
		"000001_api_request.json", "000002_api_response.json", "000003_tool_call.json",
		"000004_tool_result.json", "events.jsonl",
	}
	if diff := cmp.Diff(want, names(t, folder)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	record := read(t, folder, "events.jsonl")
	wantKinds := []string{
		"step.start", "api.request 000001_api_request.json", "api.response 000002_api_response.json",
		"tool.start 000003_tool_call.json", "tool.end 000004_tool_result.json", "step.end",
	}
	if diff := cmp.Diff(wantKinds, kinds(t, record)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(record) {
		if _, err := event.UnmarshalEvent([]byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	request := read(t, folder, "000001_api_request.json")
	if !strings.Contains(request, "\"z\": 1.0,\n    \"a\": \"my key is [masked]\",\n    \"b\": \"[masked]\"") {
		t.Errorf("the request is not as it was sent, without its secrets:\n%s", request)
	}
	all := request + record + read(t, folder, "000004_tool_result.json")
	for _, secret := range []string{"0123456789abc", "correct horse", "abcdefgh123"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in the record:\n%s", secret, all)
		}
	}
}

func TestTheRecordIsForItsOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "debug")
	for _, file := range []string{"", filepath.Join(dir, "of", "mine", "debug.jsonl")} {
		bus := event.NewBus()
		r := event.NewRecorder(bus, dir, event.RecorderOptions{File: file})
		step(bus, "s1")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "of", "mine", "debug.jsonl")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestARecordGoesOnWhereTheLastOneEnded(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		bus := event.NewBus()
		r := event.NewRecorder(bus, dir, event.RecorderOptions{})
		step(bus, "s1")
		bus.Close()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got := names(t, filepath.Join(dir, "s1"))
	if len(got) != 9 || got[7] != "000008_tool_result.json" {
		t.Errorf("files: %v", got)
	}
	if n := len(kinds(t, read(t, dir, "s1", "events.jsonl"))); n != 12 {
		t.Errorf("%d lines, want 12", n)
	}
}

func TestManySessionsAreRecordedApart(t *testing.T) {
	bus, dir := event.NewBus(), t.TempDir()
	r := event.NewRecorder(bus, dir, event.RecorderOptions{})
	for range 2 {
		for c := range 40 {
			step(bus, fmt.Sprint("s", c))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, session := range names(t, dir) {
		if n := len(names(t, filepath.Join(dir, session))); n != 9 {
			t.Errorf("%s has %d files, want 9", session, n)
		}
	}
}

func TestASessionsIdCannotLeadOutOfTheFolder(t *testing.T) {
	bus, dir := event.NewBus(), t.TempDir()
	r := event.NewRecorder(bus, filepath.Join(dir, "debug"), event.RecorderOptions{})
	for _, id := range []string{"", ".", "..", "../up", "/etc", "a/b", `a\b`, "x\x00y"} {
		bus.Publish(id, nil, event.Request{})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("beside the record: %v", got)
	}
	want := []string{"_", "_.", "_..", ".._up", "_etc", "a_b", "x_y"}
	if got := names(t, filepath.Join(dir, "debug")); len(got) != len(want) {
		t.Errorf("folders %v, want %v", got, want)
	}
}

func TestDeltasAreRecordedOnRequest(t *testing.T) {
	bus, dir := event.NewBus(), t.TempDir()
	r := event.NewRecorder(bus, dir, event.RecorderOptions{Deltas: true, Session: "mine"})
	step(bus, "mine")
	step(bus, "other")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(kinds(t, read(t, dir, "mine", "events.jsonl")), ",")
	if !strings.Contains(got, "delta") || !strings.Contains(got, "tool.output") {
		t.Errorf("lines: %s", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("recorded %v", got)
	}
}

func TestWhatHasNoRecordedFormIsNotedInItsPlace(t *testing.T) {
	bus, dir := event.NewBus(), t.TempDir()
	r := event.NewRecorder(bus, dir, event.RecorderOptions{})
	bus.Publish("s", nil, event.PartDone{})
	bus.Publish("s", nil, event.Request{Bytes: func() []byte { return []byte("not JSON") }})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, read(t, dir, "s", "events.jsonl")); got[0] != "notice" {
		t.Errorf("lines: %v", got)
	}
	if got := read(t, dir, "s", "000001_api_request.json"); !strings.Contains(got, `"request": "not JSON"`) {
		t.Errorf("request:\n%s", got)
	}
}

func TestAFullDiskEndsTheRecordAndNotTheRun(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full to stand for a full disk")
	}
	bus, dir := event.NewBus(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "s1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(dir, "s1", "events.jsonl")); err != nil {
		t.Fatal(err)
	}
	user := bus.Subscribe(t.Context(), event.Options{})
	r := event.NewRecorder(bus, dir, event.RecorderOptions{})
	bus.Publish("s1", nil, event.StepStart{Step: 1})
	var notices []string
	for e := range user.All(t.Context()) {
		if n, ok := e.Body.(event.Notice); ok {
			notices = append(notices, n.Text)
			break
		}
	}
	step(bus, "s1")
	if err := r.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close says %v, want no space left", err)
	}
	for _, e := range rest(t, bus, user) {
		if n, ok := e.Body.(event.Notice); ok {
			notices = append(notices, n.Text)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "no space left") || !strings.Contains(notices[0], dir) {
		t.Errorf("notices: %q, want one that says what and where", notices)
	}
}

func TestAnUnwritableFolderEndsTheRecordOnly(t *testing.T) {
	bus, dir := event.NewBus(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := event.NewRecorder(bus, dir, event.RecorderOptions{})
	step(bus, "s1")
	if err := r.Close(); err == nil {
		t.Error("Close reports no error")
	}
}

func BenchmarkRecord(b *testing.B) {
	dir := b.TempDir()
	body := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"hello"},`, 3000) + `null]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		bus := event.NewBus()
		r := event.NewRecorder(bus, dir, event.RecorderOptions{})
		bus.Publish("s", nil, event.Request{Bytes: func() []byte { return body }})
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
