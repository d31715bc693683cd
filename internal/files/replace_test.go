package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
