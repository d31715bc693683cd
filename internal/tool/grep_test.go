package tool_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/tool"
)

func TestGrepOutputModes(t *testing.T) {
	b := newBench(t)
	b.put("src/a.go", "package a\n\nfunc Foo() {\n\tbar()\n\tfoo(foo)\n}\n")
	b.put("src/b.ts", "const foo = 1\n")
	b.put("c.txt", "nothing\n")
	b.age("src/b.ts", 5)
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"pattern": "foo"}, "src/a.go\nsrc/b.ts\n"},
		{in{"pattern": "foo", "output_mode": "content"}, "src/a.go:5:\tfoo(foo)\nsrc/b.ts:1:const foo = 1\n"},
		{
			in{"pattern": "foo", "output_mode": "content", "-i": true, "glob": "*.go"},
			"src/a.go:3:func Foo() {\nsrc/a.go:5:\tfoo(foo)\n",
		},
		{in{"pattern": "foo", "output_mode": "content", "-n": false, "type": "ts"}, "src/b.ts:const foo = 1\n"},
		{in{"pattern": "foo", "output_mode": "content", "-o": true, "type": "go"}, "src/a.go:5:foo\nsrc/a.go:5:foo\n"},
		{in{"pattern": "foo", "output_mode": "count", "path": "src/a.go"}, "src/a.go:1\nTotal: 1 in 1 files.\n"},
		{
			in{"pattern": "bar", "output_mode": "content", "-C": 1},
			"src/a.go-3-func Foo() {\nsrc/a.go:4:\tbar()\nsrc/a.go-5-\tfoo(foo)\n",
		},
		{
			in{"pattern": "package|foo\\(", "output_mode": "content", "-A": 1},
			"src/a.go:1:package a\nsrc/a.go-2-\n--\nsrc/a.go:5:\tfoo(foo)\nsrc/a.go-6-}\n",
		},
		{
			in{"pattern": "Foo.*bar", "output_mode": "content", "multiline": true},
			"src/a.go:3:func Foo() {\nsrc/a.go:4:\tbar()\n",
		},
		{in{"pattern": "^$", "output_mode": "content"}, "src/a.go:2:\n"},
		{in{"pattern": "foo", "glob": "*.{ts,js}"}, "src/b.ts\n"},
		{in{"pattern": "foo", "glob": "!*.ts"}, "src/a.go\n"},
		{in{"pattern": "foo", "glob": "src/*.ts, *.txt"}, "src/b.ts\n"},
		{in{"pattern": "zebra"}, "[No matches found.]\n"},
	} {
		if d := cmp.Diff(c.want, b.must("Grep", c.input)); d != "" {
			t.Errorf("%v: %s", c.input, d)
		}
	}
}

func TestGrepPagesThroughResults(t *testing.T) {
	b := newBench(t)
	for i := range 10 {
		b.put(fmt.Sprintf("f%d.txt", i), strings.Repeat("hit\n", 30))
	}
	got := b.must("Grep", in{"pattern": "hit", "output_mode": "content"})
	if n := strings.Count(got, ":hit\n"); n != 250 {
		t.Errorf("%d lines", n)
	}
	wantIn(t, got, "Showing 1-250; there are more. Use offset=250 to see more.")
	got = b.must("Grep", in{"pattern": "hit", "output_mode": "content", "offset": 250})
	if n := strings.Count(got, ":hit\n"); n != 50 || strings.Contains(got, "offset") {
		t.Errorf("%d lines: %s", n, got)
	}
	got = b.must("Grep", in{"pattern": "hit", "output_mode": "content", "head_limit": 0})
	if n := strings.Count(got, ":hit\n"); n != 300 {
		t.Errorf("%d lines", n)
	}
	wantIn(t, b.must("Grep", in{"pattern": "hit", "head_limit": 3}), "Showing 1-3 of 10. Use offset=3 to see more.")
	wantIn(t, b.must("Grep", in{"pattern": "hit", "offset": 30}), "There are only 10; offset 30 is past the end.")
}

func TestAMatchInALargeFileIsNotTakenForMore(t *testing.T) {
	b := newBench(t)
	b.put("large.txt", "hit\n"+strings.Repeat("line\n", tool.ChunkSize/4))
	if got := b.must("Grep", in{"pattern": "hit"}); got != "large.txt\n" {
		t.Error(got)
	}
}

func TestGrepSaysWhatIsWrong(t *testing.T) {
	b := newBench(t)
	b.put("a", "x")
	b.fails("Grep", in{"pattern": "x", "path": "missing"}, "does not exist")
	b.fails("Grep", in{"pattern": ""}, "empty")
	b.fails("Grep", in{"pattern": "x", "glob": "[a"}, "malformed")
	t.Setenv("PATH", "")
	b.fails("Grep", in{"pattern": "a("}, "not a regular expression", "backslash")
	b.fails("Grep", in{"pattern": "x", "type": "klingon"}, `"klingon"`, "python")
}

func TestGrepKeepsToTextWithinLimits(t *testing.T) {
	b := newBench(t)
	b.put("bin", "needle\x00")
	b.put("late.bin", strings.Repeat("x\n", 300_000)+"needle\x00needle\n")
	b.put("utf16", "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00")
	b.put("latin", "caf\xe9 needle\n")
	b.put("crlf", "needle\r\n")
	b.put("long", strings.Repeat("a", 5000)+"needle"+strings.Repeat("b", 5000)+"\n")
	got := b.must("Grep", in{"pattern": "needle$|needleb", "output_mode": "content"})
	wantIn(t, got, "utf16:1:needle\n", "latin:1:café needle\n", "crlf:1:needle\n", "needlebbb", "[10006 characters]")
	if strings.Contains(got, "bin") || len(got) > 1500 {
		t.Errorf("%d characters: %.3000s", len(got), got)
	}
	wantIn(t, b.must("Grep", in{"pattern": "needle", "path": "bin"}), "binary")
}

func TestGrepHonoursIgnoreFilesUnlessAGlobNamesTheFile(t *testing.T) {
	b := newBench(t)
	b.put(".gitignore", "*.log\nbuild/\n")
	b.put("a.log", "needle\n")
	b.put("build/x.txt", "needle\n")
	b.put(".github/w.yml", "needle\n")
	b.put(".git/config", "needle\n")
	for input, want := range map[string]string{"": ".github/w.yml\n", "*.log": "a.log\n"} {
		if got := b.must("Grep", in{"pattern": "needle", "glob": input}); got != want {
			t.Errorf("glob %q: %q", input, got)
		}
	}
	for _, path := range []string{"a.log", "build"} {
		if got := b.must("Grep", in{"pattern": "needle", "path": path}); !strings.HasPrefix(got, path) {
			t.Errorf("path %q: %q", path, got)
		}
	}
}

// without takes a text out of all files.
func (b *bench) without(text string) {
	err := filepath.WalkDir(b.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(data, []byte(text), nil), 0o644)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// engines runs a search in both engines.
func engines(t *testing.T, b *bench, input tool.GrepInput, rg string) (native, ripgrep *tool.Hits) {
	t.Helper()
	s, err := tool.NewEngines(b.env, input)
	if err != nil {
		t.Fatal(err)
	}
	if native, err = s.Native(); err != nil {
		t.Fatal(err)
	}
	if ripgrep, err = s.Rg(rg); err != nil {
		t.Fatal(err)
	}
	return native, ripgrep
}

// testSeeds is how many random cases to run; LATHE_TEST_TREES asks for more.
func testSeeds(n uint64) uint64 {
	if more, err := strconv.ParseUint(os.Getenv("LATHE_TEST_TREES"), 10, 32); err == nil {
		return more
	}
	return n
}

// TestBothEnginesFindTheSame holds the engine in this process against ripgrep over random trees.
func TestBothEnginesFindTheSame(t *testing.T) {
	rg := newBench(t).env.Ripgrep()
	if rg == "" {
		t.Skip("ripgrep is not installed")
	}
	patterns := []string{
		"foo", "Foo", "fo+", "^foo", "bar$", "foo|bar", "[a-c]+x", `\bfoo\b`, "^$", "foo.*bar", "k", "é", "x{2}", "(?i)FOO",
		".", "^", "o$",
		`\d+`, "foo bar", "(foo)(bar)?", `\s`, "a", "[^a]", "never there",
	}
	words := []string{"foo", "Foo", "bar", "foobar", "ax", "bx", "xx", "é", "42", "k", "K", " ", "\t", "FOO bar", "a"}
	for seed := range testSeeds(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := newBench(t)
		b.put(".git/HEAD", "foo\n")
		b.put(".gitignore", []string{"*.log\n", "sub/\n", "", "!a.go\n*.go\n"}[r.IntN(4)])
		for _, name := range []string{"a.go", "b.txt", "sub/c.go", "sub/deep/d.log", ".hidden/e.js", "f.py", "sub/.ignore"} {
			var text strings.Builder
			for range r.IntN(40) {
				for range r.IntN(4) {
					text.WriteString(words[r.IntN(len(words))])
				}
				text.WriteString([]string{"\n", "\n", "\n", "\r\n", "\n\n"}[r.IntN(5)])
			}
			if r.IntN(3) == 0 {
				text.WriteString("foo at the end")
			}
			if name == "sub/.ignore" {
				b.put(name, "*.log\n")
				continue
			}
			b.put(name, text.String())
		}
		limit := []int{0, 0, 0, 4}[r.IntN(4)]
		input := tool.GrepInput{
			Pattern:    patterns[r.IntN(len(patterns))],
			OutputMode: []string{tool.ModeContent, tool.ModeContent, tool.ModeFiles, tool.ModeCount}[r.IntN(4)],
			IgnoreCase: r.IntN(3) == 0,
			Multiline:  r.IntN(5) == 0,
			OnlyMatch:  r.IntN(6) == 0,
			Glob:       []string{"", "", "", "*.go", "!*.go", "sub/**", "*.{go,log}", "**/*.log"}[r.IntN(8)],
			Type:       []string{"", "", "", "go", "js"}[r.IntN(5)],
			HeadLimit:  &limit,
		}
		if r.IntN(2) == 0 {
			input.Before, input.After = r.IntN(3), r.IntN(3)
		}
		if strings.Contains(input.Pattern, `\b`) {
			b.without("é") // Go's \b knows no other letters
		}
		if input.Multiline && (input.OutputMode == tool.ModeCount || input.OnlyMatch) {
			b.without("\r") // ripgrep counts each as a character
		}
		if input.Multiline && strings.HasPrefix(input.Pattern, "^") {
			input.Before, input.After = 0, 0 // ripgrep shows lines around an empty match past the end
		}
		native, other := engines(t, b, input, rg)
		if d := cmp.Diff(other, native, tool.SameHits(input.OutputMode == tool.ModeCount)); d != "" {
			t.Errorf("seed %d: %+v\n(-rg +ours):\n%s", seed, input, d)
		}
	}
}

func TestThePatternIsNeverAFlag(t *testing.T) {
	b := newBench(t)
	rg := b.env.Ripgrep()
	if rg == "" {
		t.Skip("ripgrep is not installed")
	}
	marker := filepath.Join(b.dir, "ran")
	script := b.put("pre.sh", "#!/bin/sh\ntouch "+marker+"\n")
	config := b.put("config", "--pre="+script+"\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIPGREP_CONFIG_PATH", config)
	b.put("a.txt", "--pre=pre.sh\n")
	none := 0
	for _, input := range []tool.GrepInput{
		{Pattern: "--pre=" + script, HeadLimit: &none},
		{Pattern: "x", Glob: "--pre=" + script, HeadLimit: &none},
		{Pattern: "-e", HeadLimit: &none},
	} {
		s, err := tool.NewEngines(b.env, input)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Rg(rg); err != nil {
			t.Errorf("%+v: %v", input, err)
		}
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a program ran")
	}
}

func TestGrepRunsNoProgramOfTheRepository(t *testing.T) {
	b := newBench(t)
	marker := filepath.Join(b.dir, "ran")
	script := b.put("bin/rg", "#!/bin/sh\ntouch "+marker+"\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(script)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for i := range tool.SmallTree + 1 {
		b.put(fmt.Sprintf("f%d", i), "needle\n")
	}
	wantIn(t, b.must("Grep", in{"pattern": "needle"}), "of 301")
	if _, err := os.Lstat(marker); err == nil {
		t.Error("the repository's rg ran")
	}
}

// countingRipgrep puts a ripgrep into PATH that finds nothing and leaves a mark.
func countingRipgrep(t *testing.T) (ran func() bool) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(dir, "ran")
	script := "#!/bin/sh\necho >>" + marker + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "rg"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() bool {
		defer os.Remove(marker)
		_, err := os.Lstat(marker)
		return err == nil
	}
}

func TestAFrequentPatternIsNotSearchedInAllOfALargeTree(t *testing.T) {
	ran := countingRipgrep(t)
	b := newBench(t)
	for i := range 4 * tool.SmallTree {
		text := "needle\n"
		if i%3 > 0 {
			text = "hay\n"
		}
		b.put(fmt.Sprintf("f%04d", i), text)
	}
	got := b.must("Grep", in{"pattern": "needle", "output_mode": "content"})
	wantIn(t, got, "f0000:1:needle\n", "f0747:1:needle\n", "Showing 1-250; there are more. Use offset=250 to see more.")
	if strings.Contains(got, "f0750") {
		t.Error(got)
	}
	if ran() {
		t.Error("ripgrep ran, which searches the whole tree")
	}
	b.must("Grep", in{"pattern": "thimble", "output_mode": "content"})
	if !ran() {
		t.Error("a rare pattern was searched in this process")
	}
}

func TestALargeTreeIsSearchedWhereRipgrepCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rg"), []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	b := newBench(t)
	for i := range tool.SmallTree + 10 {
		b.put(fmt.Sprintf("f%04d", i), "needle\n")
	}
	if b.env.Ripgrep() != filepath.Join(dir, "rg") {
		t.Fatalf("ripgrep is %q", b.env.Ripgrep())
	}
	wantIn(t, b.must("Grep", in{"pattern": "needle", "output_mode": "count"}), "Total: 310 in 310 files.")
	b.fails("Grep", in{"pattern": `(?<ahead>a)(?=b)`}, "ripgrep cannot be started", "simpler pattern")
}

func TestAPatternThatIsFrequentOnlyLaterIsFoundInOrder(t *testing.T) {
	b := newBench(t)
	for i := range tool.SmallTree + 10 {
		b.put(fmt.Sprintf("f%04d", i), "hay\n")
	}
	for i := range 40 {
		b.put(fmt.Sprintf("late/f%02d", i), strings.Repeat("needle\n", 10))
	}
	got := b.must("Grep", in{"pattern": "needle", "output_mode": "content", "head_limit": 12})
	want := ""
	for i := range 12 {
		want += fmt.Sprintf("late/f%02d:%d:needle\n", i/10, i%10+1)
	}
	if want += "[Showing 1-12; there are more. Use offset=12 to see more.]\n"; got != want {
		t.Errorf("%s", cmp.Diff(want, got))
	}
}

func TestALargeTreeIsSearchedByRipgrep(t *testing.T) {
	b := newBench(t)
	if b.env.Ripgrep() == "" {
		t.Skip("ripgrep is not installed")
	}
	for i := range tool.SmallTree + 10 {
		b.put(fmt.Sprintf("d%d/f%d", i%7, i), "needle\n")
	}
	got := b.must("Grep", in{"pattern": "needle", "output_mode": "content", "head_limit": 0})
	if n := strings.Count(got, ":1:needle\n"); n != tool.SmallTree+10 {
		t.Errorf("%d lines", n)
	}
	wantIn(t, b.must("Grep", in{"pattern": "needle", "output_mode": "count"}), "Total: 310 in 310 files.")
	b.fails("Grep", in{"pattern": `(?P<broken`}, "rip")
}

func TestBothEnginesSearchAnIgnoredFolderThatIsNamed(t *testing.T) {
	b := newBench(t)
	rg := b.env.Ripgrep()
	if rg == "" {
		t.Skip("ripgrep is not installed")
	}
	b.put(".git/HEAD", "")
	b.put(".gitignore", "build/\nbuild/**\n")
	b.put("build/x.txt", "needle\n")
	native, other := engines(t, b, tool.GrepInput{Pattern: "needle", Path: "build"}, rg)
	if native.Files() != 1 || other.Files() != 1 {
		t.Errorf("%+v, %+v", native, other)
	}
}

func TestContextReachesAcrossChunks(t *testing.T) {
	b := newBench(t)
	var text strings.Builder
	for i := range 60_000 {
		if i%9973 == 0 {
			text.WriteString("needle\n")
			continue
		}
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	path := b.put("big.txt", text.String())
	lines := strings.Split(text.String(), "\n")
	got := b.must("Grep", in{"pattern": "needle", "path": path, "output_mode": "content", "-C": 20, "head_limit": 0})
	for i, l := range strings.Split(strings.TrimSpace(got), "\n") {
		if l == "--" {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(l, "%d", &n); err != nil || l[len(fmt.Sprint(n))+1:] != lines[n-1] {
			t.Fatalf("output line %d: %q, want %q", i, l, lines[n-1])
		}
	}
	if n := strings.Count(got, "\n--\n"); n != 6 {
		t.Errorf("%d gaps", n)
	}
}

func BenchmarkGrep10kB(b *testing.B) {
	bench := newBench(b)
	bench.put("a.go", strings.Repeat("a line of some text\n", 500)+"needle here\n")
	bench.env.Cache.Disable()
	for b.Loop() {
		bench.must("Grep", in{"pattern": "needle.*", "path": "a.go", "output_mode": "content"})
	}
}

func BenchmarkGrepSmallFolder(b *testing.B) {
	bench := newBench(b)
	for i := range 10 {
		bench.put(fmt.Sprintf("d%d/a.go", i%3), strings.Repeat("a line of some text\n", 100)+"needle here\n")
	}
	bench.env.Cache.Disable()
	for b.Loop() {
		bench.must("Grep", in{"pattern": "needle"})
	}
}

func benchmarkTree(b *testing.B, pattern string, useRg bool) {
	start := "/usr/local/go/src"
	env, err := tool.NewEnv(start)
	if err != nil {
		b.Skip(err)
	}
	defer env.Roots.Close()
	env.Cache.Disable()
	rg := env.Ripgrep()
	if useRg && rg == "" {
		b.Skip("ripgrep is not installed")
	}
	s, err := tool.NewEngines(env, tool.GrepInput{Pattern: pattern})
	if err != nil {
		b.Fatal(err)
	}
	found := 0
	for b.Loop() {
		var h *tool.Hits
		if useRg {
			h, err = s.Rg(rg)
		} else {
			h, err = s.Native()
		}
		if err != nil {
			b.Fatal(err)
		}
		found = h.Files()
	}
	b.ReportMetric(float64(found), "files")
}

func BenchmarkGrepTreeLiteral(b *testing.B)   { benchmarkTree(b, "unsafe.Pointer", false) }
func BenchmarkGrepTreeLiteralRg(b *testing.B) { benchmarkTree(b, "unsafe.Pointer", true) }
func BenchmarkGrepTreeRegexp(b *testing.B)    { benchmarkTree(b, `func \(\w+ \*\w+\) \w*Close\(`, false) }

func BenchmarkGrepTreeRegexpRg(b *testing.B) { benchmarkTree(b, `func \(\w+ \*\w+\) \w*Close\(`, true) }
