package tool_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadNumbersLinesAsCatDoes(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\n\ttwo\n\nfour")
	want := "1\tone\n2\t\ttwo\n3\t\n4\tfour\n"
	if got := b.must("Read", in{"file_path": "a.txt"}); got != want {
		t.Errorf("got %q", got)
	}
}

func TestReadShowsAPageAndHowToGoOn(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", numberedLines(2500))
	first := b.must("Read", in{"file_path": "a.txt"})
	wantIn(t, first, "1\tline 1\n", "2000\tline 2000\n", "Showing lines 1-2000 of 2500. Use offset=2001 to read on.")
	if strings.Contains(first, "line 2001\n") {
		t.Error("more than 2000 lines")
	}
	rest := b.must("Read", in{"file_path": "a.txt", "offset": 2001})
	wantIn(t, rest, "2001\tline 2001\n", "2500\tline 2500\n")
	if strings.Contains(rest, "[") {
		t.Errorf("a note after the last line: %s", rest[len(rest)-100:])
	}
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 3, "limit": 2}),
		"3\tline 3\n4\tline 4\n\n[Showing lines 3-4 of 2500. Use offset=5 to read on.]")
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 9999}),
		"The file has only 2500 lines; offset 9999 is past its end.")
}

func TestReadStopsBeforeAResultIsTooLong(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", strings.Repeat(strings.Repeat("x", 999)+"\n", 100))
	got := b.must("Read", in{"file_path": "a.txt"})
	if len(got) > 50_000 {
		t.Errorf("%d characters", len(got))
	}
	wantIn(t, got, "Showing lines 1-47 of 100. Use offset=48 to read on.")
	b.env.Limits.ReadLines = 10
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 2}), "Showing lines 2-11 of 100.")
}

func TestReadCutsLongLines(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", strings.Repeat("é", 2500)+"\nshort\n")
	got := b.must("Read", in{"file_path": "a.txt"})
	wantIn(t, got, strings.Repeat("é", 2000)+"… [cut: the line has 2500 characters]\n2\tshort", "1 long lines are cut.")
}

func TestReadSaysWhatIsEmptyMissingOrNotText(t *testing.T) {
	b := newBench(t)
	b.put("empty", "")
	b.put("src/config.go", "package a\n")
	b.put("data.bin", "ab\x00cd")
	b.put("doc.pdf", "%PDF-1.7 ...")
	wantIn(t, b.must("Read", in{"file_path": "empty"}), "The file is empty.")
	b.fails("Read", in{"file_path": "src/confg.go"}, "does not exist", b.dir, "src/config.go")
	b.fails("Read", in{"file_path": "config.go"}, "src/config.go")
	b.fails("Read", in{"file_path": "data.bin"}, "binary file", "5 bytes")
	b.fails("Read", in{"file_path": "doc.pdf"}, "PDF", "Bash")
	b.fails("Read", in{"file_path": ""}, "empty")
	b.fails("Read", in{"file_path": "src/config.go/x"}, "does not exist")
}

func TestReadTellsNoNamesOutsideTheRoots(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret_plan.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.fails("Read", in{"file_path": filepath.Join(outside, "secret_plan.md")}, "does not exist")
	if strings.Contains(got, "secret_plan.txt") {
		t.Errorf("a name nobody allowed to see: %s", got)
	}
}

func TestReadListsAFolder(t *testing.T) {
	b := newBench(t)
	b.put("dir/sub/x", "")
	b.put("dir/b.txt", "")
	b.put("dir/.env", "")
	r, err := b.call("Read", in{"file_path": "dir"})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "A folder with 3 entries:\n.env\nb.txt\nsub/\n")
	if d := cmp.Diff(event.Listing{Title: "dir", Items: []string{".env", "b.txt", "sub/"}, Total: 3}, r.View); d != "" {
		t.Error(d)
	}
}

func TestReadShowsImages(t *testing.T) {
	b := newBench(t)
	var whole bytes.Buffer
	if err := png.Encode(&whole, image.NewGray(image.Rect(0, 0, 300, 200))); err != nil {
		t.Fatal(err)
	}
	data := whole.Bytes()
	b.put("p.png", string(data))
	r, err := b.call("Read", in{"file_path": "p.png"})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := r.Parts[len(r.Parts)-1].(llm.Media)
	if !ok || m.MIME != "image/png" || !bytes.Equal(m.Data, data) {
		t.Errorf("parts %T", r.Parts[len(r.Parts)-1])
	}
	for name, damaged := range map[string][]byte{
		"cut.png": data[:len(data)/2], "flipped.png": append(append(bytes.Clone(data[:60]), data[60]^1), data[61:]...),
		"head.png": []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)), "cut.jpg": append([]byte("\xff\xd8\xff\xe0"),
			make([]byte, 400)...),
		"cut.gif":  []byte("GIF89a\x10\x00\x10\x00\xf0\x00\x00"),
		"cut.webp": []byte("RIFF\xff\xff\x00\x00WEBPVP8 \x00\x00\x00\x00"),
	} {
		b.put(name, string(damaged))
		b.fails("Read", in{"file_path": name}, "the image is damaged")
	}
	for name, coded := range map[string]string{
		"lossless": "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
		"lossy":    "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
	} {
		data, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			t.Fatal(err)
		}
		b.put(name, string(data))
		if r, err := b.call("Read", in{"file_path": name}); err != nil ||
			!bytes.Equal(r.Parts[len(r.Parts)-1].(llm.Media).Data, data) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "lossless" { // any bytes are pixels of a lossy one
			clear(data[26:]) // the lengths and the header are right, the pixels are not
			b.put(name, string(data))
			b.fails("Read", in{"file_path": name}, "the image is damaged")
		}
	}
	b.put("huge.png", string(data[:8])+strings.Repeat("x", tool.ReadImageMax))
	b.fails("Read", in{"file_path": "huge.png"}, "the image is damaged")
}

func TestReadDecodesOtherEncodings(t *testing.T) {
	b := newBench(t)
	b.put("crlf", "a\r\nb\r\n")
	b.put("bom", "\xEF\xBB\xBFa\n")
	b.put("utf16", "\xff\xfea\x00\n\x00\xe9\x00")
	b.put("latin", "caf\xe9\n")
	for name, want := range map[string]string{
		"crlf": "1\ta\n2\tb\n", "bom": "1\ta\n", "utf16": "1\ta\n2\té\n",
	} {
		if got := b.must("Read", in{"file_path": name}); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	wantIn(t, b.must("Read", in{"file_path": "latin"}), "1\tcafé\n", "Latin-1")
}

func TestReadSkipsThroughAHugeFileWithoutHoldingIt(t *testing.T) {
	b := newBench(t)
	path := b.put("huge.txt", numberedLines(200_000))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(3 << 30); err != nil { // sparse
		t.Skip(err)
	}
	got := b.must("Read", in{"file_path": "huge.txt", "offset": 150_000, "limit": 2})
	wantIn(t, got, "150000\tline 150000\n150001\tline 150001\n", "of a file of 3.0 GB. Use offset=150002 to read on.")
}

func TestReadStreamsAsItReadsWhole(t *testing.T) {
	b := newBench(t)
	content := "\xEF\xBB\xBF" + strings.Repeat("0123456789abcdef\r\n", 100) + strings.Repeat("y", 3000) + "\n" + "last"
	big := content + strings.Repeat("\nz", tool.ReadWhole/2+1)
	b.put("small", content)
	b.put("big", big)
	for _, input := range []in{{"offset": 1, "limit": 3}, {"offset": 99, "limit": 3}, {"offset": 100, "limit": 2}} {
		input["file_path"] = "small"
		small := b.must("Read", input)
		input["file_path"] = "big"
		large := b.must("Read", input)
		a, _, _ := strings.Cut(small, "\n\n[")
		c, _, _ := strings.Cut(large, "\n\n[")
		if a != c {
			t.Errorf("%v: small %q, large %q", input, a, c)
		}
	}
}

func TestReadAnswersARepeatedReadBriefly(t *testing.T) {
	b := newBench(t)
	path := b.put("a.txt", numberedLines(50))
	there := map[string]bool{}
	b.env.InContext = func(id string) bool { return there[id] }
	b.must("Read", in{"file_path": "a.txt", "limit": 20})
	there[b.last] = true
	brief := unchangedHead
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "limit": 20}), brief)
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 5, "limit": 3}), "5\tline 5\n")
	if got := b.must("Read", in{"file_path": "a.txt", "offset": 15, "limit": 10}); strings.Contains(got, brief) {
		t.Error("lines that were not shown")
	}
	there = map[string]bool{}
	if got := b.must("Read", in{"file_path": "a.txt", "limit": 20}); strings.Contains(got, brief) {
		t.Error("the earlier result is gone from the conversation")
	}
	there[b.last] = true
	if err := os.WriteFile(path, []byte(numberedLines(51)), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := b.must("Read", in{"file_path": "a.txt", "limit": 20}); strings.Contains(got, brief) {
		t.Error("the file changed")
	}
	there[b.last] = true
	b.must("Edit", in{"file_path": "a.txt", "old_string": "line 7\n", "new_string": "line seven\n"})
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "limit": 20}), "line seven")
}

// tar, mv, cp -p and touch -r give another content the size and time of the old one.
func TestReadSeesAnotherContentOfTheSameSizeAndTime(t *testing.T) {
	b := newBench(t)
	b.env.InContext = func(string) bool { return true }
	path := b.put("a.txt", "one\n")
	for content, put := range map[string]func(string) error{
		"two\n": func(c string) error { return os.WriteFile(path, []byte(c), 0o644) },
		"six\n": func(c string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(c), 0o644), os.Rename(path+".new", path))
		},
	} {
		b.must("Read", in{"file_path": "a.txt"})
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(put(content), os.Chtimes(path, before.ModTime(), before.ModTime())); err != nil {
			t.Fatal(err)
		}
		wantIn(t, b.must("Read", in{"file_path": "a.txt"}), content)
		b.must("Edit", in{"file_path": "a.txt", "old_string": content, "new_string": content + "more\n"})
		b.put("a.txt", "one\n")
	}
	b.must("Read", in{"file_path": "a.txt"})
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	wantIn(t, b.must("Read", in{"file_path": "a.txt"}), unchangedHead) // touched only
}

func TestReadGivesItsStructuredOutput(t *testing.T) {
	b := newBench(t)
	b.put("a.go", "package a\nvar x int\n")
	r, err := b.call("Read", in{"file_path": "a.go", "offset": 2})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "text", "file": map[string]any{
		"filePath": filepath.Join(b.dir, "a.go"), "content": "var x int", "numLines": 1, "startLine": 2, "totalLines": 2,
	}}
	if d := cmp.Diff(want, r.Meta); d != "" {
		t.Error(d)
	}
	view := event.TextView{Text: "var x int", Path: filepath.Join(b.dir, "a.go"), Summary: "lines 2-2"}
	if d := cmp.Diff(view, r.View); d != "" {
		t.Error(d)
	}
}

func TestReadsAreServedFromTheCacheUntilTheFileChanges(t *testing.T) {
	b := newBench(t)
	path := b.put("a.txt", "one\n")
	read := func() string { return b.must("Read", in{"file_path": "a.txt"}) }
	read()
	read()
	if s := b.env.Cache.Stats(); s.Hits != 1 || s.Misses != 1 || s.Entries != 1 {
		t.Errorf("%+v", s)
	}
	if err := os.WriteFile(path, []byte("two\n"), 0o644); err != nil { // same size
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	wantIn(t, read(), "two")
	if s := b.env.Cache.Stats(); s.Hits != 1 || s.Misses != 2 || s.Invalidations != 1 {
		t.Errorf("%+v", s)
	}
}

// The kernel changes these files without a trace in size or times.
func TestReadOfAKernelFileIsAlwaysFresh(t *testing.T) {
	if _, err := os.Stat("/proc/uptime"); err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	b := newBench(t)
	b.env.InContext = func(string) bool { return true }
	first := b.must("Read", in{"file_path": "/proc/uptime"})
	for start := time.Now(); time.Since(start) < 5*time.Second; { // its clock has steps of 10 ms
		if next := b.must("Read", in{"file_path": "/proc/uptime"}); strings.Contains(next, "unchanged") {
			t.Fatalf("%q", next)
		} else if next != first {
			return
		}
	}
	t.Errorf("each read shows %q", first)
}

func BenchmarkReadSmallFile(b *testing.B) {
	bench := newBench(b)
	bench.put("a.go", strings.Repeat("a line of some text\n", 200))
	bench.env.Cache.Disable()
	for b.Loop() {
		bench.must("Read", in{"file_path": "a.go"})
	}
}

// Files of the kernel that wait for news look like empty files.
func TestReadAndGrepDoNotWaitForNews(t *testing.T) {
	const log = "/proc/kmsg"
	if f, err := os.Open(log); err != nil {
		t.Skipf("the kernel's log cannot be read here: %v", err)
	} else {
		_ = f.Close()
	}
	b := newBench(t)
	for range 2 { // the part that was read is gone from it
		_, _ = b.call("Read", in{"file_path": log})
	}
	if r, err := b.call("Grep", in{"pattern": "no such text", "path": log}); err == nil && !strings.Contains(text(r),
		"file has no end") {
		t.Errorf("Grep does not say that it stopped reading: %q", text(r))
	}
	ctx, cancel := context.WithCancel(context.Background())
	plan, err := b.prepare("Read", in{"file_path": log})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	cancel()
	if _, err := plan.Run(ctx); err == nil {
		t.Error("a read that was cancelled went on")
	}
}

func TestReadGivesADiffOfALongFile(t *testing.T) {
	b := newBench(t)
	ago := 40
	b.env.InContext = func(string) bool { return true }
	b.env.Ago = func(string) int { return ago }
	b.put("a.txt", numberedLines(300))
	b.must("Read", in{"file_path": "a.txt"})
	b.must("Edit", in{"file_path": "a.txt", "old_string": "line 7\n", "new_string": "seven\nand more\n"})
	want := changedHead + "@@ -4,7 +4,8 @@\n line 4\n line 5\n line 6\n-line 7\n+seven\n+and more\n line 8\n line 9\n" +
		" line 10\n"
	for range 2 { // a diff is given again: it is short, and needs the full text only
		if got := b.must("Read", in{"file_path": "a.txt"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// Lines that no result shows under these numbers are shown.
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 21, "limit": 5}), "21\tline 20\n")
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 21, "limit": 5}), unchangedHead)
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 22, "limit": 3}), "22\tline 21\n")
	b.must("Edit", in{"file_path": "a.txt", "old_string": "line 1\n", "new_string": ""})
	wantIn(t, b.must("Read", in{"file_path": "a.txt", "offset": 21, "limit": 5}), "21\tline 21\n")
	ago = 41
	wantIn(t, b.must("Read", in{"file_path": "a.txt"}), "300\tline 300\n")
}

func TestReadGivesTheWholeTextWhereADiffSavesLittle(t *testing.T) {
	b := newBench(t)
	there := true
	b.env.InContext = func(string) bool { return there }
	reread := func(before, after string) string {
		b.put("a.txt", before)
		b.must("Read", in{"file_path": "a.txt"})
		b.put("a.txt", after)
		return b.must("Read", in{"file_path": "a.txt"})
	}
	wantIn(t, reread(numberedLines(199), numberedLines(198)), "198\tline 198\n")
	long := numberedLines(300)
	wantIn(t, reread(long, strings.ReplaceAll(long, "5", "five")), "300\tline 300\n")
	wantIn(t, reread(long, numberedLines(301)), "+line 301\n")
	there = false
	wantIn(t, reread(long, numberedLines(301)), "301\tline 301\n")
}

// invoker runs calls as a model's are run.
func invoker(t *testing.T, env *tool.Env) func(name string, input in) string {
	set := agent.ToolSet{Version: 1, Tools: tool.All(env)}
	a := agent.New(agent.Config{
		Journal: agent.Journal{Transcript: &agent.Memory{}},
		Calls: agent.Calls{
			Tools: func(context.Context) (agent.ToolSet, error) { return set, nil },
			Authorize: func(context.Context, agent.Approval) (permission.Decision, error) {
				return permission.Decision{Effect: permission.Allow}, nil
			},
		},
	})
	n := 0
	return func(name string, input in) string {
		t.Helper()
		n++
		raw, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return a.Invoke(t.Context(), []llm.ToolCall{{ID: fmt.Sprintf("toolu_%d", n), Name: name, Input: raw}})[0].PlainText()
	}
}

// An edit of a file of which only a part was read leaves the rest unknown.
func TestAnEditDoesNotMakeTheRestOfAFileKnown(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", numberedLines(50))
	b.must("Read", in{"file_path": "a.txt", "limit": 10})
	b.must("Edit", in{"file_path": "a.txt", "old_string": "line 7\n", "new_string": "seven\n"})
	b.fails("Write", in{"file_path": "a.txt", "content": "short\n"}, "only a part")
	b.must("Read", in{"file_path": "a.txt"})
	b.must("Edit", in{"file_path": "a.txt", "old_string": "line 8\n", "new_string": "eight\n"})
	b.must("Write", in{"file_path": "a.txt", "content": "short\n"})
}

// After a compaction took the Read away, an edit alone does not show a file.
func TestAnEditOfAFileWhoseReadIsGoneDoesNotShowIt(t *testing.T) {
	b := newBench(t)
	a := invoker(t, b.env)
	b.put("a.txt", numberedLines(50))
	a("Read", in{"file_path": "a.txt"})
	a("Edit", in{"file_path": "a.txt", "old_string": "line 7\n", "new_string": "seven\n"})
	b.env.Reads.Prune(func(id string) bool { return id == "toolu_2" })
	wantIn(t, a("Write", in{"file_path": "a.txt", "content": "short\n"}), "only a part")
}
