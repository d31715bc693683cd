package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOldRecordingsAreRemovedAfterTheConfiguredDays(t *testing.T) {
	inst, err := newPlace(t, nil).with(t, `{"cleanupPeriodDays": 30}`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	debug := filepath.Join(inst.paths.StateHome, "debug")
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
	for name, want := range map[string]bool{"old": false, "young": true, "old-in-use": true} {
		if _, err := os.Stat(filepath.Join(debug, name)); (err == nil) != want {
			t.Errorf("%s: there: %v, want %v", name, err == nil, want)
		}
	}
}
