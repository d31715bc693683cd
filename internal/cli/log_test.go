package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func at(day string) func() time.Time {
	t, err := time.ParseInLocation(time.DateTime, day+" 12:00:00", time.Local)
	if err != nil {
		panic(err)
	}
	return func() time.Time { return t }
}

// lastWritten makes a file look as if it was written at that time.
func lastWritten(t *testing.T, file string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(file, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestTheLogIsMadeByItsFirstRecord(t *testing.T) {
	home := t.TempDir()
	j := newJournal(home, "")
	j.Debug("not at this level")
	if left := namesIn(home); len(left) > 0 {
		t.Fatalf("made before the first record: %v", left)
	}
	j.Info("first")
	j.close()
	j.Info("after the end")
	text, err := os.ReadFile(filepath.Join(home, "logs", "lathe.log"))
	if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), "msg=first") {
		t.Errorf("%v: %q", err, text)
	}
}

func TestEachDayHasItsOwnLog(t *testing.T) {
	dir := t.TempDir()
	l := &logFile{path: filepath.Join(dir, "lathe.log"), now: at("2026-03-01")}
	write := func(s string) {
		t.Helper()
		if _, err := l.Write([]byte(s + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"lathe-2026-02-01.log", "lathe-2026-02-20.log", "lathe-notes.log",
		"other-2020-01-01.log",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	lastWritten(t, l.path, at("2026-03-01")())
	write("two") // the file system's clock may differ: the day of the record counts
	lastWritten(t, l.path, at("2026-03-01")())
	l.now = at("2026-03-02")
	write("three")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"lathe-2026-02-20.log", "lathe-2026-03-01.log", "lathe-notes.log", "lathe.log",
		"other-2020-01-01.log",
	}
	if diff := cmp.Diff(want, namesIn(dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"lathe.log": "three\n", "lathe-2026-03-01.log": "one\ntwo\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
}

// Several lathes run at once, and a day may end while they do.
func TestManyProcessesWriteOneLogWithoutLosingRecords(t *testing.T) {
	const writers, records = 8, 50
	dir := t.TempDir()
	path := filepath.Join(dir, "lathe.log")
	if err := os.WriteFile(path, []byte("yesterday\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lastWritten(t, path, time.Now().AddDate(0, 0, -1))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			l := &logFile{path: path}
			defer l.Close()
			for i := range records {
				if _, err := fmt.Fprintf(l, "writer %d record %d %s\n", w, i, strings.Repeat("x", 500)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var lines []string
	for _, name := range namesIn(dir) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	slices.Sort(lines)
	if len(lines) != writers*records+1 || len(slices.Compact(lines)) != writers*records+1 || !slices.Contains(lines,
		"yesterday") {
		t.Errorf("%d lines, %d different, want %d", len(lines), len(slices.Compact(lines)), writers*records+1)
	}
}

func TestALogThatCannotBeWrittenIsGivenUpQuietly(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := newJournal(home, "")
	j.Info("one")
	j.Info("two")
	j.close()
	if j.file.written() {
		t.Error("says that it was written")
	}
	err := j.crashed("boom")
	if !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "goroutine") {
		t.Errorf("without a log the stack must be in the message: %v", err)
	}
}

func TestACrashNamesTheLogThatHasItsStack(t *testing.T) {
	home := t.TempDir()
	j := newJournal(home, "")
	err := j.crashed("boom")
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != exitFailed || !strings.Contains(e.Hint, "lathe.log") ||
		strings.Contains(err.Error(), "goroutine") {
		t.Errorf("%#v", err)
	}
	j.close()
	if text, err := os.ReadFile(j.file.path); err != nil || !strings.Contains(string(text), "goroutine") {
		t.Errorf("no stack in the log: %v %s", err, text)
	}
}

func TestTheLogMasksSecretsAndEscapesWhatIsForeign(t *testing.T) {
	j := newJournal(t.TempDir(), "debug")
	j.Error("failed", "error", errors.New("bad key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"))
	j.Warn("notice", "text", "evil \x1b]0;x\x07 \u202e line\nsecond")
	j.event(event.Event{Session: "s", Body: event.ToolEnd{
		Call: llm.ToolCall{ID: "1", Name: "Bash"}, Meta: map[string]any{"panic": "oops", "stack": "at foo.go:1"},
	}})
	j.close()
	text, err := os.ReadFile(j.file.path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "abcdefghij") || strings.ContainsAny(s, "\x1b\x07\u202e") ||
		strings.Count(s, "\n") != 3 ||
		!strings.Contains(s, "tool crashed") {
		t.Errorf("%q", s)
	}
}

func TestTheLevelTraceRecordsEveryEvent(t *testing.T) {
	for level, want := range map[string]int{"trace": 1, "debug": 0} {
		j := newJournal(t.TempDir(), level)
		j.event(event.Event{Session: "s", Body: event.StepStart{}})
		j.close()
		text, _ := os.ReadFile(j.file.path) // the file is missing if nothing was recorded
		if n := strings.Count(string(text), "kind=step.start"); n != want {
			t.Errorf("%s: %s", level, text)
		}
	}
}

func TestLoggedArgumentsTellNoPromptAndNoSecret(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-p|fix my secret", "-p (1 words)"},
		{"-p|--model=claude|--system-prompt=hush|go", "-p --model=claude --system-prompt=... (1 words)"},
		{"--settings={\"apiKey\":\"sk\"}|hello", "--settings=... (1 words)"},
		{"config|set|providers.x.apiKey|sk-1|--scope=user", "config --scope=user (4 words)"},
		{"tool|call|Bash|--input|{\"command\":\"x\"}", "tool --input (4 words)"},
		{"-p|--|--model=secret|word", "-p -- (2 words)"},
		{"-rsecret", "(1 words)"},
	} {
		got := strings.Join(loggedArgs(strings.Split(tt.args, "|")), " ")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}
