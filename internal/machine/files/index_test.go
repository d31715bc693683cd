package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// indexed makes an index of a folder with files.
func indexed(t testing.TB, files ...string) (*Index, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		put(t, filepath.Join(dir, f), "")
	}
	roots, err := NewRoots(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := NewIndex(roots)
	x.state.every, x.wait = time.Millisecond, time.Minute
	t.Cleanup(func() {
		if err := errors.Join(x.Close(), roots.Close()); err != nil {
			t.Error(err)
		}
	})
	return x, dir
}

// A folder that does not answer does not hold up who is done with the index.
func TestTheEndOfAnIndexWaitsForItsReadingOnlyForAWhile(t *testing.T) {
	x, _ := indexed(t)
	<-x.lock // somebody reads
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	x.lock <- struct{}{}
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func searched(t testing.TB, x *Index, text string) []string {
	t.Helper()
	found, err := x.Search(context.Background(), text, 50)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range found {
		if m.Dir != strings.HasSuffix(m.Path, "/") {
			t.Errorf("%q: folder is %t", m.Path, m.Dir)
		}
		out = append(out, m.Path)
	}
	return out
}

// eventually searches until the result is as wanted. It polls: the kernel reports changes when it likes, and folders
// that are not watched are compared during searches only.
func eventually(t *testing.T, x *Index, text string, want ...string) {
	t.Helper()
	var got []string
	slices.Sort(want)
	if !await.Until(func() bool {
		got = searched(t, x, text)
		slices.Sort(got)
		return slices.Equal(got, want)
	}) {
		t.Fatalf("a search for %q never finds %q, but %q", text, want, got)
	}
}

func TestSearchFindsFilesAndFoldersByTheirLetters(t *testing.T) {
	x, dir := indexed(t, "cmd/lathe/main.go", "internal/tui/editor/view.go", "README.md", "secret/key", ".git/config",
		"a b.txt")
	put(t, filepath.Join(dir, ".gitignore"), "secret/\n")
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"main", []string{"cmd/lathe/main.go"}},
		{"edview", []string{"internal/tui/editor/view.go"}},
		{"editor", []string{"internal/tui/editor/", "internal/tui/editor/view.go"}},
		{"lathe/", []string{"cmd/lathe/", "cmd/lathe/main.go"}},
		{"readme", []string{"README.md"}},
		{"ab", []string{"a b.txt"}},
		{"config", nil},
		{"key", nil},
		{"", []string{"cmd/", "internal/", ".gitignore", "README.md", "a b.txt"}},
		{"secret/k", []string{"secret/key"}}, // ignored, but named
	} {
		if diff := cmp.Diff(tt.want, searched(t, x, tt.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestSearchMarksWhatMatched(t *testing.T) {
	x, _ := indexed(t, "dir/Größe.go")
	found, err := x.Search(context.Background(), "öe", 5)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if diff := cmp.Diff(Match{Path: "dir/Größe.go", Marks: []int{6, 8}}, found[0]); diff != "" {
		t.Error(diff)
	}
}

func TestTheIndexKeepsUpWithChanges(t *testing.T) {
	for name, change := range map[string]func(*Index){
		"watched":        func(*Index) {},
		"not watched":    func(x *Index) { x.state.watched = true },
		"partly watched": func(x *Index) { x.state.watched, x.state.watch = true, newWatching(); limitWatches(x, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, dir := indexed(t, "a/one.txt", "b/two.txt")
			change(x)
			eventually(t, x, "txt", "a/one.txt", "b/two.txt")

			put(t, filepath.Join(dir, "a/deep/er/three.txt"), "")
			eventually(t, x, "txt", "a/one.txt", "b/two.txt", "a/deep/er/three.txt")

			put(t, filepath.Join(dir, "a/deep/er/four.txt"), "")
			eventually(t, x, "txt", "a/one.txt", "b/two.txt", "a/deep/er/three.txt", "a/deep/er/four.txt")

			check(t, os.Rename(filepath.Join(dir, "a/deep"), filepath.Join(dir, "b/moved")))
			eventually(t, x, "txt", "a/one.txt", "b/two.txt", "b/moved/er/three.txt", "b/moved/er/four.txt")

			put(t, filepath.Join(dir, ".gitignore"), "moved\n")
			eventually(t, x, "txt", "a/one.txt", "b/two.txt")

			put(t, filepath.Join(dir, "b/.ignore"), "!moved\ntwo.txt\n")
			eventually(t, x, "txt", "a/one.txt", "b/moved/er/three.txt", "b/moved/er/four.txt")

			check(t, os.Remove(filepath.Join(dir, "b/.ignore")))
			eventually(t, x, "txt", "a/one.txt", "b/two.txt")

			check(t, os.RemoveAll(filepath.Join(dir, "a")))
			eventually(t, x, "txt", "b/two.txt")

			// A folder in the place of another one, with its name.
			put(t, filepath.Join(dir, "c/five.txt"), "")
			check(t, os.RemoveAll(filepath.Join(dir, "b")), os.Rename(filepath.Join(dir, "c"), filepath.Join(dir, "b")))
			eventually(t, x, "txt", "b/five.txt")
		})
	}
}

func limitWatches(x *Index, n int) {
	if x.state.watch != nil {
		x.state.watch.limit = n
	}
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestTheIndexReadsAllAgainWhenEventsWereLost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no watcher here")
	}
	x, dir := indexed(t, "a/one.txt")
	eventually(t, x, "txt", "a/one.txt")
	w := x.state.watch
	w.feed.Remove(filepath.Join(dir, "a")) // so that no change is reported
	put(t, filepath.Join(dir, "a/two.txt"), "")
	w.mu.Lock()
	w.notes.all = true
	w.mu.Unlock()
	eventually(t, x, "txt", "a/one.txt", "a/two.txt")
}

func TestAddedRootsAreSearchedByTheirWholePath(t *testing.T) {
	x, _ := indexed(t, "here.txt")
	eventually(t, x, "txt", "here.txt")
	other, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	put(t, filepath.Join(other, "there.txt"), "")
	check(t, x.roots.Add(other, false))
	eventually(t, x, "txt", "here.txt", filepath.ToSlash(other)+"/there.txt")
	check(t, x.roots.Add(other, true))
	eventually(t, x, "txt", "here.txt")
}

func TestARootThatComesBackIsReadAgain(t *testing.T) {
	x, dir := indexed(t, "a.txt")
	eventually(t, x, "txt", "a.txt")
	check(t, os.RemoveAll(dir))
	eventually(t, x, "txt")
	check(t, x.roots.Close()) // lets go of the folder that is no more
	put(t, filepath.Join(dir, "b.txt"), "")
	eventually(t, x, "txt", "b.txt")
}

func TestPathsOutsideAreLookedUpInTheirFolder(t *testing.T) {
	x, dir := indexed(t, "in/a.txt", "in/.hidden", "in/sub/b.txt")
	in := filepath.ToSlash(filepath.Join(dir, "in"))
	for _, tt := range []struct {
		text string
		want []string
	}{
		{in + "/", []string{in + "/a.txt", in + "/sub/"}},
		{in + "/at", []string{in + "/a.txt"}},
		{in + "/.h", []string{in + "/.hidden"}},
		{"../" + filepath.Base(dir) + "/in/su", []string{"../" + filepath.Base(dir) + "/in/sub/"}},
		{in + "/nowhere/x", nil},
	} {
		if diff := cmp.Diff(tt.want, searched(t, x, tt.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestWhatWasUsedRanksHigher(t *testing.T) {
	x, _ := indexed(t, "a/view.go", "b/view.go", "c/view.go")
	x.Used("c/view.go")
	x.Used("gone.go")
	if got := searched(t, x, "view"); len(got) != 3 || got[0] != "c/view.go" {
		t.Errorf("found %q", got)
	}
	if got := searched(t, x, ""); got[0] != "c/view.go" || slices.Contains(got, "gone.go") {
		t.Errorf("found %q", got)
	}
}

func TestLinksAreNamesAndNotFollowed(t *testing.T) {
	x, dir := indexed(t, "real/file.txt")
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here:", err)
	}
	if diff := cmp.Diff([]string{"link"}, searched(t, x, "link")); diff != "" {
		t.Error(diff)
	}
}

func TestASearchThatNobodyWaitsForEnds(t *testing.T) {
	x, _ := indexed(t, "a.txt")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Search(ctx, "a", 5); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if got := searched(t, x, "a.txt"); len(got) != 1 {
		t.Errorf("after that %q is found", got)
	}
}

func TestWhileEverythingIsReadOneFolderIsLookedAt(t *testing.T) {
	x, _ := indexed(t, "main.go", "src/main.go", "src/other.go")
	x.wait = time.Millisecond
	<-x.lock // as if a very large tree was being read
	for _, tt := range []struct {
		text string
		want []Match
	}{
		{"mn", []Match{{Path: "main.go", Marks: []int{0, 3}}}},
		{"src/m", []Match{{Path: "src/main.go", Marks: []int{4}}}},
		{"", []Match{{Path: "main.go"}, {Path: "src/", Dir: true}}},
	} {
		found, err := x.Search(context.Background(), tt.text, 5)
		if diff := cmp.Diff(tt.want, found); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", tt.text, err, diff)
		}
	}
	x.lock <- struct{}{}
	x.wait = time.Minute
	if got := searched(t, x, "main"); len(got) != 2 {
		t.Errorf("after that %q is found", got)
	}
}

func TestLettersMoreFindTheSameAsFromTheBeginning(t *testing.T) {
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("d%d/fi_le%d.Go", i%7, i))
	}
	x, _ := indexed(t, names...)
	text := ""
	for _, c := range "d3file3 g" {
		text += string(c)
		narrowed := searched(t, x, text)
		<-x.lock
		x.state.last = x.state.last.none()
		x.lock <- struct{}{}
		if diff := cmp.Diff(searched(t, x, text), narrowed); diff != "" {
			t.Fatalf("%q (-from the beginning +narrowed):\n%s", text, diff)
		}
	}
}

func TestManyMaySearchWhileFilesChange(t *testing.T) {
	x, dir := indexed(t, "a/one.txt", "b/two.txt")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 50 {
				if _, err := x.Search(context.Background(), "txt"[:1+i%3], 5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		put(t, filepath.Join(dir, fmt.Sprintf("c%d/new%d.txt", i%5, i)), "")
	}
	group.Wait()
	if !await.Until(func() bool { return len(searched(t, x, "new")) == 50 }) { // as in eventually
		t.Fatal("a search never finds all new files")
	}
}

func (narrowed) none() narrowed { return narrowed{} }

func TestMoreFilesThanTheLimitAreNotKept(t *testing.T) {
	x, _ := indexed(t, "a/1", "a/2", "b/3", "b/4", "c/5")
	x.state.limit = 3
	searched(t, x, "x")
	if x.state.count != 4 {
		t.Errorf("%d files are kept, want those of the two first folders", x.state.count)
	}
	if diff := cmp.Diff([]string{"c/5"}, searched(t, x, "c/5")); diff != "" {
		t.Error(diff)
	}
}

// big fills an index with n files as a large repository has them, without any disk.
func big(n int) *Index {
	x := NewIndex(&Roots{roots: []Root{{Path: "/nowhere"}}})
	t := &tree{root: x.roots.roots[0], folders: map[string]*folder{}}
	parts := []string{
		"internal", "components", "service", "controller", "handler", "model", "view", "editor", "render",
		"session", "parser", "stream",
	}
	suffix := []string{".go", "_test.go", ".ts", ".md", "Factory.java", ".json"}
	for i := 0; x.state.count < n; i++ {
		rel := fmt.Sprintf("%s/%s%d/%s", parts[i%12], parts[i/12%12], i/144, parts[i*7%12])
		f := &folder{rel: rel, dir: rel + "/", mask: fuzzy.Mask(rel + "/")}
		for j := range 12 {
			name := fmt.Sprintf("%s_%s%d%s", parts[(i+j)%12], parts[j*5%12], j, suffix[(i+j)%6])
			f.names += name
			f.ends = append(f.ends, uint32(len(f.names)))
			f.masks = append(f.masks, fuzzy.Mask(name))
		}
		x.put(t, f)
	}
	t.folders[""] = &folder{}
	t.list()
	x.state.trees, x.state.swept, x.state.watched = []*tree{t}, time.Now().Add(time.Hour), true
	return x
}

func BenchmarkSearch100000(b *testing.B) {
	x := big(100_000)
	for _, text := range []string{"e", "ed", "editor", "tuiedit", "sess 7 test", "internal/edi", "zzz"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.state.last = narrowed{}
				searched(b, x, text)
			}
			b.ReportMetric(float64(x.state.count), "files")
		})
	}
	b.Run("key by key", func(b *testing.B) {
		const word = "sessioneditor"
		for b.Loop() {
			for i := range word {
				searched(b, x, word[:i+1])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(word)), "µs/key")
	})
}

func BenchmarkIndexMemory(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := big(100_000)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(x.state.count), "B/file")
	}
}

// BenchmarkIndexScan reads a real tree of 20,000 files, and watches its 440 folders.
func BenchmarkIndexScan(b *testing.B) {
	var names []string
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("pkg%d/sub%d/file%d.go", i%40, i%400, i))
	}
	x, _ := indexed(b, names...)
	b.ResetTimer()
	for b.Loop() {
		x.state.trees, x.state.count = nil, 0
		x.update()
	}
	b.ReportMetric(float64(x.state.count), "files")
}
