package tool_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// unmarked is the content of a file of a vector: ␍ stands for a carriage return, ∅ at the end for no line end.
func unmarked(data []byte) string {
	s := strings.ReplaceAll(string(data), "␍", "\r")
	if cut, ok := strings.CutSuffix(s, "∅\n"); ok {
		return cut
	}
	return s
}

// vector is one patch with the files before and after it.
type vector struct {
	name, patch string
	in, out     map[string]string
	err, result []string
}

func vectors(t testing.TB, file string) []vector {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(string(data), "==== "), "\n"), "\n==== ") {
		a := txtar.Parse([]byte(part + "\n"))
		v := vector{name: strings.TrimSpace(string(a.Comment)), in: map[string]string{}, out: map[string]string{}}
		for _, f := range a.Files {
			switch {
			case f.Name == "patch":
				v.patch = unmarked(f.Data)
			case f.Name == "error":
				v.err = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			case f.Name == "result":
				v.result = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			case strings.HasPrefix(f.Name, "in/"):
				v.in[f.Name[3:]] = unmarked(f.Data)
			case strings.HasPrefix(f.Name, "out/"):
				v.out[f.Name[4:]] = unmarked(f.Data)
			}
		}
		if v.err != nil {
			v.out = v.in
		}
		out = append(out, v)
	}
	return out
}

// all is the content of every file of the project.
func (b *bench) all() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(b.dir, path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestPatchesOfModelsApplyAsTheyMean(t *testing.T) {
	list := vectors(t, "testdata/patch/vectors.txt")
	if len(list) < 100 {
		t.Fatalf("%d vectors", len(list))
	}
	for _, v := range list {
		t.Run(strings.ReplaceAll(v.name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			for name, text := range v.in {
				b.put(name, text)
				b.read(name)
			}
			r, err := b.call("ApplyPatch", in{"patch": v.patch})
			if (err != nil) != (v.err != nil) {
				t.Fatalf("error %v, want %q", err, v.err)
			}
			if err != nil {
				wantIn(t, err.Error(), v.err...)
			} else {
				wantIn(t, text(r), v.result...)
			}
			if got := b.all(); fmt.Sprint(got) != fmt.Sprint(v.out) {
				t.Errorf("files %q\nwant  %q", got, v.out)
			}
		})
	}
}

func TestPatchesNeedTheFilesToBeKnown(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\ntwo\nthree\n")
	update := func(hunk string) in {
		return in{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n" + hunk + "*** End Patch"}
	}
	b.fails("ApplyPatch", update("+blind\n"), "has not been read")
	b.fails("ApplyPatch", in{"patch": "*** Begin Patch\n*** Add File: a.txt\n+blind\n*** End Patch"}, "has not been read",
		"*** Update File: a.txt")
	b.must("ApplyPatch", update(" one\n-two\n+2\n")) // its lines prove that it is known
	b.must("Edit", in{"file_path": "a.txt", "old_string": "2", "new_string": "two"})
	b.put("a.txt", "one\ntwo\nthree\nfour\n")
	b.fails("ApplyPatch", update("-two\n+2\n"), "modified since it was read", "Read it again")
	b.read("a.txt")
	b.must("ApplyPatch", update("-two\n+2\n"))
	b.must("ApplyPatch", in{"patch": "*** Begin Patch\n*** Add File: a.txt\n+all new\n*** End Patch"})
	if got := b.content("a.txt"); got != "all new\n" {
		t.Errorf("%q", got)
	}
	b.put("b.txt", "unread\n")
	b.fails("ApplyPatch", in{"patch": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-all " +
		"new\n+x\n*** End Patch"}, "cannot move", "has not been read")
}

func TestPatchesAskForEveryPath(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "x\n")
	b.put("real/r.txt", "r\n")
	if err := os.Symlink("real", filepath.Join(b.dir, "link")); err != nil {
		t.Skip(err)
	}
	plan, err := b.prepare("ApplyPatch", in{"patch": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: " +
		"moved.txt\n*** Add File: ../outside.txt\n+x\n*** Update File: link/r.txt\n@@\n-r\n+s\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	var got []string
	for _, a := range plan.Accesses {
		if a.Kind != permission.Write {
			t.Errorf("%+v", a)
		}
		got = append(got, a.Target)
	}
	want := []string{filepath.Join(b.dir, "a.txt"), filepath.Join(b.dir, "moved.txt"), filepath.Join(filepath.Dir(b.dir),
		"outside.txt"), filepath.Join(b.dir, "real/r.txt")}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	d, ok := plan.Preview.(event.Diff)
	if !ok || len(d.Each()) != 3 || !strings.Contains(d.Each()[2].Unified, "-r\n+s\n") {
		t.Errorf("%+v", plan.Preview)
	}
	if plan.Parallel || !plan.Writes() {
		t.Errorf("%+v", plan)
	}
}

func TestAPatchKeepsAndSetsModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	b := newBench(t)
	if err := os.Chmod(b.put("run.sh", "a\n"), 0o750); err != nil {
		t.Fatal(err)
	}
	b.put("plain.txt", "p\n")
	b.must("ApplyPatch", in{"patch": "diff --git a/run.sh b/bin/run.sh\nrename from run.sh\nrename to bin/run.sh\n" +
		"diff --git a/plain.txt b/plain.txt\nold mode 100644\nnew mode 100755\n" +
		"diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+x\n"})
	for name, want := range map[string]fs.FileMode{"bin/run.sh": 0o750, "plain.txt": 0o755, "new.sh": 0o755} {
		info, err := os.Stat(filepath.Join(b.dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, info, err, want)
		}
	}
}

func TestAPatchIsRefusedWhenAFileChangedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "a\n")
	b.put("b.txt", "b\n")
	plan, err := b.prepare("ApplyPatch", in{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update " +
		"File: b.txt\n@@\n-b\n+B\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	b.put("b.txt", "somebody else\n")
	if _, err := plan.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "No file was changed") {
		t.Errorf("%v", err)
	}
	if got := b.all(); got["a.txt"] != "a\n" || got["b.txt"] != "somebody else\n" {
		t.Errorf("%v", got)
	}
}

func TestWhatAPatchWroteIsKnown(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "a\n")
	b.read("a.txt")
	b.must("ApplyPatch", in{"patch": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n-a\n+b\n*** Add " +
		"File: n.txt\n+n\n*** End Patch"})
	b.must("Write", in{"file_path": "c.txt", "content": "all\n"})
	b.must("Write", in{"file_path": "n.txt", "content": "all\n"})
	b.must("Write", in{"file_path": "a.txt", "content": "again\n"}) // it is gone, so nothing is lost
}

// FuzzPatches: no patch makes it panic; one that fails changes nothing; one that applies leaves every line that it does
// not remove.
func FuzzPatches(f *testing.F) {
	for _, v := range vectors(f, "testdata/patch/vectors.txt") {
		for _, text := range v.in {
			f.Add(v.patch, text)
		}
	}
	f.Fuzz(func(t *testing.T, p, content string) {
		if strings.Contains(p, "..") || strings.Contains(p, "/") && strings.Contains(p, "~") || strings.Contains(p, ": /") ||
			strings.Contains(p, "\t/") {
			return // outside of the folder
		}
		b := newBench(t)
		for _, name := range []string{"f.txt", "a.txt"} {
			b.put(name, content)
			_, _ = b.call("Read", in{"file_path": name})
		}
		before := b.all()
		plan, err := b.prepare("ApplyPatch", in{"patch": p})
		if err == nil {
			for _, a := range plan.Accesses {
				if !strings.HasPrefix(a.Target, b.dir) {
					plan.Close()
					return
				}
			}
			_, err = plan.Run(t.Context())
			plan.Close()
		}
		after := b.all()
		if err != nil && fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("it failed (%v) and changed files: %q, %q", err, before, after)
		}
	})
}
