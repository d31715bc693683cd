package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWalkComesInOrderAndFollowsNoLinks(t *testing.T) {
	dir, outside := realTemp(t), realTemp(t)
	write(t, filepath.Join(outside, "secret"), "")
	for _, f := range []string{"b/z", "b/a/x", "a/1", "c", "a.txt", ".hidden/h"} {
		write(t, filepath.Join(dir, f), "")
	}
	want := []string{"a.txt", "c", ".hidden/h", "a/1", "b/z", "b/a/x"}
	if os.Symlink(outside, filepath.Join(dir, "link")) == nil && os.Symlink("..", filepath.Join(dir, "b/up")) == nil {
		want = []string{"a.txt", "c", "link", ".hidden/h", "a/1", "b/up", "b/z", "b/a/x"}
	}
	if got := walked(t, dir, WalkOptions{}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWalkGoesPastWhatItCannotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every folder")
	}
	dir := realTemp(t)
	write(t, filepath.Join(dir, "shut/a"), "")
	write(t, filepath.Join(dir, "z"), "")
	if err := os.Chmod(filepath.Join(dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "shut"), 0o755) })
	r := newRoots(t, dir)
	p, _ := r.Resolve(dir, dir)
	sum, err := r.Walk(context.Background(), p, WalkOptions{}, func(Entry) error { return nil })
	if err != nil || sum.Unreadable != 1 || sum.Files != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestWalkHasABottom(t *testing.T) {
	dir := realTemp(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range maxDepth + 50 { // deeper than any path may be long
		if err := root.Mkdir("d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(root.Close(), next.WriteFile("f", nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		root = next
	}
	_ = root.Close()
	r := newRoots(t, dir)
	p, _ := r.Resolve(dir, dir)
	sum, err := r.Walk(context.Background(), p, WalkOptions{Ignore: true}, func(Entry) error { return nil })
	if err != nil || sum.TooDeep != 1 || sum.Files != maxDepth {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestWalkEndsWhenToldTo(t *testing.T) {
	dir := realTemp(t)
	for _, f := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, f), "")
	}
	r := newRoots(t, dir)
	p, _ := r.Resolve(dir, dir)
	n := 0
	if _, err := r.Walk(context.Background(), p, WalkOptions{}, func(Entry) error { n++; return SkipAll }); err != nil ||
		n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Walk(ctx, p, WalkOptions{}, func(Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	own := errors.New("own")
	if _, err := r.Walk(context.Background(), p, WalkOptions{}, func(Entry) error { return own }); !errors.Is(err, own) {
		t.Errorf("own error: %v", err)
	}
}

func TestWalkTakesEveryName(t *testing.T) {
	dir := realTemp(t)
	names := []string{"new\nline", "tab\there", "\xff\xfe", "*?[", "-rf", " ", "…"}
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o644); err != nil {
			t.Skipf("the file system refuses %q: %v", n, err)
		}
	}
	got := walked(t, dir, WalkOptions{Ignore: true})
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("got %q", got)
	}
}

func BenchmarkWalk(b *testing.B) {
	out, err := os.ReadFile("/proc/self/maps") // any Linux
	if err != nil || !strings.Contains(string(out), "/") {
		b.Skip("needs a large tree")
	}
	start := "/usr/local/go/src"
	r, err := NewRoots(start)
	if err != nil {
		b.Skip(err)
	}
	defer r.Close()
	p, _ := r.Resolve(start, start)
	files := 0
	for b.Loop() {
		sum, err := r.Walk(context.Background(), p, WalkOptions{Ignore: true}, func(Entry) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		files = sum.Files
	}
	b.ReportMetric(float64(files), "files/op")
}
