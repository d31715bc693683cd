//go:build !windows

package tui_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

func TestLeavingAsksWhileSomethingRunsInTheBackground(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/busy")
	d.Shows("2 tasks")
	d.Line("/quit")
	d.Shows("Leave? 2 tasks in the background will end")
	d.Type("\r") // stay
	d.Hides("Leave?")
	exchange(d, "hello")
	d.Line("/quit")
	d.Shows("Leave and end them")
	d.Type(termtest.Down + "\r")
	d.Shows("resume with: 0199-fake")
}

func TestAListThatChangesByItselfIsFetchedAgainWhileItIsOpen(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/counting")
	d.Shows("asked 3 times")
	d.Type(termtest.Esc)
	d.Hides("─ Counting ─")
}

func TestACommandOpensAFileInTheUsersEditor(t *testing.T) {
	dir := t.TempDir()
	file, script := filepath.Join(dir, "a.md"), filepath.Join(dir, "editor")
	if err := os.WriteFile(file, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho new >> \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := opened(t, 100, 24, "EDITOR="+script)
	d.Line("/change " + file)
	d.Shows("ran shown with")
	if text, err := os.ReadFile(file); err != nil || string(text) != "old\nnew\n" {
		t.Errorf("%q %v", text, err)
	}
}
