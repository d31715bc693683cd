package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"
)

func texts(p *promptHistory, text string) (out []string) {
	for _, c := range p.search(text, 0) {
		out = append(out, c.Text)
	}
	return out
}

// A process that was stopped while it writes the history holds no prompt up for good.
func TestAPromptWaitsForAnotherProcessOnlyForAWhile(t *testing.T) {
	p := newPromptHistory(t.TempDir(), "/a")
	other := flock.New(p.path + ".lock")
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	defer other.Close()
	synctest.Test(t, func(*testing.T) { p.add("one") })
	if got := texts(p, ""); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestHistoryOfThisFolderComesFirst(t *testing.T) {
	state := t.TempDir()
	a, b := newPromptHistory(state, "/a"), newPromptHistory(state, "/b")
	a.add("one")
	b.add("two")
	a.add("three")
	a.add("three") // twice in a row counts once
	b.add("one")
	if got := strings.Join(texts(a, ""), " "); got != "three one two" {
		t.Errorf("%s", got)
	}
	if got := strings.Join(texts(b, ""), " "); got != "one two three" {
		t.Errorf("%s", got)
	}
	if c := a.search("WO", 0); len(c) != 1 || c[0].Help != "/b" || fmt.Sprint(c[0].Marks) != "[1 2]" {
		t.Errorf("%+v", c)
	}
	if st, err := os.Stat(filepath.Join(state, "history.jsonl")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
}

func TestHistoryIsSharedByProcesses(t *testing.T) {
	state := t.TempDir()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			p := newPromptHistory(state, "/a") // each with its own view
			for j := range 25 {
				p.add(fmt.Sprintf("prompt %d of %d", j, i))
			}
		})
	}
	wg.Wait()
	if got := texts(newPromptHistory(state, "/a"), "prompt"); len(got) != 100 {
		t.Errorf("%d prompts", len(got))
	}
}

func TestHistoryIsBounded(t *testing.T) {
	state := t.TempDir()
	p := newPromptHistory(state, "/a")
	big := strings.Repeat("x", 200<<10)
	for i := range 60 {
		p.add(fmt.Sprint(i, big))
	}
	st, err := os.Stat(filepath.Join(state, "history.jsonl"))
	if err != nil || st.Size() > historyBytes {
		t.Fatalf("%v %v", st.Size(), err)
	}
	if got := texts(p, ""); len(got) < 10 || !strings.HasPrefix(got[0], "59") {
		t.Errorf("%d prompts, first %.10s", len(got), got[0])
	}
	p.add(strings.Repeat("y", historyLine+1)) // longer than is kept
	if got := texts(p, "y"); len(got) != 0 {
		t.Error("it was kept")
	}
}

func TestABrokenHistoryIsNoReasonToFail(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "history.jsonl"), []byte("{\"text\":\"ok\"}\nnonsense\n\x00\xff\n{\"te"),
		0o600); err != nil {
		t.Fatal(err)
	}
	p := newPromptHistory(state, "/a")
	if got := texts(p, ""); len(got) != 1 || got[0] != "ok" {
		t.Errorf("%v", got)
	}
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, nil, 0o600); err != nil { // the folder cannot be created
		t.Fatal(err)
	}
	p.add("still")
	if got := texts(p, ""); len(got) == 0 || got[0] != "still" {
		t.Errorf("%v", got)
	}
}

func TestANoteDoesNotFollowALinkOutOfTheProject(t *testing.T) {
	p := newPlace(t, talk3())
	outside := filepath.Join(p.home, "rc")
	if err := os.WriteFile(outside, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.dir, "CLAUDE.md")); err != nil {
		t.Skip(err)
	}
	s := p.open(t, nil)
	s.refuses("#", "note", "out of the project")
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	s.refuses("#", "note", "leads nowhere")
	if _, err := os.Stat(outside); err == nil {
		t.Error("it was made")
	}
}
