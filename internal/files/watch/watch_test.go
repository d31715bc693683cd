package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/await"
	"github.com/lathe-dev/lathe/internal/files/watch"
)

type bench struct {
	t   testing.TB
	dir string
	w   *watch.Watcher

	mu      sync.Mutex
	batches [][]watch.Event
	notices []string
}

func newBench(t testing.TB, o watch.Options) *bench {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir}
	o.Changed = func(batch []watch.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.batches = append(b.batches, batch)
	}
	o.Notice = func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notices = append(b.notices, text)
	}
	b.w = watch.New(o)
	t.Cleanup(b.w.Close)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) put(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// all are the events so far, as "op name".
func (b *bench) all() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, batch := range b.batches {
		for _, e := range batch {
			rel, _ := filepath.Rel(b.dir, e.Path)
			out = append(out, string(e.Op)+" "+filepath.ToSlash(rel))
		}
	}
	return out
}

// follows follows files and makes sure that the watcher has begun.
func (b *bench) follows(names ...string) {
	b.t.Helper()
	for _, n := range names {
		b.w.Follow(b.path(n))
	}
	n := 0
	b.w.Follow(b.path("marker"))
	if !await.Until(func() bool { n++; b.put("marker", strings.Repeat("x", n)); return len(b.all()) > 0 }) {
		b.t.Fatal("nothing is watched")
	}
	b.forget()
}

func (b *bench) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batches = nil
}

// sees waits for an event.
func (b *bench) sees(want string) {
	b.t.Helper()
	if !await.Until(func() bool { return slices.Contains(b.all(), want) }) {
		b.t.Fatalf("no %q in %q", want, b.all())
	}
}

func TestChangesOfFollowedFilesAndTheirNeighboursAreReported(t *testing.T) {
	for _, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll %v", poll), func(t *testing.T) {
			b := newBench(t, watch.Options{Quiet: time.Millisecond, Every: 5 * time.Millisecond, Poll: poll})
			b.put("sub/a.txt", "one")
			b.follows("sub/a.txt", "sub/new.txt")
			b.put("sub/a.txt", "other")
			b.sees("change sub/a.txt")
			b.put("sub/new.txt", "x")
			b.sees("add sub/new.txt")
			b.forget()
			b.put("other.tmpx", "replaced")
			if err := os.Rename(b.path("other.tmpx"), b.path("sub/a.txt")); err != nil {
				t.Fatal(err)
			}
			b.sees("change sub/a.txt") // an atomic replace is a change
			if err := os.Remove(b.path("sub/new.txt")); err != nil {
				t.Fatal(err)
			}
			b.sees("unlink sub/new.txt")
			if err := os.RemoveAll(b.path("sub")); err != nil {
				t.Fatal(err)
			}
			b.sees("unlink sub/a.txt")
			b.forget()
			b.put("sub/a.txt", "back")
			b.sees("add sub/a.txt") // also after its folder was gone
		})
	}
}

func TestABurstIsOneBatch(t *testing.T) {
	b := newBench(t, watch.Options{Quiet: 300 * time.Millisecond, Every: 20 * time.Millisecond})
	b.follows("a.txt")
	for i := range 200 {
		b.put("a.txt", strings.Repeat("x", i+1))
	}
	b.sees("add a.txt")
	b.mu.Lock()
	defer b.mu.Unlock()
	count := 0
	for _, batch := range b.batches {
		for _, e := range batch {
			if filepath.Base(e.Path) == "a.txt" {
				count++
			}
		}
	}
	if count != 1 {
		t.Errorf("200 changes are %d events", count)
	}
}

func TestTemporaryFilesOfEditorsAreNotReported(t *testing.T) {
	b := newBench(t, watch.Options{Quiet: time.Millisecond})
	b.put("a.txt", "one")
	b.follows("a.txt")
	for _, name := range []string{"4913", ".a.txt.swp", "a.txt~", ".lathe-tmp-1"} {
		b.put(name, "x")
	}
	b.put("a.txt", "other")
	b.sees("change a.txt")
	for _, e := range b.all() {
		if e != "change a.txt" && !strings.HasSuffix(e, " marker") {
			t.Errorf("reported: %s", e)
		}
	}
}

func TestBeyondTheLimitFilesAreComparedAndOneNoticeSaysSo(t *testing.T) {
	b := newBench(t, watch.Options{Quiet: time.Millisecond, Every: 5 * time.Millisecond, Limit: 1})
	for _, dir := range []string{"a", "b", "c"} {
		b.put(dir+"/x.txt", "one")
	}
	b.follows("a/x.txt", "b/x.txt", "c/x.txt")
	for _, dir := range []string{"a", "b", "c"} {
		b.put(dir+"/x.txt", "other")
		b.sees("change " + dir + "/x.txt")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.notices) > 1 || len(b.notices) == 1 && !strings.Contains(b.notices[0], "max_user_watches") {
		t.Errorf("notices: %q", b.notices)
	}
	if len(b.notices) == 0 && watchesHere() {
		t.Error("nobody was told")
	}
}

func TestAFileThatIsFollowedAloneBringsNoNeighbours(t *testing.T) {
	b := newBench(t, watch.Options{Quiet: time.Millisecond, Every: 5 * time.Millisecond})
	b.put("git/HEAD", "one")
	b.w.FollowAlone(b.path("git/HEAD"))
	b.follows()
	b.put("git/index.lock", "x")
	b.put("git/HEAD", "other")
	b.sees("change git/HEAD")
	if slices.ContainsFunc(b.all(), func(e string) bool { return strings.Contains(e, "lock") }) {
		t.Errorf("%q", b.all())
	}
}

func TestAClosedWatcherReportsNothing(t *testing.T) {
	b := newBench(t, watch.Options{Quiet: time.Millisecond})
	b.put("a.txt", "one")
	b.follows("a.txt")
	b.w.Close()
	b.forget()
	b.put("a.txt", "other")
	b.w.Follow(b.path("b.txt"))
	b.w.Close()
	if got := b.all(); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// BenchmarkFollowInALargeTree follows 500 files of a tree until a change of the last one is reported. LATHE_BENCH_FILES is the number of
// files, such as 200000.
func BenchmarkFollowInALargeTree(b *testing.B) {
	n := 2000
	if v := os.Getenv("LATHE_BENCH_FILES"); v != "" {
		if _, err := fmt.Sscan(v, &n); err != nil {
			b.Fatal(err)
		}
	}
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	name := func(i int) string { return filepath.Join(dir, fmt.Sprint(i%1000), fmt.Sprint(i)) }
	for i := range n {
		if i < 1000 {
			if err := os.Mkdir(filepath.Dir(name(i)), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name(i), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		seen := make(chan struct{}, 1)
		w := watch.New(watch.Options{Quiet: time.Nanosecond, Changed: func([]watch.Event) {
			select {
			case seen <- struct{}{}:
			default:
			}
		}})
		for i := range 500 {
			w.Follow(name(i))
		}
		for waiting := true; waiting; {
			if err := os.WriteFile(name(499), fmt.Append(nil, time.Now()), 0o600); err != nil {
				b.Fatal(err)
			}
			select {
			case <-seen:
				waiting = false
			case <-time.After(time.Millisecond):
			}
		}
		w.Close()
	}
}

func watchesHere() bool { return runtime.GOOS == "linux" }
