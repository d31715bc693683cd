package session

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lathe-dev/lathe/internal/llm"
)

var ctx = context.Background()

func newStore(t testing.TB) *Store {
	t.Helper()
	return NewStore(t.TempDir())
}

func create(t testing.TB, s *Store) *Session {
	t.Helper()
	sess, err := s.Create(ctx, Meta{Dir: t.TempDir(), Version: "0.1.0", Model: "m1"})
	must(t, err)
	t.Cleanup(func() { sess.Close() })
	return sess
}

func reopen(t testing.TB, st *Store, s *Session) *Session {
	t.Helper()
	must(t, s.Close())
	return open(t, st, s.ID())
}

func open(t testing.TB, st *Store, id string) *Session {
	t.Helper()
	s, err := st.Open(ctx, id)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func user(t testing.TB, s *Session, text string) {
	t.Helper()
	must(t, s.AddUser(ctx, llm.UserText(text), false, false))
}

func toolCall(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"ls <x> && true"}`)}
}

func result(id, text string) CallEnd {
	return CallEnd{
		Result: llm.TextResult(toolCall(id), text, false), Title: "ls",
		View: json.RawMessage(`{"shape":"text"}`),
	}
}

func reply(parts ...llm.Part) llm.Message {
	return llm.Message{
		ID: "msg_1", Role: llm.Assistant, Parts: parts, Model: "m1",
		Usage: &llm.Usage{Input: 10, Output: 5}, Stop: llm.StopToolUse,
	}
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

// oneTurn adds a user message, a reply with two calls that end in reverse order, and a last reply.
func oneTurn(t testing.TB, s *Session) {
	t.Helper()
	user(t, s, "fix it")
	must(t, s.AddPart(ctx, 0, llm.Reasoning{Text: "hm", Signature: "sig=="}))
	must(t, s.AddPart(ctx, 1, toolCall("a")))
	must(t, s.StartCall(ctx, CallStart{CallID: "a"}, true))
	must(t, s.AddPart(ctx, 2, toolCall("b")))
	must(t, s.StartCall(ctx, CallStart{CallID: "b"}, false))
	must(t, s.EndCall(ctx, result("b", "two")))
	must(t, s.AddReply(ctx, reply(llm.Reasoning{Text: "hm", Signature: "sig=="}, toolCall("a"), toolCall("b"))))
	must(t, s.EndCall(ctx, result("a", "one")))
	must(t, s.AddReply(ctx, reply(llm.Text{Text: "done \"<ok>\"\n\u00e9\u2028"})))
	must(t, s.EndTurn(ctx, TurnEnd{Reason: "completed", Steps: 2, CostUSD: 0.5, Usage: llm.Usage{Input: 20}}))
}

func TestATurnComesBackAsItWas(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	oneTurn(t, s)
	want := []llm.Message{
		llm.UserText("fix it"),
		reply(llm.Reasoning{Text: "hm", Signature: "sig=="}, toolCall("a"), toolCall("b")),
		{Role: llm.User, Parts: []llm.Part{result("a", "one").Result, result("b", "two").Result}},
		reply(llm.Text{Text: "done \"<ok>\"\n\u00e9\u2028"}),
	}
	same(t, s.Messages(), want)
	r := reopen(t, st, s)
	same(t, r.Messages(), want)
	same(t, r.Notes(), []string(nil))
	same(t, r.Info().Turns, 1)
	same(t, r.Info().CostUSD, 0.5)
	same(t, r.Info().FirstPrompt, "fix it")
}

func TestRequestsBesideTheConversationCostMoneyAfterAReopenToo(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	oneTurn(t, s)
	_, err := s.Add(t.Context(), SideRequest{Purpose: PurposeSummary, Model: "small", CostUSD: 0.25})
	must(t, err)
	same(t, s.Info().CostUSD, 0.75)
	same(t, reopen(t, st, s).Info().CostUSD, 0.75)
}

func TestResultsAppearOnceTheReplyIsClosedAndAllCallsHaveEnded(t *testing.T) {
	s := create(t, newStore(t))
	user(t, s, "go")
	must(t, s.AddPart(ctx, 0, toolCall("a")))
	must(t, s.EndCall(ctx, result("a", "early")))
	if n := len(s.Messages()); n != 1 {
		t.Fatalf("%d messages while the reply is open, want 1", n)
	}
	must(t, s.AddReply(ctx, reply(toolCall("a"))))
	same(t, s.Messages()[2].Parts, []llm.Part{result("a", "early").Result})
}

func TestACallHasOneResultOnly(t *testing.T) {
	s := create(t, newStore(t))
	user(t, s, "go")
	if err := s.EndCall(ctx, result("a", "x")); err == nil {
		t.Error("a result without a call was taken")
	}
	must(t, s.AddPart(ctx, 0, toolCall("a")))
	must(t, s.EndCall(ctx, result("a", "x")))
	if err := s.EndCall(ctx, result("a", "y")); err == nil {
		t.Error("a second result was taken")
	}
}

func TestCallsLeftOpenByACrashAreAnsweredOnce(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "go")
	must(t, s.AddPart(ctx, 0, llm.Text{Text: "I will"}))
	must(t, s.AddPart(ctx, 1, toolCall("a")))
	must(t, s.AddPart(ctx, 2, toolCall("b")))
	must(t, s.StartCall(ctx, CallStart{CallID: "a"}, false))
	r := reopen(t, st, s)
	want := []llm.Message{
		llm.UserText("go"),
		{Role: llm.Assistant, Model: "m1", Stop: llm.StopBroken, Parts: []llm.Part{
			llm.Text{Text: "I will"},
			toolCall("a"),
			toolCall("b"),
		}},
		{Role: llm.User, Parts: []llm.Part{llm.TextResult(toolCall("a"), notEnded, true), llm.TextResult(toolCall("b"),
			notStarted, true)}},
	}
	same(t, r.Messages(), want)
	size := r.Info().Size
	r = reopen(t, st, r)
	same(t, r.Messages(), want)
	same(t, r.Info().Size, size)
}

func TestASentAgainRequestVoidsTheTextOfTheFirst(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "go")
	must(t, s.AddPart(ctx, 0, llm.Reasoning{Text: "first"}))
	must(t, s.AddPart(ctx, 1, llm.Text{Text: "first"}))
	must(t, s.AddPart(ctx, 0, llm.Text{Text: "second"}))
	must(t, s.AddReply(ctx, reply(llm.Text{Text: "second"})))
	want := []llm.Message{llm.UserText("go"), reply(llm.Text{Text: "second"})}
	same(t, s.Messages(), want)
	same(t, reopen(t, st, s).Messages(), want)
}

func TestWhatCannotBeStoredAsItIsIsCleanedAtOnce(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "bad \xff\xfe text")
	c := llm.ToolCall{ID: "a", Name: "X", Input: json.RawMessage("{ \"a\": [1,\n2],\"h\":\"<&>\" }")}
	broken := llm.ToolCall{ID: "b", Name: "X", Input: json.RawMessage(`{"a":`)}
	must(t, s.AddReply(ctx, reply(c, broken, llm.Opaque{Provider: "p", JSON: json.RawMessage("{ \"<\" :1}")},
		llm.Media{MIME: "image/png", Data: []byte{0, 1, 255}})))
	must(t, s.EndCall(ctx, CallEnd{
		Result: llm.TextResult(c, "a\x80b", false), View: json.RawMessage("{\n}"),
		Meta: json.RawMessage("not json"),
	}))
	must(t, s.EndCall(ctx, CallEnd{Result: llm.TextResult(broken, "", true)}))
	live := s.Messages()
	same(t, live[1].Parts[0].(llm.ToolCall).Input, json.RawMessage(`{"a":[1,2],"h":"<&>"}`))
	same(t, live[1].Parts[1].(llm.ToolCall).Raw, `{"a":`)
	same(t, reopen(t, st, s).Messages(), live)
}

func TestASecondProcessIsToldWhoHasTheSession(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "mine")
	_, err := st.Open(ctx, s.ID())
	var held *LockedError
	if !errors.As(err, &held) || held.PID != os.Getpid() || !strings.Contains(err.Error(), "--fork-session") {
		t.Fatalf("got %v", err)
	}
	ro, err := st.OpenReadOnly(s.ID())
	must(t, err)
	defer ro.Close()
	same(t, ro.Messages(), s.Messages())
	if err := ro.AddUser(ctx, llm.UserText("x"), false, false); !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing a read-only session: %v", err)
	}
	if err := st.Remove(s.ID()); !errors.As(err, &held) {
		t.Errorf("removing an open session: %v", err)
	}
	must(t, s.Close())
	open(t, st, s.ID()) // the lock file that is left is no lock
}

// Everything that the store makes is for its owner only: logs, blobs, forks, what a crash left, the trash.
func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	st := NewStore(dir)
	s := create(t, st)
	user(t, s, "x")
	_, err := s.Blob(ctx, "a.txt", []byte("blob"))
	must(t, err)
	f, err := st.Fork(ctx, s.ID(), "")
	must(t, err)
	user(t, f, "y")
	must(t, f.Close())
	must(t, s.Close())
	log, err := os.OpenFile(s.Path(), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = log.WriteString(`{"id":"z","par`)
	must(t, err)
	must(t, log.Close())
	torn, err := st.Open(ctx, s.ID())
	must(t, err)
	user(t, torn, "z")
	must(t, torn.Close())
	must(t, st.Trash(f.ID()))
	seen := map[string]bool{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode().Perm())
		}
		seen[strings.TrimRight(filepath.Base(path), "0123456789")] = true
		return nil
	}))
	for _, want := range []string{"log.jsonl", "lock", "blobs", "log.torn-", "trash"} {
		if !seen[want] {
			t.Errorf("there is no %s: %v", want, seen)
		}
	}
}

func TestASessionThatWasNeverUsedLeavesNothing(t *testing.T) {
	s := create(t, newStore(t))
	must(t, s.Close())
	if _, err := os.Stat(s.Folder()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestCheckoutMovesTheHeadAndRewritesNothing(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "one")
	must(t, s.AddReply(ctx, reply(llm.Text{Text: "1"})))
	at := s.Head()
	user(t, s, "two")
	must(t, s.AddReply(ctx, reply(llm.Text{Text: "2"})))
	before, err := os.ReadFile(s.Path())
	must(t, err)
	must(t, s.Checkout(at))
	same(t, len(s.Messages()), 2)
	s = reopen(t, st, s)
	same(t, s.Head(), at)
	user(t, s, "other")
	want := []llm.Message{llm.UserText("one"), reply(llm.Text{Text: "1"}), llm.UserText("other")}
	same(t, s.Messages(), want)
	s = reopen(t, st, s)
	same(t, s.Messages(), want)
	after, err := os.ReadFile(s.Path())
	must(t, err)
	if !strings.HasPrefix(string(after), string(before)) {
		t.Error("checkout rewrote the log")
	}
	must(t, s.Checkout(""))
	same(t, len(s.Messages()), 0)
	if s.Checkout("nowhere") == nil {
		t.Error("checkout of an unknown entry was taken")
	}
}

func TestWhatMustSurviveAPowerCutIsSynced(t *testing.T) {
	st := newStore(t)
	synced := map[string]int{}
	var mu sync.Mutex // the folders are synced beside the log
	st.fsync = func(f *os.File) error {
		mu.Lock()
		defer mu.Unlock()
		synced[filepath.Base(f.Name())]++
		return nil
	}
	s := create(t, st)
	step := func(what string, want map[string]int, do func()) {
		t.Helper()
		clear(synced)
		do()
		if d := cmp.Diff(want, synced); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	project, home := filepath.Base(filepath.Dir(s.Folder())), filepath.Base(filepath.Dir(st.projects))
	none, log := map[string]int{}, map[string]int{logName: 1}
	step("the first message, with the new folders", map[string]int{
		logName: 1, s.ID(): 1, project: 1, "projects": 1,
		home: 1,
	}, func() { user(t, s, "go") })
	step("a part", none, func() { must(t, s.AddPart(ctx, 0, toolCall("a"))) })
	step("an approval by a person", log, func() { must(t, s.AddDecision(ctx, "a", json.RawMessage(`{}`), true)) })
	step("a decision by a rule", none, func() { must(t, s.AddDecision(ctx, "a", json.RawMessage(`{}`), false)) })
	step("the start of a read", none, func() { must(t, s.StartCall(ctx, CallStart{CallID: "a"}, false)) })
	step("the start of a write", log, func() { must(t, s.StartCall(ctx, CallStart{CallID: "a"}, true)) })
	var blob string
	step("a blob", none, func() {
		var err error
		blob, err = s.Blob(ctx, "x", []byte("x"))
		must(t, err)
	})
	step("a result", none, func() { must(t, s.EndCall(ctx, result("a", "x"))) })
	step("a reply", none, func() { must(t, s.AddReply(ctx, reply(toolCall("a")))) })
	step("the end of a turn, with the blob", map[string]int{logName: 1, filepath.Base(blob): 1, blobDir: 1},
		func() { must(t, s.EndTurn(ctx, TurnEnd{})) })
	step("a compaction", none, func() {
		must(t, s.Compact(ctx, Compaction{Level: 4, Until: s.Until(1), Messages: []llm.Message{llm.UserText("the summary")}}))
	})
	step("Sync", log, func() { must(t, s.Sync(ctx)) })
	step("a later message", log, func() { user(t, s, "more") })
}

func TestAFailedSyncTakesTheEntryBack(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "one")
	broken := errors.New("the disk is on fire")
	s.fsync = func(*os.File) error { return broken }
	err := s.AddUser(ctx, llm.UserText("two"), false, false)
	var w *WriteError
	if !errors.As(err, &w) || !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	same(t, len(s.Messages()), 1)
	s.fsync = (*os.File).Sync
	user(t, s, "three")
	same(t, texts(reopen(t, st, s)), "one three")
}

func TestANewMessageEndsWhatIsOpenInTheLogToo(t *testing.T) {
	s := create(t, newStore(t))
	user(t, s, "go")
	must(t, s.AddPart(ctx, 0, toolCall("a")))
	user(t, s, "never mind")
	same(t, len(s.Messages()), 4)
	var kinds []string
	for e := range s.Entries() {
		kinds = append(kinds, e.Body.Kind())
		if end, ok := e.Body.(CallEnd); ok && !end.Synthetic {
			t.Error("the result is not marked as lathe's")
		}
	}
	same(t, kinds, []string{"user", "part", "reply", "call_end", "user"})
	if err := s.EndCall(ctx, result("a", "late")); err == nil {
		t.Error("a late result was taken")
	}
}
