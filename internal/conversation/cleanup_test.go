package conversation_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestOldRecordingsAreRemovedAfterAMonthUnlessConfigured(t *testing.T) {
	for settings, kept := range map[string]map[string]bool{
		`{}`:                         {"old": false, "young": true, "old-in-use": true},
		`{"cleanupPeriodDays": 365}`: {"old": true, "young": true, "old-in-use": true},
		`{"cleanupPeriodDays": 7}`:   {"old": false, "young": false, "old-in-use": false},
	} {
		t.Run(settings, func(t *testing.T) { testCleanUp(t, settings, kept) })
	}
}

func testCleanUp(t *testing.T, settings string, kept map[string]bool) {
	inst, err := newPlace(t, nil).with(t, settings, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	debug := filepath.Join(inst.Config().Paths().StateHome, "debug")
	old, young := time.Now().AddDate(0, 0, -31), time.Now().AddDate(0, 0, -29)
	for name, at := range map[string]time.Time{"old": old, "young": young, "old-in-use": old} {
		dir := filepath.Join(debug, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "events.jsonl")
		if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		written := at
		if name == "old-in-use" {
			written = young
		}
		if err := os.Chtimes(file, written, written); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := inst.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, want := range kept {
		if _, err := os.Stat(filepath.Join(debug, name)); (err == nil) != want {
			t.Errorf("%s: there: %v, want %v", name, err == nil, want)
		}
	}
}

// The saved outputs of a session belong to it: they go only where the user set the key, and never those of an open one.
func TestSavedOutputsOfOldSessionsGoOnlyWhereTheKeyIsSet(t *testing.T) {
	for settings, kept := range map[string]bool{`{}`: true, `{"cleanupPeriodDays": 30}`: false} {
		inst, err := newPlace(t, nil).with(t, settings, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().AddDate(0, 0, -31)
		blobs := map[bool]string{} // by whether the session is open
		for _, open := range []bool{true, false} {
			log, err := inst.Store().Create(t.Context(), session.Meta{Dir: inst.Dir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = log.Close() })
			if err := log.AddUser(t.Context(), llm.UserText("hi"), false, false); err != nil {
				t.Fatal(err)
			}
			if blobs[open], err = log.Blob(t.Context(), "out.txt", []byte("output")); err != nil {
				t.Fatal(err)
			}
			if !open {
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chtimes(log.Path(), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := inst.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for open, path := range blobs {
			if _, err := os.Stat(path); (err == nil) != (kept || open) {
				t.Errorf("%s, open %v: %v", settings, open, err)
			}
		}
	}
}
