package tool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

func (b *bench) read(name string) { b.t.Helper(); b.must("Read", in{"file_path": name}) }

func TestEditReplacesExactTextAndShowsIt(t *testing.T) {
	b := newBench(t)
	b.put("a.go", "package a\n\nfunc F() int {\n\treturn 1\n}\n")
	b.read("a.go")
	r, err := b.call("Edit", in{"file_path": "a.go", "old_string": "return 1", "new_string": "return 2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.content("a.go"); got != "package a\n\nfunc F() int {\n\treturn 2\n}\n" {
		t.Errorf("file %q", got)
	}
	path := filepath.Join(b.dir, "a.go")
	if got := text(r); got != "The file "+path+" has been updated at line 4. No need to read it back." {
		t.Errorf("%q: it repeats what the model wrote", got)
	}
	view := event.Diff{Path: path, Added: 1, Removed: 1, Unified: "--- a" + path + "\n+++ b" + path +
		"\n@@ -1,5 +1,5 @@\n package a\n \n func F() int {\n-\treturn 1\n+\treturn 2\n }\n"}
	if d := cmp.Diff(view, r.View); d != "" {
		t.Error(d)
	}
	meta := map[string]any{
		"filePath": path, "oldString": "return 1", "newString": "return 2", "userModified": false, "replaceAll": false,
		"originalFile": "package a\n\nfunc F() int {\n\treturn 1\n}\n",
		"structuredPatch": []event.Hunk{{OldStart: 1, OldLines: 5, NewStart: 1, NewLines: 5, Lines: []string{
			" package a",
			" ", " func F() int {", "-\treturn 1", "+\treturn 2", " }",
		}}},
	}
	if d := cmp.Diff(meta, r.Meta); d != "" {
		t.Error(d)
	}
	// The tracker knows the new state, so the next edit needs no other read.
	b.must("Edit", in{"file_path": "a.go", "old_string": "return 2", "new_string": "return 3"})
}

func TestEditAsksForWhatItWouldWrite(t *testing.T) {
	b := newBench(t)
	b.put("real.txt", "x\n")
	if err := os.Symlink("real.txt", filepath.Join(b.dir, "link.txt")); err != nil {
		t.Skip(err)
	}
	b.read("real.txt")
	plan, err := b.prepare("Edit", in{"file_path": "link.txt", "old_string": "x", "new_string": "y"})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	want := []permission.Access{{
		Kind: permission.Write, Target: filepath.Join(b.dir, "real.txt"),
		Named: filepath.Join(b.dir, "link.txt"), Node: permission.File, Links: 1,
	}}
	if d := cmp.Diff(want, plan.Accesses); d != "" {
		t.Error(d)
	}
	if plan.Parallel || !plan.Writes() {
		t.Errorf("%+v", plan)
	}
	if d, ok := plan.Preview.(event.Diff); !ok || !strings.Contains(d.Unified, "-x\n+y\n") {
		t.Errorf("preview %+v", plan.Preview)
	}
	if b.content("real.txt") != "x\n" {
		t.Error("Prepare changed the file")
	}
}

func TestEditRefusesWhatIsNotClear(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "foo\nbar\nfoo\nbaz foo\n")
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "bar", "new_string": "x"}, "has not been read")
	b.read("a.txt")
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "foo", "new_string": "x"}, "Found 3 matches", "lines 1, 3, 4",
		"replace_all")
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "bar", "new_string": "bar"}, "same")
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "", "new_string": "bar"}, "old_string is empty")
	b.fails("Edit", in{"file_path": "b.txt", "old_string": "x", "new_string": "bar"}, "does not exist", "a.txt")
	b.fails("Edit", in{"file_path": ".", "old_string": "x", "new_string": "bar"}, "folder")
	if b.content("a.txt") != "foo\nbar\nfoo\nbaz foo\n" {
		t.Error("the file changed")
	}
	wantIn(t, b.must("Edit", in{"file_path": "a.txt", "old_string": "foo", "new_string": "x", "replace_all": true}),
		"3 replacements")
	if got := b.content("a.txt"); got != "x\nbar\nx\nbaz x\n" {
		t.Errorf("file %q", got)
	}
}

func TestEditShowsWhatComesNearest(t *testing.T) {
	b := newBench(t)
	b.put("a.go", "package a\n\nfunc F() {\n\tif x {\n\t\treturn “one” – two\n\t}\n}\n\nvar message = "+
		"\"a\\\\nb\"\n// return “one” – two\n")
	b.read("a.go")
	for _, c := range []struct {
		old  string
		want []string
	}{
		{"    if x {\n        return", []string{"indentation", "Lines 4-5", "4\t\tif x {"}},
		{"func F()  {", []string{"white space", "3\tfunc F() {"}},
		{"n \"one\" - two", []string{"quotes, dashes", "5\t"}},
		{`var message = "a\nb"`, []string{"backslashes"}},
		{"FUNC f() {", []string{"upper and lower case"}},
		{"3\tfunc F() {\n4\t\tif zebra {", []string{"line numbers"}},
		{"func F() {\n\tif y {\n", []string{"nearest", "3\tfunc F() {"}},
		{"zebra crossing", []string{"nor anything like it"}},
	} {
		b.fails("Edit", in{"file_path": "a.go", "old_string": c.old, "new_string": "z"}, append(c.want, "not found")...)
	}
}

func TestEditMakesAFileFromNothing(t *testing.T) {
	b := newBench(t)
	b.put("empty", "")
	wantIn(t, b.must("Edit", in{"file_path": "new/a.txt", "old_string": "", "new_string": "hello\n"}), "File created: ")
	b.must("Edit", in{"file_path": "empty", "old_string": "", "new_string": "x\n"})
	if b.content("new/a.txt") != "hello\n" || b.content("empty") != "x\n" {
		t.Error("wrong content")
	}
}

func TestEditKeepsLineEndsAndEncoding(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct{ before, old, new, after string }{
		"crlf":  {"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
		"bom":   {"\xEF\xBB\xBFa\n", "a", "b", "\xEF\xBB\xBFb\n"},
		"utf16": {"\xff\xfea\x00\r\x00\n\x00", "a\n", "b\nc\n", "\xff\xfeb\x00\r\x00\n\x00c\x00\r\x00\n\x00"},
		"latin": {"caf\xe9 \xff\n", "café", "thé", "th\xe9 \xff\n"},
		"mixed": {"one\r\ntwo\nthree\r\n", "two\nthree", "two\nTHREE", "one\r\ntwo\nTHREE\r\n"},
		"bytes": {"é \xff\xfe x\n", "x", "y", "é \xff\xfe y\n"},
		"noend": {"a\nb", "b", "c", "a\nc"},
		"lf":    {"a\nb\n", "a\r\nb\r\n", "c\r\nd\r\n", "c\nd\n"},
	} {
		b.put(name, c.before)
		b.read(name)
		b.must("Edit", in{"file_path": name, "old_string": c.old, "new_string": c.new})
		if got := b.content(name); got != c.after {
			t.Errorf("%s: %q, want %q", name, got, c.after)
		}
	}
	b.put("eol", "a\r\nb\r\n")
	b.read("eol")
	b.fails("Edit", in{"file_path": "eol", "old_string": "a\r\nb", "new_string": "a\nb"}, "line ends")
	b.put("cafe", "caf\xe9\n")
	b.read("cafe")
	b.fails("Edit", in{"file_path": "cafe", "old_string": "caf", "new_string": "€"}, "Latin-1")
}

func TestEditSeesAChangeBehindItsBack(t *testing.T) {
	b := newBench(t)
	path := b.put("a.txt", "one\n")
	b.read("a.txt")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil { // the same second, the same size
		t.Fatal(err)
	}
	b.fails("Edit", in{"file_path": "a.txt", "old_string": "two", "new_string": "x"}, "modified since it was read",
		"Read it again")
	b.env.Cache.Clear()
	b.read("a.txt")
	b.must("Edit", in{"file_path": "a.txt", "old_string": "two", "new_string": "x"})

	// Touched, but the same content: nothing is lost, so nothing is refused.
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	b.must("Edit", in{"file_path": "a.txt", "old_string": "x", "new_string": "y"})
}

func TestEditSeesAChangeBetweenPrepareAndRun(t *testing.T) {
	b := newBench(t)
	path := b.put("a.txt", "one\ntwo\n")
	b.read("a.txt")
	for name, change := range map[string]func() error{
		"content": func() error { return os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o644) },
		"link": func() error {
			outside := filepath.Join(t.TempDir(), "x")
			return errors.Join(os.WriteFile(outside, []byte("one\ntwo\n"), 0o644), os.Remove(path), os.Symlink(outside, path))
		},
		"gone": func() error { return os.Remove(path) },
	} {
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte("one\ntwo\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		b.read("a.txt")
		plan, err := b.prepare("Edit", in{"file_path": "a.txt", "old_string": "two", "new_string": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path)
		if _, err := plan.Run(context.Background()); err == nil {
			t.Errorf("%s: the edit ran", name)
		}
		plan.Close()
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file became %q", name, after)
		}
	}
}

func TestTwoPreparedEditsOfOneFileBothHappen(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\ntwo\nthree\n")
	b.read("a.txt")
	first, err := b.prepare("Edit", in{"file_path": "a.txt", "old_string": "one", "new_string": "1"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.prepare("Edit", in{"file_path": "a.txt", "old_string": "three", "new_string": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	first.Close()
	second.Close()
	if got := b.content("a.txt"); got != "1\ntwo\n3\n" {
		t.Errorf("file %q", got)
	}
}

// patched applies a unified diff, strictly.
func patched(before, diff string) (string, error) {
	old := strings.SplitAfter(before, "\n")
	var out strings.Builder
	at := 0
	lines := strings.SplitAfter(diff, "\n")
	for i, l := range lines {
		text := l
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\ No newline`) {
			text = strings.TrimSuffix(l, "\n")
		}
		switch {
		case i < 2 || l == "" || l[0] == '\\':
		case l[0] == '@':
			var from, n int
			if c, _ := fmt.Sscanf(l, "@@ -%d,%d", &from, &n); c == 1 {
				n = 1
			}
			if n > 0 {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(old[at])
			}
		case l[0] == '+':
			out.WriteString(text[1:])
		default:
			if at >= len(old) || old[at] != text[1:] {
				return "", fmt.Errorf("line %d is not %q", at+1, text[1:])
			}
			if l[0] == ' ' {
				out.WriteString(old[at])
			}
			at++
		}
	}
	out.WriteString(strings.Join(old[at:], ""))
	return out.String(), nil
}

func TestEditIsReplacementAndItsDiffApplies(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		before := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "aa\n", "x y\n", "\n", "ab"}), 1,
			60).Draw(rt, "before"), "")
		old := rapid.SampledFrom([]string{"a", "b\n", "aa\nb", "x y", "\n\n", "ab"}).Draw(rt, "old")
		fresh := rapid.SampledFrom([]string{"", "c", "c\nd\n", "a\nb", "\n"}).Draw(rt, "new")
		if old == fresh || !strings.Contains(before, old) {
			return
		}
		b.put("f", before)
		b.read("f")
		r, err := b.call("Edit", in{"file_path": "f", "old_string": old, "new_string": fresh, "replace_all": true})
		if err != nil {
			rt.Fatal(err)
		}
		want := strings.ReplaceAll(before, old, fresh)
		if got := b.content("f"); got != want {
			rt.Fatalf("%q: %q, want %q", before, got, want)
		}
		d := r.View.(event.Diff)
		if d.Unified == "" {
			if before != want {
				rt.Fatal("no diff")
			}
			return
		}
		if got, err := patched(before, d.Unified); err != nil || got != want {
			rt.Fatalf("the diff of %q to %q gives %q (%v):\n%s", before, want, got, err, d.Unified)
		}
	})
}

func TestDiffOfWholeTextsApplies(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var before []string
		for range 1 + r.IntN(2000) {
			before = append(before, fmt.Sprintf("line %d\n", r.IntN(500)))
		}
		after := append([]string(nil), before...)
		for range r.IntN(300) {
			i := r.IntN(len(after))
			switch r.IntN(3) {
			case 0:
				after[i] = "changed\n"
			case 1:
				after = append(after[:i], append([]string{"new\n"}, after[i:]...)...)
			case 2:
				after = append(after[:i], after[i+1:]...)
			}
			if len(after) == 0 {
				break
			}
		}
		x, y := strings.Join(before, ""), strings.Join(after, "")
		if r.IntN(3) == 0 {
			y = strings.TrimSuffix(y, "\n")
		}
		unified := tool.DiffTexts("/f", x, y)
		if x == y {
			continue
		}
		if got, err := patched(x, unified); err != nil || got != y {
			t.Fatalf("seed %d: the diff does not apply: %v", seed, err)
		}
	}
}

func TestEditAgreesWithTheViewOfAnyFile(t *testing.T) {
	b := newBench(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		raw := make([]byte, 200)
		for i := range raw {
			raw[i] = "ab \n\r\n\xe9\xc3\xa9\xff"[r.IntN(10)]
		}
		raw = append(raw, "NEEDLE"...)
		for range 100 {
			raw = append(raw, "ab\n\r\xff"[r.IntN(5)])
		}
		b.put("f", string(raw))
		b.read("f")
		b.must("Edit", in{"file_path": "f", "old_string": "NEEDLE", "new_string": "pin"})
		if got, want := b.content("f"), strings.Replace(string(raw), "NEEDLE", "pin", 1); got != want {
			t.Fatalf("seed %d: %q, want %q", seed, got, want)
		}
	}
}

func BenchmarkEdit5MB(b *testing.B) {
	bench := newBench(b)
	var content strings.Builder
	for i := 0; content.Len() < 5<<20; i++ {
		fmt.Fprintf(&content, "line %d of a rather large file\n", i)
	}
	bench.put("big.txt", content.String())
	bench.read("big.txt")
	b.SetBytes(int64(content.Len()))
	words := []string{"line 70000 of", "line seventy thousand of"}
	for i := 0; b.Loop(); i++ {
		bench.must("Edit", in{"file_path": "big.txt", "old_string": words[i%2], "new_string": words[1-i%2]})
	}
}

// A line of megabytes with a match at every place takes one pass, not one for each match.
func TestAnEditOfLongLinesCountsThemAndShowsNoDiff(t *testing.T) {
	for _, tt := range []struct {
		before, replacement string
		removed, added      int
	}{
		{strings.Repeat("ab", 2<<20), "c", 1, 1},
		{"x\n" + strings.Repeat("ab", 1<<20) + "\n" + strings.Repeat("ab", 1<<20) + "\ny\n", "c", 2, 2},
		{strings.Repeat("b", 3<<20) + "a", "c\nd", 1, 2},
	} {
		b := newBench(t)
		b.put("min.js", tt.before)
		b.must("Read", in{"file_path": "min.js"})
		r, err := b.call("Edit", in{
			"file_path": "min.js", "old_string": "a", "new_string": tt.replacement,
			"replace_all": true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := r.View.(event.Diff); d.Removed != tt.removed || d.Added != tt.added || d.Unified != "(too large for a diff)" {
			t.Errorf("-%d +%d, %d bytes", d.Removed, d.Added, len(d.Unified))
		}
		if b.content("min.js") != strings.ReplaceAll(tt.before, "a", tt.replacement) {
			t.Error("the content is another")
		}
	}
}

func TestReplaceAllOnALongLineIsLinear(t *testing.T) {
	b := newBench(t)
	b.put("min.js", strings.Repeat("ab", 2<<20))
	b.must("Read", in{"file_path": "min.js"})
	got := b.must("Edit", in{"file_path": "min.js", "old_string": "a", "new_string": "c", "replace_all": true})
	wantIn(t, got, "2097152 replacements, at line 1.")
	if b.content("min.js") != strings.Repeat("cb", 2<<20) {
		t.Error("the content is another")
	}
}
