package watch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
)

func TestEachSystemHasMeans(t *testing.T) {
	for _, c := range []struct {
		goos                 string
		grows, holds, misses bool
		full                 string
	}{
		{"linux", false, false, false, "inotify"},
		{"darwin", true, false, true, "ulimit -n"},
		{"freebsd", true, false, true, "ulimit -n"},
		{"windows", false, true, true, "watched folders"},
		{"plan9", false, false, true, "reports no changes"},
	} {
		m := meansOf(c.goos)
		if m.grows != c.grows || m.holds != c.holds || m.misses != c.misses || m.limit <= 0 || !strings.Contains(m.full,
			c.full) {
			t.Errorf("%s: %+v", c.goos, m)
		}
		dir := t.TempDir()
		for _, name := range []string{"a", "b"} {
			write(t, filepath.Join(dir, name), "x")
		}
		want := 1
		if c.grows {
			want = 3
		}
		if got := m.takes(dir); got != want {
			t.Errorf("%s: a folder of two files takes %d, want %d", c.goos, got, want)
		}
	}
}

// imitate makes a source that has the limits of another system, on top of this one's reports.
func imitate(m means) *source { return &source{how: &m} }

// seen collects what a watcher reports.
type seen struct {
	mu      sync.Mutex
	events  []Event
	notices []string
}

func (s *seen) has(path string, op Op) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.events, Event{path, op})
}

func start(t *testing.T, from *source) (*Watcher, *seen, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{}
	w := New(Options{
		source: from, Quiet: time.Millisecond, Every: 5 * time.Millisecond,
		Changed: func(list []Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, list...)
		},
		Notice: func(text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notices = append(s.notices, text)
		},
		Folders: func(dir string, _ bool, fn func(string) bool) {
			_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.IsDir() && !fn(path) {
					return filepath.SkipAll
				}
				return nil
			})
		},
	})
	t.Cleanup(w.Close)
	return w, s, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sees changes a file until the change is reported.
func sees(t *testing.T, s *seen, path string) {
	t.Helper()
	n := 0
	if !await.Until(func() bool {
		n++
		write(t, path, strings.Repeat("y", n))
		return s.has(path, Changed) || s.has(path, Added)
	}) {
		t.Fatalf("no change of %s", path)
	}
}

// watched are the folders that a source watches.
func (s *source) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for dir := range s.by {
		out = append(out, dir)
	}
	return out
}

func TestAFolderThatOutgrowsTheLimitIsCompared(t *testing.T) {
	from := imitate(means{limit: 20, takes: entries, grows: true, misses: true, full: "The limit is reached"})
	w, s, dir := start(t, from)
	grows, stays := filepath.Join(dir, "grows"), filepath.Join(dir, "stays")
	for _, d := range []string{grows, stays} {
		write(t, filepath.Join(d, "a.txt"), "one")
	}
	w.FollowTree(dir)
	if !await.Until(func() bool { return len(from.watched()) == 3 }) {
		t.Fatalf("watched: %q", from.watched())
	}
	for i := range 30 {
		write(t, filepath.Join(grows, strconv.Itoa(i)), "x")
	}
	if !await.Until(func() bool { return !slices.Contains(from.watched(), grows) }) {
		t.Fatalf("still watched: %q, %d taken", from.watched(), from.total)
	}
	if !slices.Contains(from.watched(), stays) {
		t.Errorf("not watched any more: %s", stays)
	}
	sees(t, s, filepath.Join(grows, "a.txt"))
	sees(t, s, filepath.Join(stays, "a.txt"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notices) != 1 || !strings.HasPrefix(s.notices[0], "The limit is reached: ") {
		t.Errorf("notices: %q", s.notices)
	}
}

func TestWhatAFolderTakesIsGivenBack(t *testing.T) {
	from := imitate(means{limit: 100, takes: entries, grows: true})
	feed, err := from.feed()
	if err != nil {
		t.Skip("the system reports nothing: ", err)
	}
	defer feed.Close()
	taken := func() int {
		from.mu.Lock()
		defer from.mu.Unlock()
		return from.total
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "x")
	if err := feed.Add(dir); err != nil || taken() != 2 {
		t.Fatal(taken(), err)
	}
	write(t, filepath.Join(dir, "b"), "x")
	if !await.Until(func() bool { return taken() == 3 }) {
		t.Errorf("a file that came: %d", taken())
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { return taken() == 2 }) {
		t.Errorf("a file that went: %d", taken())
	}
	if feed.Remove(dir); taken() != 0 {
		t.Errorf("at the end: %d", taken())
	}
}

func TestAFeedThatNeedsItsFoldersHasThemBeyondTheLimit(t *testing.T) {
	from := imitate(means{limit: 3, takes: entries, grows: true})
	feed, err := from.feed()
	if err != nil {
		t.Skip("the system reports nothing: ", err)
	}
	defer feed.Close()
	other, err := from.feed()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	feed.Needed = true
	dir := t.TempDir()
	for i := range 5 {
		write(t, filepath.Join(dir, strconv.Itoa(i)), "x")
	}
	if err := feed.Add(dir); err != nil {
		t.Fatal(err)
	}
	if err := other.Add(t.TempDir()); !errors.Is(err, ErrLimit) {
		t.Errorf("another folder: %v", err)
	}
	for i := range 20 { // what grows is let go in the background: the first reports would come in any case
		name := "new" + strconv.Itoa(i)
		write(t, filepath.Join(dir, name), "x")
		if !await.Until(func() bool {
			select {
			case e := <-feed.Events:
				return filepath.Base(e.Name) == name
			default:
				return false
			}
		}) {
			t.Fatalf("no report of %s, watched: %v", name, feed.Watches(dir))
		}
	}
}

func TestWhereWatchesHoldFoldersOnlyTheUpperOnesAreWatched(t *testing.T) {
	from := imitate(means{limit: 1000, takes: one, holds: true, misses: true, full: "The limit is reached"})
	w, s, dir := start(t, from)
	deep := filepath.Join(dir, "a", "deep", "er")
	write(t, filepath.Join(deep, "x.txt"), "one")
	write(t, filepath.Join(dir, ".git", "refs", "heads", "main"), "one")
	w.FollowTree(dir)
	w.FollowAlone(filepath.Join(dir, ".git", "refs", "heads", "main"))
	want := []string{dir, filepath.Join(dir, "a"), filepath.Join(dir, ".git"), filepath.Join(dir, ".git", "refs", "heads")}
	if !await.Until(func() bool {
		list := from.watched()
		return !slices.ContainsFunc(want, func(d string) bool { return !slices.Contains(list, d) })
	}) {
		t.Fatalf("watched: %q", from.watched())
	}
	sees(t, s, filepath.Join(deep, "x.txt"))
	for _, d := range from.watched() {
		if strings.HasPrefix(d, filepath.Join(dir, "a", "deep")) {
			t.Errorf("watched: %s", d)
		}
	}
}

func TestFollowedFilesAreComparedWhereAReportMayBeMissing(t *testing.T) {
	from := imitate(means{limit: 1000, takes: one, misses: true})
	w, s, dir := start(t, from)
	path := filepath.Join(dir, "a.txt")
	write(t, path, "one")
	w.Follow(path)
	if !await.Until(func() bool { return len(from.watched()) == 1 }) {
		t.Fatal("not watched")
	}
	if err := from.fs.Remove(dir); err != nil { // no report comes any more, and nobody is told
		t.Fatal(err)
	}
	sees(t, s, path)
}
