package approved_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/approved"
)

func TestAnAnswerHoldsForOneContentOfOneProject(t *testing.T) {
	state := t.TempDir()
	a := approved.Open(state, "hooks", "/p")
	one, two := approved.Sum([]byte("one")), approved.Sum([]byte("two"))
	if a.Approved("x", one) || a.Refused("x", one) || a.Changed("x", one) {
		t.Error("nothing was answered yet")
	}
	if err := a.Set("x", one, true); err != nil {
		t.Fatal(err)
	}
	again := approved.Open(state, "hooks", "/p")
	if !again.Approved("x", one) || again.Approved("x", two) || !again.Changed("x", two) || again.Approved("y", one) {
		t.Error("the answer is for the content and the name that it was given for")
	}
	if approved.Open(state, "hooks", "/q").Approved("x", one) || approved.Open(state, "tools", "/p").Approved("x", one) {
		t.Error("an answer holds for one project and one kind")
	}
	if err := again.Set("x", two, false); err != nil || again.Approved("x", one) || !again.Refused("x", two) {
		t.Errorf("a refusal replaces the approval: %v", err)
	}
	if err := again.Forget("x"); err != nil || again.Refused("x", two) {
		t.Errorf("forgetting drops the answer: %v", err)
	}
}

func TestABrokenFileApprovesNothingAndCanBeWrittenAgain(t *testing.T) {
	state := t.TempDir()
	a := approved.Open(state, "hooks", "/p")
	if err := a.Set("x", "1", true); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(state, "hooks", "approved", "*.json"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a.Approved("x", "1") {
		t.Error("a broken file approved something")
	}
	if err := a.Set("x", "1", true); err != nil || !a.Approved("x", "1") {
		t.Errorf("the file is not mended: %v", err)
	}
}

func TestWithoutAStateFolderNothingIsKept(t *testing.T) {
	if err := approved.Open("", "hooks", "/p").Set("x", "1", true); err == nil {
		t.Error("there is no error")
	}
}
