package boundary

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestALargeFolderIsReadOnceAndInPart(t *testing.T) {
	root := t.TempDir()
	for i := range 500 {
		write(t, filepath.Join(root, fmt.Sprintf("d%03d", i), "sub", "file"), "x")
	}
	one := &tree{later: time.Hour}
	one.scan(root)
	if n := len(one.folders); n != nestedFolders {
		t.Fatalf("%d folders", n)
	}
	mark := filepath.Join(root, "d001")
	l := one.folders[mark]
	l.subs = []string{"remembered"}
	one.folders[mark] = l
	one.scan(root)
	if got := one.folders[mark].subs; len(got) != 1 || got[0] != "remembered" {
		t.Errorf("a folder without a change was read again: %v", got)
	}
	write(t, filepath.Join(mark, ".git", "HEAD"), "x")
	if now := one.scan(root); !now.names[filepath.Join(mark, ".git")] {
		t.Errorf("a folder that changed was not read again: %v", now.names)
	}
}

func BenchmarkScan(b *testing.B) {
	root := b.TempDir()
	for i := range 400 {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprint("d", i), "sub"), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	one := &tree{later: time.Hour}
	one.scan(root)
	for b.Loop() {
		one.scan(root)
	}
}

func TestAFolderIsReadAgainWhenItsTimeWasSetBack(t *testing.T) {
	root := t.TempDir()
	sub := filepath.Join(root, "sub")
	write(t, filepath.Join(sub, "file"), "x")
	before, err := os.Stat(sub)
	if err != nil {
		t.Fatal(err)
	}
	one := &tree{later: time.Hour}
	one.scan(root)
	write(t, filepath.Join(sub, ".vscode", "tasks.json"), "{}")
	if err := os.Chtimes(sub, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the time of the last change")
	}
	if now := one.scan(root); !now.names[filepath.Join(sub, ".vscode")] {
		t.Error("a name was not seen, since the folder has its old time")
	}
}

// A command that still runs puts a link in the place of a folder, after lathe has found what was planted there.
func TestALinkInTheWayLeadsNothingOutside(t *testing.T) {
	top := t.TempDir()
	root, outside, aside := filepath.Join(top, "p"), filepath.Join(top, "home"), filepath.Join(top, "aside")
	write(t, outside+"/.vscode/settings.json", "the user's")
	write(t, outside+"/.git/config", "[core]\n\tbare = false\n")
	for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
		write(t, outside+"/.git/"+name, "x")
	}
	write(t, root+"/sub/.git/config", "[core]\n\tpager = evil\n") // it was there when the command began
	one := &tree{}
	was := one.scan(root)
	write(t, root+"/sub/.vscode/tasks.json", "{}")
	write(t, root+"/sub/.git/config", "[core]\n\tfsmonitor = evil\n")
	write(t, root+"/sub/.git/hooks/pre-commit", "evil")
	now := one.scan(root)
	if err := os.Rename(root+"/sub", root+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, root+"/sub"); err != nil {
		t.Skip(err)
	}
	lines, _ := was.planted(now, nil, aside)
	if len(lines) == 0 {
		t.Error("nothing was found")
	}
	if text, err := os.ReadFile(outside + "/.vscode/settings.json"); err != nil || string(text) != "the user's" {
		t.Errorf("a folder of the user was moved: %v", err)
	}
	if text, err := os.ReadFile(outside + "/.git/config"); err != nil || strings.Contains(string(text), "evil") {
		t.Errorf("a file of the user was written: %q, %v", text, err)
	}
}
