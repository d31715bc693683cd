package files

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// leftovers fails if a temporary file is there.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), TempPrefix) {
			t.Errorf("%s was left", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("%s is %q (%v), want %q", path, got, err, content)
	}
}

func replace(t *testing.T, target *Target, data string) (Replaced, error) {
	t.Helper()
	info, err := target.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return target.Replace([]byte(data), info)
}

func TestReplaceKeepsTheMode(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "run.sh")
	write(t, path, "old")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	done, err := replace(t, hold(t, newRoots(t, dir), dir, "run.sh"), "new content")
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "new content")
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", info.Mode())
	}
	if done.Created || done.InPlace || done.Info.Size() != int64(len("new content")) {
		t.Errorf("%+v", done)
	}
	leftovers(t, dir)
}

func TestReplaceMakesFoldersAndHonoursUmask(t *testing.T) {
	dir := realTemp(t)
	done, err := replace(t, hold(t, newRoots(t, dir), dir, "a/b/c.txt"), "x")
	if err != nil || !done.Created {
		t.Fatalf("%+v, %v", done, err)
	}
	wantFile(t, filepath.Join(dir, "a/b/c.txt"), "x")
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want, _ := os.Stat(plain)
	got, _ := os.Stat(filepath.Join(dir, "a/b/c.txt"))
	if got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v", got.Mode(), want.Mode())
	}
	leftovers(t, dir)
}

func TestReplaceWritesThroughALink(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, "real.txt"), "old")
	if err := os.Symlink("real.txt", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if _, err := replace(t, hold(t, newRoots(t, dir), dir, "link"), "new"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(dir, "real.txt"), "new")
	if info, _ := os.Lstat(filepath.Join(dir, "link")); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is a file now")
	}
}

func TestReplaceTellsOfHardLinks(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, "a"), "old")
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Skip(err)
	}
	done, err := replace(t, hold(t, newRoots(t, dir), dir, "a"), "new")
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(dir, "a"), "new")
	wantFile(t, filepath.Join(dir, "b"), "old")
	if done.Links != 1 {
		t.Errorf("%d other links", done.Links)
	}
}

func TestReplaceRefusesAReadOnlyFile(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, "a"), "old")
	if err := os.Chmod(filepath.Join(dir, "a"), 0o444); err != nil {
		t.Fatal(err)
	}
	_, err := replace(t, hold(t, newRoots(t, dir), dir, "a"), "new")
	leftovers(t, dir)
	if os.Geteuid() == 0 { // root may write it, as with any other program; the mode stays
		wantFile(t, filepath.Join(dir, "a"), "new")
		if info, statErr := os.Stat(filepath.Join(dir, "a")); err != nil || statErr != nil || info.Mode().Perm() != 0o444 {
			t.Errorf("error %v, %v", err, info.Mode())
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("error %v", err)
	}
	wantFile(t, filepath.Join(dir, "a"), "old")
}

func TestReplaceWantsTheFileItWasShown(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "a")
	r := newRoots(t, dir)

	fresh := hold(t, r, dir, "a")
	write(t, path, "somebody's")
	if _, err := fresh.Replace([]byte("mine"), nil); !errors.Is(err, ErrChanged) {
		t.Errorf("over a file that came meanwhile: %v", err)
	}
	target := hold(t, r, dir, "a")
	info, _ := target.Stat()
	write(t, path, "changed again")
	if _, err := target.Replace([]byte("mine"), info); !errors.Is(err, ErrChanged) {
		t.Errorf("over a changed file: %v", err)
	}
	wantFile(t, path, "changed again")

	outside := filepath.Join(realTemp(t), "secret")
	write(t, outside, "secret")
	target = hold(t, r, dir, "a")
	info, _ = target.Stat()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Skip(err)
	}
	if _, err := target.Replace([]byte("mine"), info); err == nil {
		t.Error("wrote over a link")
	}
	if _, _, err := target.Read(100); !errors.Is(err, ErrMoved) {
		t.Errorf("read through a link: %v", err)
	}
	wantFile(t, outside, "secret")
	leftovers(t, dir)
}

func TestAFileInTheWayOfAFolderIsAnError(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, "file"), "x")
	r := newRoots(t, dir)
	p, err := r.Resolve("file/below/x", dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Hold(p); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("error %v", err)
	}
}

// TestNamedTemporaryFilesTakeTheirPlaceToo covers systems without files that have no name.
func TestNamedTemporaryFilesTakeTheirPlaceToo(t *testing.T) {
	dir := realTemp(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	named := func() *staged {
		write(t, filepath.Join(dir, TempPrefix+"x"), "new")
		return &staged{dir: root, name: TempPrefix + "x"}
	}
	s := named()
	if err := s.putNew("a"); err != nil {
		t.Fatal(err)
	}
	s.discard()
	s = named()
	if err := s.putNew("a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file that is there: %v", err)
	}
	s.discard()
	write(t, filepath.Join(dir, "b"), "old")
	old, err := root.Lstat("b")
	if err != nil {
		t.Fatal(err)
	}
	s = named()
	if err := s.putOver("b", old); err != nil {
		t.Fatal(err)
	}
	s.discard()
	wantFile(t, filepath.Join(dir, "a"), "new")
	wantFile(t, filepath.Join(dir, "b"), "new")
	leftovers(t, dir)
}

// TestAKilledProcessLeavesNothingBehind kills processes that write one file again and again.
func TestAKilledProcessLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a temporary file may be left")
	}
	dir := realTemp(t)
	path := filepath.Join(dir, "a")
	write(t, path, strings.Repeat("0", 100_000))
	probe, err := newRoots(t, dir).handle(dir)
	if err != nil {
		t.Fatal(err)
	}
	anonymous, err := openAnonymous(probe, 0o600)
	if err != nil {
		t.Skipf("this file system has no files without a name: %v", err)
	}
	_ = anonymous.Close()
	left := 0
	for i := range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelperWritesForEver$")
		cmd.Env = append(os.Environ(), "LATHE_TEST_WRITE="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 1 + i { // it prints a byte for each write
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		got, err := os.ReadFile(path)
		if err != nil || len(got) != 100_000 || strings.Trim(string(got), string(got[:1])) != "" {
			t.Fatalf("round %d: half a file of %d bytes (%v)", i, len(got), err)
		}
		names, _ := os.ReadDir(dir)
		left += len(names) - 1
		for _, n := range names[:max(0, len(names)-1)] {
			_ = os.Remove(filepath.Join(dir, n.Name()))
		}
	}
	if left > 1 { // between the link and the rename there is an instant
		t.Errorf("%d temporary files were left", left)
	}
}

// TestHelperWritesForEver is the process that is killed.
func TestHelperWritesForEver(t *testing.T) {
	dir := os.Getenv("LATHE_TEST_WRITE")
	if dir == "" {
		t.Skip("only as a child of another test")
	}
	target := hold(t, newRoots(t, dir), dir, "a")
	for i := 0; ; i++ {
		if _, err := replace(t, target, strings.Repeat(string(rune('a'+i%26)), 100_000)); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.Write([]byte{'.'})
	}
}

func BenchmarkReplace(b *testing.B) {
	dir := realTemp(b)
	r := newRoots(b, dir)
	write(b, filepath.Join(dir, "a"), "x")
	target := hold(b, r, dir, "a")
	data := []byte(strings.Repeat("a line of text\n", 700))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		info, _ := target.Stat()
		if _, err := target.Replace(data, info); err != nil {
			b.Fatal(err)
		}
	}
}
