package tool_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
)

func TestWriteMakesAFileAndItsFolders(t *testing.T) {
	b := newBench(t)
	r, err := b.call("Write", in{"file_path": "a/b/c.txt", "content": "one\ntwo\n"})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "File created: ")
	if b.content("a/b/c.txt") != "one\ntwo\n" {
		t.Error("wrong content")
	}
	path := filepath.Join(b.dir, "a/b/c.txt")
	meta := map[string]any{
		"type": "create", "filePath": path, "content": "one\ntwo\n", "originalFile": nil,
		"structuredPatch": []event.Hunk{{NewStart: 1, NewLines: 2, Lines: []string{"+one", "+two"}}},
	}
	if d := cmp.Diff(meta, r.Meta); d != "" {
		t.Error(d)
	}
	if v := r.View.(event.Diff); !v.Created || v.Added != 2 || v.Removed != 0 {
		t.Errorf("%+v", v)
	}
	// The model wrote it, so it may write and edit it again.
	b.must("Edit", in{"file_path": "a/b/c.txt", "old_string": "two", "new_string": "2"})
	wantIn(t, b.must("Write", in{"file_path": "a/b/c.txt", "content": "three\n"}), "has been updated: +1 -2 lines. No need to read it back.")
}

func TestWriteWantsToHaveReadWhatItReplaces(t *testing.T) {
	b := newBench(t)
	path := b.put("a.txt", numberedLines(100))
	write := in{"file_path": "a.txt", "content": "new\n"}
	b.fails("Write", write, "has not been read", "Read it first")
	b.must("Read", in{"file_path": "a.txt", "limit": 60})
	b.fails("Write", write, "only a part", "Read the whole file")
	b.must("Read", in{"file_path": "a.txt", "offset": 61})
	if err := os.WriteFile(path, []byte("other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.fails("Write", write, "modified since it was read")
	b.read("a.txt")
	b.must("Write", write)
	if b.content("a.txt") != "new\n" {
		t.Error("wrong content")
	}
}

func TestWriteAfterReadingInParts(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", numberedLines(100))
	b.must("Read", in{"file_path": "a.txt", "offset": 50})
	b.must("Read", in{"file_path": "a.txt", "limit": 49})
	b.must("Write", in{"file_path": "a.txt", "content": "new\n"})
}

func TestWriteKeepsTheForm(t *testing.T) {
	b := newBench(t)
	b.put("dos.txt", "\xEF\xBB\xBFa\r\nb\r\n")
	b.read("dos.txt")
	b.must("Write", in{"file_path": "dos.txt", "content": "x\ny\n"})
	if got := b.content("dos.txt"); got != "\xEF\xBB\xBFx\r\ny\r\n" {
		t.Errorf("%q", got)
	}
}

func TestWriteRefusesFoldersAndReadOnlyFiles(t *testing.T) {
	b := newBench(t)
	b.put("dir/x", "")
	b.fails("Write", in{"file_path": "dir", "content": "x"}, "folder")
	b.fails("Write", in{"file_path": "dir/x/y", "content": "x"}, "is a file")
	path := b.put("ro.txt", "x\n")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	b.read("ro.txt")
	if os.Geteuid() == 0 {
		b.must("Write", in{"file_path": "ro.txt", "content": "y"}) // root may
		return
	}
	b.fails("Write", in{"file_path": "ro.txt", "content": "y"}, "read-only", "chmod")
}

func TestWriteTellsOfHardLinks(t *testing.T) {
	b := newBench(t)
	path := b.put("a.txt", "x\n")
	if err := os.Link(path, filepath.Join(b.dir, "b.txt")); err != nil {
		t.Skip(err)
	}
	b.read("a.txt")
	wantIn(t, b.must("Write", in{"file_path": "a.txt", "content": "y\n"}), "1 more hard links")
	if b.content("b.txt") != "x\n" {
		t.Error("the other name changed")
	}
}

func TestAChangeMakesCachedResultsDoubtful(t *testing.T) {
	b := newBench(t)
	b.put("src/a.go", "package a\n")
	b.put("lib/b.go", "package b\n")
	b.read("src/a.go")
	b.read("lib/b.go")
	b.must("Glob", in{"pattern": "*.go", "path": "src"})
	b.must("Grep", in{"pattern": "package", "path": "lib"})
	b.must("Write", in{"file_path": "src/c.go", "content": "package c\n"})
	wantIn(t, b.must("Glob", in{"pattern": "*.go", "path": "src"}), "src/c.go")
	before := b.env.Cache.Stats()
	b.must("Grep", in{"pattern": "package", "path": "lib"})
	b.read("lib/b.go")
	if after := b.env.Cache.Stats(); after.Hits != before.Hits+2 {
		t.Errorf("what the change does not touch was dropped: %+v, %+v", before, after)
	}
	b.env.Cache.InvalidateSearches()
	if after := b.env.Cache.Stats(); after.Invalidations != before.Invalidations+2 {
		t.Errorf("%+v, %+v", before, after)
	}
}

func TestASubagentsEnvIsItsOwn(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "x\n")
	b.put("b.txt", "x\n")
	b.read("a.txt")
	child := &bench{t: t, env: b.env.Clone(), dir: b.dir}
	child.must("Edit", in{"file_path": "a.txt", "old_string": "x", "new_string": "y"}) // the parent's reads count
	child.read("b.txt")
	b.fails("Edit", in{"file_path": "b.txt", "old_string": "x", "new_string": "y"}, "has not been read")
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "y", "new_string": "z"}, "modified since it was read")
	child.env.Dir.Set(filepath.Join(b.dir, "sub"))
	if b.env.Dir.Get() != b.dir {
		t.Error("the parent moved")
	}
	child.must("TodoWrite", in{"todos": []any{map[string]any{"content": "x", "status": "pending"}}})
	if len(b.env.Todos.Get()) != 0 {
		t.Error("the parent's list changed")
	}
}

func TestTodosAreCheckedAndKept(t *testing.T) {
	b := newBench(t)
	item := func(content, status string) map[string]any {
		return map[string]any{"content": content, "status": status, "activeForm": content + "ing"}
	}
	b.fails("TodoWrite", in{"todos": []any{item("x", "soon")}}, `"soon"`, "in_progress")
	b.fails("TodoWrite", in{"todos": []any{item(" ", "pending")}}, "task 1", "no content")
	r, err := b.call("TodoWrite", in{"todos": []any{
		item("a", "completed"), item("b", "in_progress"),
		item("c", "in_progress"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "1 done, 2 in progress, 0 to do", "one at a time")
	want := []event.TodoItem{
		{Content: "a", Status: "completed", ActiveForm: "aing"},
		{Content: "b", Status: "in_progress", ActiveForm: "bing"},
		{Content: "c", Status: "in_progress", ActiveForm: "cing"},
	}
	if d := cmp.Diff(want, b.env.Todos.Get()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(event.Todo{Items: want}, r.View); d != "" {
		t.Error(d)
	}
	r, err = b.call("TodoWrite", in{"todos": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"oldTodos": want, "newTodos": []event.TodoItem{}}, r.Meta); d != "" {
		t.Error(d)
	}
	plan, err := b.prepare("TodoWrite", in{"todos": []any{}})
	if err != nil || plan.Parallel || plan.Writes() {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestHostilePathsDoNotHangOrLeak(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/environ", "/proc/1/mem"} {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if r, err := b.call("Read", in{"file_path": path}); err == nil && len(text(r)) > 0 {
			t.Errorf("Read %s: %.80s", path, text(r))
		}
		if r, err := b.call("Grep", in{"pattern": ".", "path": path, "output_mode": "content"}); err == nil &&
			!strings.Contains(text(r), "No matches") {
			t.Errorf("Grep %s: %.80s", path, text(r))
		}
		if _, err := b.call("Write", in{"file_path": path, "content": "x"}); err == nil {
			t.Errorf("Write %s worked", path)
		}
	}
}

// A large content is held a few times while it is written, not dozens of times.
func TestWritingALargeFileTakesLittleMemory(t *testing.T) {
	b := newBench(t)
	content := strings.Repeat("a line of some length that is not empty\n", 128<<10) // 5 MB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := b.call("Write", in{"file_path": "large.txt", "content": content})
	runtime.ReadMemStats(&after)
	if err != nil || b.content("large.txt") != content {
		t.Fatalf("%v", err)
	}
	if times := int(after.TotalAlloc-before.TotalAlloc) / len(content); times > 12 { // three of them are the call itself
		t.Errorf("%d times the content was allocated", times)
	}
	wantIn(t, text(r), "File created: ")
	if d, ok := r.View.(event.Diff); !ok || !d.Created || d.Added != 131072 {
		t.Errorf("%T", r.View)
	}
}
