package snapshot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// tree writes a folder as text: every file with its mode and content.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%q", data)
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s %s %s\n", info.Mode(), rel, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// names has some that differ in case only: two files here, and one on other systems.
var names = []string{"a", "b", "d/a", "d/b", "d/e/c", "d/e/f/g", "x", "x/y", "link", "A", "D/a", "d/E"}

// change makes one random change below dir; what does not work in the present state of the tree is left out.
func change(r *rapid.T, dir string) {
	name := filepath.Join(dir, rapid.SampledFrom(names).Draw(r, "name"))
	other := filepath.Join(dir, rapid.SampledFrom(names).Draw(r, "other"))
	text := rapid.SampledFrom([]string{"", "1", "22", "333\nlines\n", strings.Repeat("long\n", 3)}).Draw(r, "text")
	switch rapid.SampledFrom([]string{
		"write", "write", "write", "append", "remove", "removeall", "rename", "chmod",
		"link", "symlink", "mkdir", "ignore",
	}).Draw(r, "op") {
	case "write":
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		_ = os.WriteFile(name, []byte(text), 0o644)
	case "append":
		if f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString(text)
			_ = f.Close()
		}
	case "remove":
		_ = os.Remove(name)
	case "removeall":
		_ = os.RemoveAll(name)
	case "rename":
		_ = os.MkdirAll(filepath.Dir(other), 0o755)
		_ = os.Rename(name, other)
	case "chmod":
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(name, rapid.SampledFrom([]os.FileMode{0o600, 0o644, 0o755, 0o444}).Draw(r, "mode"))
		}
	case "link":
		_ = os.Link(name, other)
	case "symlink":
		_ = os.Symlink("a", name)
	case "mkdir":
		_ = os.MkdirAll(name, 0o755)
	case "ignore":
		_ = os.MkdirAll(filepath.Join(dir, "d"), 0o755)
		_ = os.WriteFile(filepath.Join(dir, "d", "noise.log"), []byte(text), 0o600)
	}
}

func TestUndoOfNStepsAndRedoOfNStepsIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newPlace(t)
		p.t = r
		p.write(".gitignore", "*.log\n")
		for range rapid.IntRange(0, 5).Draw(r, "at first") {
			change(r, p.dir)
		}
		var states []string
		for range rapid.IntRange(1, 5).Draw(r, "steps") {
			before := covered(t, p.dir)
			n := rapid.IntRange(1, 4).Draw(r, "changes")
			p.step(func() {
				for range n {
					change(r, p.dir)
				}
			})
			if covered(t, p.dir) != before {
				states = append(states, before)
			}
			if rapid.Bool().Draw(r, "another process") {
				p.open(snapshot.Options{})
			}
		}
		last, noise := covered(t, p.dir), p.read("d/noise.log")
		undone := rapid.IntRange(0, len(states)).Draw(r, "undone")
		for i := range undone {
			before := covered(t, p.dir)
			out := p.undo(1, nil)
			left(r, out, noise)
			if got := covered(t, p.dir); noise == "(none)" && got != states[len(states)-1-i] {
				r.Fatalf("undo %d of\n%s\ngives\n%s\nwant\n%s\n%+v", i+1, before, got, states[len(states)-1-i], out)
			}
		}
		for range undone {
			plan, err := p.history().Redo()
			if noise != "(none)" && errors.Is(err, snapshot.ErrNothing) {
				continue // the folder that a step made stayed, because of the ignored file in it
			}
			p.must(err)
			out, err := plan.Apply(nil)
			p.must(err)
			left(r, out, noise)
		}
		if got := covered(t, p.dir); got != last {
			r.Fatalf("redo gives\n%s\nwant\n%s", got, last)
		}
		if got := p.read("d/noise.log"); got != noise {
			r.Fatalf("an ignored file became %q, and was %q", got, noise)
		}
	})
}

// left fails when files were left alone without a reason. An ignored file keeps its folder where it is.
func left(r *rapid.T, out snapshot.Outcome, noise string) {
	if len(out.Left) > 0 && noise == "(none)" {
		r.Fatalf("left: %+v", out.Left)
	}
}

// covered is the tree without ignored files.
func covered(t testing.TB, dir string) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(tree(t, dir)) {
		if !strings.Contains(line, "noise.log") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestNoByteOfAForeignChangeIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newPlace(t)
		p.t = r
		for range rapid.IntRange(0, 6).Draw(r, "at first") {
			change(r, p.dir)
		}
		for range rapid.IntRange(1, 4).Draw(r, "rounds") {
			n, m := rapid.IntRange(0, 3).Draw(r, "of the step"), rapid.IntRange(0, 2).Draw(r, "of somebody else")
			p.step(func() {
				for range n {
					change(r, p.dir)
				}
			})
			if rapid.Bool().Draw(r, "another process") {
				p.open(snapshot.Options{})
			}
			for range m {
				change(r, p.dir)
			}
		}
		before := tree(t, p.dir)
		choice := rapid.SampledFrom([]snapshot.Choice{snapshot.Keep, snapshot.Take, snapshot.Merge}).Draw(r, "choice")
		plan, err := p.history().Undo(rapid.IntRange(1, 4).Draw(r, "undone"))
		if errors.Is(err, snapshot.ErrNothing) {
			return
		}
		p.must(err)
		foreign := map[string]string{}
		for _, f := range plan.Conflicts() {
			foreign[f.Path] = state(f.Path)
		}
		out, err := plan.Apply(func(snapshot.PlannedFile) snapshot.Choice { return choice })
		p.must(err)
		if choice == snapshot.Keep {
			for path, was := range foreign {
				if got := state(path); got != was {
					r.Fatalf("%s was %s and is %s", path, was, got)
				}
			}
		}
		if len(out.Changed) == 0 {
			if got := tree(t, p.dir); got != before {
				r.Fatalf("nothing was done, and the tree is\n%s\nwas\n%s", got, before)
			}
			return
		}
		if out := p.redo(); len(out.Left) > 0 {
			r.Fatalf("left by the redo: %+v", out.Left)
		}
		if got := tree(t, p.dir); got != before {
			r.Fatalf("undo and redo give\n%s\nwant\n%s", got, before)
		}
	})
}

// state is one file as text.
func state(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "(none)"
	}
	if to, err := os.Readlink(path); err == nil {
		return "link to " + to
	}
	data, _ := os.ReadFile(path)
	return fmt.Sprintf("%s %q", info.Mode(), data)
}
