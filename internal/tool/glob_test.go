package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// age sets how long ago a file was changed.
func (b *bench) age(name string, hours int) {
	b.t.Helper()
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(filepath.Join(b.dir, name), at, at); err != nil {
		b.t.Fatal(err)
	}
}

func TestGlobFindsByPatternNewestFirst(t *testing.T) {
	b := newBench(t)
	for i, f := range []string{
		"main.go", "src/a.go", "src/deep/b.go", "src/c.ts", "src/d.tsx", ".hidden/e.go",
		"README.md",
	} {
		b.put(f, "")
		b.age(f, i)
	}
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"pattern": "**/*.go"}, "main.go src/a.go src/deep/b.go .hidden/e.go"},
		{in{"pattern": "src/**/*.{ts,tsx}"}, "src/c.ts src/d.tsx"},
		{in{"pattern": "*.{ts,tsx}", "path": "src"}, "src/c.ts src/d.tsx"},
		{in{"pattern": "src/*.go"}, "src/a.go"},
		{in{"pattern": "*.go"}, "main.go"},
		{in{"pattern": "*/*.go"}, "src/a.go .hidden/e.go"},
		{in{"pattern": b.dir + "/src/**"}, "src/a.go src/deep/b.go src/c.ts src/d.tsx"},
		{in{"pattern": "./src/[ac].*"}, "src/a.go src/c.ts"},
		{in{"pattern": "README.md"}, "README.md"},
		{in{"pattern": "../" + filepath.Base(b.dir) + "/*.md"}, "README.md"},
	} {
		got := strings.TrimSpace(b.must("Glob", c.input))
		if d := cmp.Diff(strings.Fields(c.want), strings.Split(got, "\n")); d != "" {
			t.Errorf("%v: %s", c.input, d)
		}
	}
}

func TestGlobWidensASearchThatFindsNothing(t *testing.T) {
	b := newBench(t)
	b.put("src/deep/b.go", "")
	b.put("build/gen.pb", "")
	b.put(".gitignore", "build/\n")
	wantIn(t, b.must("Glob", in{"pattern": "b.go"}), "src/deep/b.go\n[", "**/b.go")
	wantIn(t, b.must("Glob", in{"pattern": "**/*.pb"}), "build/gen.pb")
	wantIn(t, b.must("Glob", in{"pattern": "**/*.nope"}), "No files found.")
}

func TestGlobLeavesOutFoldersNobodyMeans(t *testing.T) {
	b := newBench(t)
	for _, f := range []string{"a.js", "node_modules/m/b.js", "dist/c.js", ".git/d.js", ".venv/e.js", "secret.js"} {
		b.put(f, "")
	}
	b.put(".gitignore", "dist\nsecret.js\n")
	got := b.must("Glob", in{"pattern": "**/*.js"})
	wantIn(t, got, "a.js", "secret.js") // single ignored files are found
	for _, not := range []string{"b.js", "c.js", "d.js", "e.js"} {
		if strings.Contains(got, not) {
			t.Errorf("%s was found:\n%s", not, got)
		}
	}
	for pattern, want := range map[string]string{
		"node_modules/**/*.js": "node_modules/m/b.js", "dist/*.js": "dist/c.js",
		"**/dist/*": "dist/c.js", ".git/*": ".git/d.js",
	} {
		wantIn(t, b.must("Glob", in{"pattern": pattern}), want)
	}
	wantIn(t, b.must("Glob", in{"pattern": "**/*.js", "path": "node_modules"}), "b.js")
}

func TestGlobShowsAHundredAndSaysHowManyThereAre(t *testing.T) {
	b := newBench(t)
	for i := range 130 {
		b.put(fmt.Sprintf("f%03d.txt", i), "")
		b.age(fmt.Sprintf("f%03d.txt", i), 200-i)
	}
	r, err := b.call("Glob", in{"pattern": "*.txt"})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text(r), "\n")
	if lines[0] != "f129.txt" || lines[99] != "f030.txt" || !strings.Contains(lines[100], "newest 100 of 130") {
		t.Errorf("%s ... %s", lines[0], lines[100])
	}
	if r.Meta["truncated"] != true || r.Meta["numFiles"] != 100 || r.Meta["totalMatches"] != 130 {
		t.Errorf("%v", r.Meta)
	}
}

func TestGlobSaysWhatIsWrong(t *testing.T) {
	b := newBench(t)
	b.put("file", "")
	b.fails("Glob", in{"pattern": ""}, "empty")
	b.fails("Glob", in{"pattern": "a[b"}, "malformed")
	b.fails("Glob", in{"pattern": "{a,b"}, "malformed")
	b.fails("Glob", in{"pattern": strings.Repeat("{a,*}", 20) + "x"}, "malformed", "too many alternatives")
	b.fails("Grep", in{"pattern": "x", "glob": "!" + strings.Repeat("{a,*}", 20) + "x"}, "malformed",
		"too many alternatives")
	b.fails("Glob", in{"pattern": "*", "path": "missing"}, "does not exist")
	b.fails("Glob", in{"pattern": "*", "path": "file"}, "is a file")
}

func TestGlobQuotesNamesThatWouldMislead(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.dir, "a\nb.txt"), nil, 0o644); err != nil {
		t.Skip(err)
	}
	if got := b.must("Glob", in{"pattern": "*.txt"}); got != "\"a\\nb.txt\"\n" {
		t.Errorf("%q", got)
	}
}
