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

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/files/watch"
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

// tree names all folders but those that are called ignored.
func tree(dir string, _ bool, fn func(dir string) bool) {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
		case e.Name() == "ignored":
			return filepath.SkipDir
		case !fn(path):
			return filepath.SkipAll
		}
		return nil
	})
}

// grows changes a file in a way that its size shows, until that is reported: its folder may not be watched yet.
func (b *bench) grows(name string) {
	b.t.Helper()
	n := 0
	if !await.Until(func() bool {
		n++
		b.put(name, strings.Repeat("x", n))
		return slices.Contains(b.all(), "change "+name)
	}) {
		b.t.Fatalf("changes of %s are not reported: %q", name, b.all())
	}
}

func TestAllFilesOfATreeAreReported(t *testing.T) {
	for name, o := range map[string]watch.Options{"watched": {}, "compared": {Poll: true}, "partly watched": {Limit: 3}} {
		t.Run(name, func(t *testing.T) {
			o.Quiet, o.Every, o.Folders = time.Millisecond, 5*time.Millisecond, tree
			b := newBench(t, o)
			b.put("a/one.txt", "one")
			b.put("b/deep/er/two.txt", "two")
			b.put("ignored/three.txt", "three")
			b.w.FollowTree(b.dir)
			b.w.FollowTree(b.dir)
			b.grows("a/one.txt")
			b.grows("b/deep/er/two.txt")
			b.put("b/deep/new.txt", "x")
			b.sees("add b/deep/new.txt")
			if err := os.Remove(b.path("b/deep/new.txt")); err != nil {
				t.Fatal(err)
			}
			b.sees("unlink b/deep/new.txt")
			b.put("c/of/its/own.txt", "x") // folders that come later
			b.sees("add c/of/its/own.txt")
			b.grows("c/of/its/own.txt")
			if err := os.Rename(b.path("c"), b.path("a/moved")); err != nil {
				t.Fatal(err)
			}
			b.sees("add a/moved/of/its/own.txt")
			b.grows("a/moved/of/its/own.txt")
			b.put("ignored/three.txt", "other")
			if err := os.RemoveAll(b.path("b")); err != nil {
				t.Fatal(err)
			}
			b.sees("unlink b/deep/er/two.txt")
			b.put("b/deep/er/two.txt", "back")
			b.sees("add b/deep/er/two.txt")
			for _, e := range b.all() {
				if strings.Contains(e, "ignored") || strings.HasSuffix(e, " a") || strings.HasSuffix(e, " c/of") {
					t.Errorf("reported: %s", e)
				}
			}
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

// largeTree makes a tree of files, ten in a folder. LATHE_BENCH_FILES is the number of files, such as 200000.
func largeTree(b *testing.B) (dir string, name func(i int) string) {
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
	name = func(i int) string {
		return filepath.Join(dir, fmt.Sprint(i/1000), fmt.Sprint(i/10), fmt.Sprint(i)+".go")
	}
	for i := range n {
		if i%10 == 0 {
			if err := os.MkdirAll(filepath.Dir(name(i)), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name(i), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir, name
}

// BenchmarkFollowInALargeTree follows a tree and 500 files of it until a change of the last one is reported, and then
// until the last folder of the tree is watched. It measures the time of both, the processor time and the memory.
func BenchmarkFollowInALargeTree(b *testing.B) {
	dir, name := largeTree(b)
	var first, all, used, memory float64
	for b.Loop() {
		seen := make(chan struct{}, 1)
		watched := make(chan struct{})
		w := watch.New(watch.Options{Quiet: time.Nanosecond, Changed: func([]watch.Event) {
			select {
			case seen <- struct{}{}:
			default:
			}
		}, Folders: func(dir string, _ bool, fn func(string) bool) {
			files.Folders(dir, fn)
			close(watched)
		}})
		before, began, mem := processorTime(), time.Now(), heap()
		w.FollowTree(dir)
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
		first += time.Since(began).Seconds()
		<-watched
		all, used, memory = all+time.Since(began).Seconds(), used+(processorTime()-before).Seconds(), memory+heap()-mem
		w.Close()
	}
	b.ReportMetric(first*1000/float64(b.N), "ms-first")
	b.ReportMetric(all/float64(b.N), "s-all")
	b.ReportMetric(used/float64(b.N), "s-cpu")
	b.ReportMetric(memory/float64(b.N), "MB-heap")
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

func watchesHere() bool { return runtime.GOOS == "linux" }
