package language_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
)

// sees waits for an event.
func (s *seat) sees(want event.Body) {
	s.t.Helper()
	has := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Contains(s.events, want)
	}
	if !await.Until(has) {
		s.t.Fatalf("no %+v in %+v", want, s.events)
	}
}

// watched makes sure that the watcher follows a.txt, which the model has read.
func (s *seat) watched() {
	s.t.Helper()
	s.put("a.txt", "one\ntwo\nthree\n")
	s.put("marker.txt", "x")
	s.call("Read", map[string]any{"file_path": "a.txt"})
	n := 0
	if !await.Until(func() bool {
		n++
		s.put("marker.txt", strings.Repeat("x", n%50+1))
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.events) > 0
	}) {
		s.t.Fatal("nothing is watched")
	}
}

func TestAFileThatSomebodyElseChangesIsReportedOnceWithItsDiff(t *testing.T) {
	s := newSeat(t)
	s.watched()
	s.put("a.txt", "one\n2\nthree\n")
	s.sees(event.FileChanged{Path: s.path("a.txt"), Op: "change"})
	got := s.step()
	for _, want := range []string{"a.txt was changed", "-two", "+2", "<system-reminder>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "marker") {
		t.Errorf("a file that the model does not know is reported: %s", got)
	}
	if again := s.step(); again != "" {
		t.Errorf("reported twice: %s", again)
	}
	told := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Contains(s.hooks, "change a.txt")
	}
	if !await.Until(told) {
		t.Errorf("hooks were told %q", s.hooks)
	}
}

func TestAFileThatTheModelEditedAndSomebodyElseChangesIsReportedWithItsDiff(t *testing.T) {
	s := newSeat(t)
	s.watched()
	s.call("Edit", map[string]any{"file_path": "a.txt", "old_string": "two", "new_string": "zwei"})
	s.sees(event.FileChanged{Path: s.path("a.txt"), Op: "change"})
	s.call("Write", map[string]any{"file_path": "b.txt", "content": "eins\nzwei\n"})
	s.sees(event.FileChanged{Path: s.path("b.txt"), Op: "add"})
	s.step()
	s.mu.Lock()
	s.events = nil
	s.mu.Unlock()
	s.put("a.txt", "one\nzwei\n3\n")
	s.put("b.txt", "eins\n2\n")
	s.sees(event.FileChanged{Path: s.path("a.txt"), Op: "change"})
	s.sees(event.FileChanged{Path: s.path("b.txt"), Op: "change"})
	got := s.step()
	for _, want := range []string{"a.txt was changed", "-three", "+3", "b.txt was changed", "-zwei", "+2"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "-two") {
		t.Errorf("its own edit is reported: %s", got)
	}
}

func TestTheAgentsOwnChangesAreNotReportedToIt(t *testing.T) {
	s := newSeat(t)
	s.watched()
	s.call("Edit", map[string]any{"file_path": "a.txt", "old_string": "two", "new_string": "zwei"})
	s.sees(event.FileChanged{Path: s.path("a.txt"), Op: "change"})
	if got := s.step(); got != "" {
		t.Errorf("its edit is reported: %s", got)
	}
	s.mu.Lock()
	s.events = nil
	s.mu.Unlock()
	s.call("Bash", map[string]any{"command": "printf 'drei\\nvier\\n' > a.txt"})
	s.sees(event.FileChanged{Path: s.path("a.txt"), Op: "change"})
	if got := s.step(); got != "" {
		t.Errorf("its command is reported: %s", got)
	}
}

func TestAnotherBranchIsAnEvent(t *testing.T) {
	s := newSeat(t)
	s.git("init", "-q", "-b", "main")
	s.git("commit", "-q", "--allow-empty", "-m", "one")
	s.watched()
	s.git("checkout", "-q", "-b", "other")
	has := func(branch string) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return slices.ContainsFunc(s.events, func(b event.Body) bool {
				c, ok := b.(event.BranchChanged)
				return ok && c.Branch == branch && len(c.Head) == 40
			})
		}
	}
	if !await.Until(has("other")) {
		t.Fatalf("%+v", s.events)
	}
	s.mu.Lock()
	s.events = nil
	s.mu.Unlock()
	s.git("commit", "-q", "--allow-empty", "-m", "two")
	if !await.Until(has("other")) { // another commit
		t.Fatalf("%+v", s.events)
	}
}

func TestANeighbourThatGitIgnoresIsNoEvent(t *testing.T) {
	s := newSeat(t)
	s.git("init", "-q")
	s.put(".gitignore", "*.log\n")
	s.watched()
	s.put("x.log", "x")
	s.put("y.txt", "y")
	s.sees(event.FileChanged{Path: s.path("y.txt"), Op: "add"})
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.events, func(b event.Body) bool {
		c, ok := b.(event.FileChanged)
		return ok && strings.HasSuffix(c.Path, ".log")
	}) {
		t.Errorf("%+v", s.events)
	}
}

func TestTheSettingsLeaveFilesOutOfTheWatcher(t *testing.T) {
	s := newSeat(t)
	s.conf.Settings.Watcher.Ignore = []string{"generated/**", "**/*.tmp"}
	s.watched()
	s.put("x.tmp", "x")
	s.put("y.txt", "y")
	s.sees(event.FileChanged{Path: s.path("y.txt"), Op: "add"})
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.events, func(b event.Body) bool {
		c, ok := b.(event.FileChanged)
		return ok && strings.HasSuffix(c.Path, ".tmp")
	}) {
		t.Errorf("%+v", s.events)
	}
}

func TestEveryFileOfTheWorkingFolderIsWatched(t *testing.T) {
	s := newSeat(t)
	s.git("init", "-q")
	s.put(".gitignore", "build/\n")
	s.put("deep/er/x.txt", "x")
	s.put("build/y.txt", "y")
	s.watched()
	n := 0
	has := func(path string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.events, func(b event.Body) bool {
			c, ok := b.(event.FileChanged)
			return ok && c.Path == path
		})
	}
	if !await.Until(func() bool {
		n++
		s.put("build/y.txt", strings.Repeat("y", n%50+2))
		s.put("deep/er/x.txt", strings.Repeat("x", n%50+2))
		return has(s.path("deep/er/x.txt"))
	}) {
		t.Fatal("a file that nobody read is not watched")
	}
	s.put("new/folder/z.txt", "z")
	if !await.Until(func() bool { return has(s.path("new/folder/z.txt")) }) {
		t.Error("a folder that came later is not watched")
	}
	if has(s.path("build/y.txt")) {
		t.Error("a file in a folder that git ignores is reported")
	}
}

func TestARepositoryThatComesLaterIsFollowed(t *testing.T) {
	s := newSeat(t)
	s.watched()
	s.git("init", "-q", "-b", "main")
	s.git("commit", "-q", "--allow-empty", "-m", "one")
	s.put("b.txt", "x")
	s.call("Read", map[string]any{"file_path": "b.txt"})
	branch := 0
	if !await.Until(func() bool {
		branch++
		s.git("checkout", "-q", "-b", "other"+strings.Repeat("x", branch))
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.events, func(b event.Body) bool {
			c, ok := b.(event.BranchChanged)
			return ok && strings.HasPrefix(c.Branch, "other")
		})
	}) {
		t.Error("its branch is not followed")
	}
}

func TestAFileThatAHookWantsIsFollowedThoughNobodyReadIt(t *testing.T) {
	s := newSeat(t)
	n := 0
	if !await.Until(func() bool {
		n++
		s.put(".wanted", strings.Repeat("x", n%50+1))
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.hooks) > 0
	}) {
		t.Fatal("no hook was told")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasSuffix(s.hooks[0], " .wanted") {
		t.Errorf("%q", s.hooks)
	}
}

func TestASearchFindsAFileThatSomebodyElseMadeAfterTheSameSearch(t *testing.T) {
	s := newSeat(t)
	s.watched()
	search := map[string]any{"pattern": "*.made"}
	if got := s.call("Glob", search); strings.Contains(got, "b.made") {
		t.Fatalf("%q", got)
	}
	s.put("b.made", "x")
	s.sees(event.FileChanged{Path: s.path("b.made"), Op: "add"})
	if got := s.call("Glob", search); !strings.Contains(got, "b.made") {
		t.Errorf("the old answer is given again: %q", got)
	}
}
