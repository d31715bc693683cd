package editor_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/editor"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

var update = flag.Bool("update", false, "write the golden files")

// scenes are states of the editor worth looking at.
var scenes = []struct {
	name string
	make func(*testing.T) *editor.Editor
}{
	{"empty", func(*testing.T) *editor.Editor {
		return editor.New(editor.Options{Placeholder: "Ask, or / for commands"})
	}},
	{"text", func(*testing.T) *editor.Editor {
		e := fresh()
		e.Paste("Please look at the failing test of the session package, and tell why 世界 is cut in two.\n\tThen fix it.")
		return e
	}},
	{"chips", func(*testing.T) *editor.Editor {
		e := fresh()
		typed(e, "compare ")
		e.Paste(strings.Repeat("a line\n", 40))
		typed(e, " with ")
		e.Paste("/tmp/picture.png")
		return e
	}},
	{"commands", func(t *testing.T) *editor.Editor {
		e := fresh()
		answer(t, e, typed(e, "/mo"), []event.Candidate{
			{Text: "model", Hint: "[name]", Help: "Choose the model", Keys: "alt+p", Marks: []int{0, 1}},
			{Text: "mode", Hint: "[mode]", Help: "Choose how much runs without asking", Marks: []int{0, 1}},
			{Text: "memory", Help: "Show what is remembered of this project and of its user", Marks: []int{0, 3}},
		})
		do(t, e, keys.CompleteNext)
		return e
	}},
	{"files", func(t *testing.T) *editor.Editor {
		e := fresh()
		answer(t, e, typed(e, "see @view"), candidates("internal/tui/view/view.go",
			"internal/tui/editor/a/very/deep/folder/with/a/view_of_everything_test.go", "my view/"))
		return e
	}},
	{"search", func(t *testing.T) *editor.Editor {
		e := fresh()
		do(t, e, keys.HistoryFind)
		answer(t, e, typed(e, "fix"), history("fix the flaky test of the watcher\nand run it a hundred times",
			"fix the typo"))
		return e
	}},
	{"shell", func(*testing.T) *editor.Editor {
		e := fresh()
		typed(e, "!go test ./... 2>&1 | tail")
		return e
	}},
}

func TestFramesLookAsTheyDid(t *testing.T) {
	var b strings.Builder
	for _, s := range scenes {
		for _, width := range []int{40, 80, 200} {
			e := s.make(t)
			fmt.Fprintf(&b, "-- %s, %d columns --\n", s.name, width)
			for _, row := range e.Popup(width, 5) {
				fmt.Fprintln(&b, row)
			}
			fmt.Fprintln(&b, frame(t, e, width, 6))
		}
	}
	file := filepath.Join("testdata", "frames.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got; if that is meant, run with -update:\n%s", diff)
	}
}
