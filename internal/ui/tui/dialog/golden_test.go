package dialog_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

var update = flag.Bool("update", false, "write the golden files anew")

var bare = theme.Must("none", true, colorprofile.NoTTY)

// around is a terminal of the user u with the usual keys.
var around = dialog.Surroundings{Theme: bare, Home: "/home/u", Key: keys.Default().Key}

func permissionOptions(rules ...string) []event.Option {
	help := strings.Join(rules, "\n")
	return []event.Option{
		{ID: event.ChoiceOnce, Label: "Yes, once"},
		{ID: event.ChoiceSession, Label: "Yes, for this session", Help: help},
		{ID: event.ChoiceAlways, Label: "Yes, always in this project", Help: help},
		{ID: event.ChoiceNo, Label: "No"},
		{ID: event.ChoiceNever, Label: "Never in this project", Help: help},
	}
}

// commandQuestion asks for a compound that removes a folder.
func commandQuestion() event.Asked {
	line := "cd web && rm -rf build && npm run build --if-present -- --mode=production --out-dir=../dist/web"
	return event.Asked{ID: "q1", Question: event.Question{
		Title: "Bash", Text: line, Free: true, Preview: event.Command{
			Command: line, Dir: "/home/u/proj",
			Warning: []string{"build: 34 files, 1.2 MB"},
		},
		Undo:   "12 files can be restored; not: web/build/, 1.2 MB (ignored by git)",
		Reason: "rm -rf build destroys files below /home/u/proj/build; npm run build runs the project's code",
		Permission: &permission.Request{Tool: "Bash", Dir: "/home/u/proj", Accesses: []permission.Access{
			{Kind: permission.Exec, Target: line, Command: &permission.Command{
				Class: permission.ClassDestructive,
				Parts: []permission.Part{
					{Text: "cd web", Program: "cd"},
					{Text: "rm -rf build", Program: "rm", Path: "/usr/bin/rm"},
					{Text: "npm run build", Program: "npm", Path: "/usr/bin/npm"},
				},
				Findings: []permission.Finding{{
					Check: "remove", Text: "rm -rf build removes files for good",
					Effect: permission.Ask,
				}},
			}},
			{Kind: permission.Write, Target: "/home/u/proj/web/build"},
		}},
		Options: permissionOptions("Bash(rm -rf build)", "Bash(npm run build *)"),
	}}
}

// editQuestion asks for a change through a link.
func editQuestion() event.Asked {
	diff := "--- a/out\n+++ b/out\n@@ -1,3 +1,3 @@\n # shell\n-export A=1\n+export A=2\n alias ll='ls -l'\n"
	return event.Asked{ID: "q2", Question: event.Question{
		Title: "Edit", Text: "out", Free: true, Preview: event.Diff{Path: "out", Unified: diff, Added: 1, Removed: 1},
		Reason: "/home/u/notes.sh is outside the working folders",
		Permission: &permission.Request{
			Tool: "Edit", Dir: "/home/u/proj", Agent: []string{"explore"},
			Accesses: []permission.Access{
				{Kind: permission.Write, Target: "/home/u/notes.sh", Named: "/home/u/proj/out", Node: permission.File, Links: 2},
			},
		},
		Options: slices.Insert(permissionOptions("Edit(//home/u/notes.sh)"), 1, event.Option{
			ID:    event.ChoiceEdits,
			Label: "Yes, and accept edits from now on",
		}),
	}}
}

func inputQuestion() event.Asked {
	return event.Asked{ID: "q3", Question: event.Question{
		Title: "mcp__github__create_issue", Free: true, Reason: "mcp__github__create_issue needs approval",
		Call: &llm.ToolCall{
			ID: "c1", Name: "mcp__github__create_issue",
			Input: json.RawMessage(`{"title":"a\u001b[2Jb\u202etxt","body":"日本語のテキスト"}`),
		},
		Permission: &permission.Request{Tool: "mcp__github__create_issue", Dir: "/home/u/proj"},
		Options:    permissionOptions("mcp__github__create_issue"),
	}}
}

func question(multi, free bool) event.Asked {
	return event.Asked{ID: "q4", Question: event.Question{
		Title: "Database", Text: "Which database should the service use? The tests need one that starts without a server.",
		Multi: multi, Free: free,
		Options: []event.Option{
			{ID: "sqlite", Label: "SQLite", Help: "one file, no server"},
			{ID: "postgres", Label: "PostgreSQL", Help: "what production runs; needs a container for the tests"},
			{ID: "none", Label: "None"},
		},
	}}
}

var clock = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func sessions() event.Pick {
	return event.Pick{
		Title: "Sessions", Command: "resume", Items: []event.PickItem{
			{
				ID: "01a", Label: "Fix the flaky test of the queue", Detail: "12 turns  $0.41",
				Time: time.Now().Add(-5 * time.Minute), Current: true, Preview: "**You:** the queue test fails one time in " +
					"ten\n\n**lathe:** The test waits 10 ms where it should wait for the event.",
			},
			{ID: "01b", Label: "", Detail: "1 turn", Time: time.Now().Add(-50 * time.Hour), Preview: "hello"},
			{ID: "01c", Label: "説明を日本語で書いてください、とても長い題名のセッション", Time: time.Now().Add(-30 * 24 * time.Hour)},
		},
		Actions: []event.PickAction{
			{Key: "ctrl+r", Label: "rename", Command: "rename", Ask: "New name", Refresh: "sessions"},
			{Key: "ctrl+d", Label: "delete", Command: "delete-session", Undo: "restore-session", Refresh: "sessions"},
		},
	}
}

func tree() event.Pick {
	return event.Pick{Title: "Messages", Command: "tree", Items: []event.PickItem{
		{ID: "e1", Label: "add a flag"},
		{ID: "e2", Label: "call it --dry-run", Depth: 1, Starts: true, Current: true},
		{ID: "e3", Label: "make it the default", Depth: 2, Starts: true},
		{ID: "e4", Label: "with a warning", Depth: 2},
		{ID: "e5", Label: "never mind", Depth: 2, Starts: true},
		{ID: "e6", Label: "no, --plan", Depth: 1, Starts: true},
		{ID: "e7", Label: "and document it", Depth: 1},
	}}
}

func page(width int) []string {
	var out []string
	for i := range 40 {
		out = append(out, line.Join(width, line.Span{Text: fmt.Sprintf("line %d of a page", i+1)}))
	}
	return out
}

// frames are the dialogs in the states that people see them in.
func frames(th *theme.Theme) map[string]func() dialog.Dialog {
	hit := func(d dialog.Dialog, ks ...dialog.Key) dialog.Dialog {
		d.Lines(80, 24)
		for _, k := range ks {
			d.Key(k)
		}
		return d
	}
	long := commandQuestion()
	long.Question.Preview = event.Command{Command: strings.Repeat("echo one more line of a long script\n", 60)}
	return map[string]func() dialog.Dialog{
		"permission-command": func() dialog.Dialog {
			return dialog.NewPermission(commandQuestion(), dialog.Surroundings{
				Theme: th, Home: "/home/u",
				Key: keys.Default().Key,
			})
		},
		"permission-long": func() dialog.Dialog {
			return dialog.NewPermission(long, dialog.Surroundings{Theme: th, Home: "/home/u", Key: keys.Default().Key})
		},
		"permission-edit": func() dialog.Dialog {
			return dialog.NewPermission(editQuestion(), dialog.Surroundings{Theme: th, Home: "/home/u", Key: keys.Default().Key})
		},
		"permission-input": func() dialog.Dialog {
			return dialog.NewPermission(inputQuestion(), dialog.Surroundings{
				Theme: th, Home: "/home/u",
				Key: keys.Default().Key,
			})
		},
		"permission-why-not": func() dialog.Dialog {
			return hit(dialog.NewPermission(commandQuestion(), dialog.Surroundings{
				Theme: th, Home: "/home/u",
				Key: keys.Default().Key,
			}), act(keys.ConfirmGuide), dialog.Key{Text: "use make clean"})
		},
		"question": func() dialog.Dialog { return dialog.NewQuestion(question(false, true), th) },
		"question-multi": func() dialog.Dialog {
			return hit(dialog.NewQuestion(question(true, false), th), dialog.Key{Text: "2"})
		},
		"question-words": func() dialog.Dialog {
			return hit(dialog.NewQuestion(question(false, true), th), dialog.Key{Text: "4"}, dialog.Key{Text: "DuckDB"})
		},
		"sessions": func() dialog.Dialog { return dialog.NewPicker(sessions(), th) },
		"sessions-rename": func() dialog.Dialog {
			return hit(dialog.NewPicker(sessions(), th), dialog.Key{Name: "ctrl+r"}, dialog.Key{Text: "s"})
		},
		"tree": func() dialog.Dialog { return dialog.NewPicker(tree(), th) },
		"empty": func() dialog.Dialog {
			return dialog.NewPicker(event.Pick{Title: "Sessions", Empty: "no session yet"}, th)
		},
		"page": func() dialog.Dialog { return dialog.NewText("Keys", th, page) },
	}
}

func TestEveryDialogLooksAsTheGoldenFramesSay(t *testing.T) {
	for name, open := range frames(bare) {
		for _, width := range []int{40, 80, 200} {
			got := strings.Join(open().Lines(width, 24), "\n") + "\n"
			path := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, width))
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; write it with -update", err)
			}
			if string(want) != got {
				t.Errorf("%s changed; look at it and run with -update if it is right\n%s", path, got)
			}
		}
	}
}

func TestNoDialogIsWiderOrHigherThanItsBox(t *testing.T) {
	for _, th := range []*theme.Theme{bare, theme.Must("dark", true, colorprofile.TrueColor)} {
		for name, open := range frames(th) {
			for width := 1; width <= 120; width += 3 {
				for _, height := range []int{1, 3, 5, 9, 24, 60} {
					lines := open().Lines(width, height)
					if len(lines) > height {
						t.Fatalf("%s: %d lines in a box of %dx%d", name, len(lines), width, height)
					}
					for _, l := range lines {
						text := line.Strip(l)
						if n := term.Width(text); n > width {
							t.Fatalf("%s: a line of %d cells in a box of %dx%d: %q", name, n, width, height, text)
						}
						if strings.ContainsAny(text, "\x1b\r\n\x07") || strings.Contains(text, "\u202e") {
							t.Fatalf("%s: a control character reaches the screen: %q", name, text)
						}
					}
				}
			}
		}
	}
}
