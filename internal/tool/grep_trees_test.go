package tool_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/tool"
)

// home makes a home folder of the user, where nothing is set.
func (b *bench) home() string {
	home, err := filepath.EvalSymlinks(b.t.TempDir())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.(*testing.T).Setenv("HOME", home)
	b.t.(*testing.T).Setenv("XDG_CONFIG_HOME", "")
	return home
}

// inUTF16 is a text with a byte order mark.
func inUTF16(order binary.AppendByteOrder, text string) string {
	out := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

// randomFile is the content of a file in one of many forms.
func randomFile(r *rand.Rand) string {
	words := []string{"foo", "Foo", "bar", "foobar", "42", "k", " ", "\t", "fo", "o b", "x"}
	var b strings.Builder
	for range r.IntN(30) {
		for range r.IntN(4) {
			b.WriteString(words[r.IntN(len(words))])
		}
		b.WriteString([]string{"\n", "\n", "\n", "\r\n"}[r.IntN(4)])
	}
	text := b.String()
	switch r.IntN(14) {
	case 0:
		return inUTF16(binary.LittleEndian, text+"é foo\n")
	case 1:
		return inUTF16(binary.BigEndian, text+"é foo\n")
	case 2:
		return "\xEF\xBB\xBF" + text
	case 3:
		return text + "caf\xe9 foo\n" + text // Latin-1
	case 4:
		return text + "\x00" + text // binary
	case 5:
		return text + strings.Repeat("line\n", 60_000) + "foo\x00bar\n" // binary, seen late
	case 6:
		return text + "\x01\x02\x7f foo\n" // control characters, yet text
	case 7:
		return "" // empty
	}
	return text
}

// randomRules is an ignore file.
func randomRules(r *rand.Rand) string {
	lines := []string{
		"*.go", "!*.go", "*.log", "!a.log", "sub/", "/sub", "deep", "!deep/", "a.*", "/a.*", "**/b.txt", "sub/**",
		"!sub/deep", "deep/*.js", "#a.go", "", "*.t[xy]t",
		"sub/*/x", `\!x`, "?.go", "x/ ", "**", "!**/c.go", "a**", ".hidden", "!.hidden", ".*",
	}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(lines[r.IntN(len(lines))] + []string{"\n", "\n", "\n", "\r\n"}[r.IntN(4)])
	}
	return b.String()
}

// TestBothEnginesSearchTheSameFiles holds the engine in this process against ripgrep over random trees with ignore
// files of every kind at every level, files in many encodings, binary and hidden ones, links, types and globs.
func TestBothEnginesSearchTheSameFiles(t *testing.T) {
	rg := newBench(t).env.Ripgrep()
	if rg == "" {
		t.Skip("ripgrep is not installed")
	}
	folders := []string{"", "sub", "sub/deep", "x", "x/sub", ".hidden", "x/repo", "x/repo/sub"}
	names := []string{"a.go", "b.txt", "c.go", "a.log", "d.js", ".e.py", "x", "f.sh", "Makefile", "!x"}
	for seed := range testSeeds(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 15))
			b := newBench(t)
			home := b.home()
			if r.IntN(2) == 0 {
				for file, text := range map[string]string{".config/git/ignore": randomRules(r)} {
					if err := os.MkdirAll(filepath.Dir(filepath.Join(home, file)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, dir := range folders {
				if err := os.MkdirAll(filepath.Join(b.dir, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range folders {
				for range 1 + r.IntN(4) {
					if name := filepath.Join(dir, names[r.IntN(len(names))]); !isFolder(b.dir, name) {
						b.put(name, randomFile(r))
					}
				}
				for _, rules := range []string{".gitignore", ".ignore", ".rgignore"} {
					if r.IntN(6) == 0 {
						b.put(filepath.Join(dir, rules), randomRules(r))
					}
				}
			}
			if r.IntN(2) == 0 {
				b.put(".git/info/exclude", randomRules(r))
			}
			if r.IntN(3) == 0 {
				b.put("x/repo/.git/info/exclude", randomRules(r))
			}
			_ = os.Symlink("a.go", filepath.Join(b.dir, "link.go"))
			_ = os.Symlink("sub", filepath.Join(b.dir, "linked"))
			all := 0
			input := tool.GrepInput{
				Pattern:    []string{"foo", "fo+", "(?i)foo", "bar$", "^foo", `\d`, "caf", "é", "x", "[ok]"}[r.IntN(10)],
				OutputMode: []string{tool.ModeContent, tool.ModeFiles, tool.ModeCount}[r.IntN(3)],
				Glob: []string{
					"", "", "", "", "*.go", "!*.go", "sub/**", "!sub", "**/deep/*", ".*", "*.{log,js}",
					"a.*",
				}[r.IntN(12)],
				Type:      []string{"", "", "", "go", "js", "py", "sh", "txt", "make", "golang"}[r.IntN(10)],
				Path:      []string{"", "", "", "sub", "x", "x/repo", "x/repo/sub", ".hidden"}[r.IntN(8)],
				HeadLimit: &all,
			}
			native, other := engines(t, b, input, rg)
			if d := cmp.Diff(other, native, tool.SameHits(input.OutputMode == tool.ModeCount)); d != "" {
				t.Errorf("%+v\n(-rg +ours):\n%s\n%s", input, d, treeOf(t, b.dir, home))
			}
		})
	}
}

func isFolder(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.IsDir()
}

// treeOf lists the files of folders, and what the ignore files say.
func treeOf(t *testing.T, dirs ...string) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			rel, _ := filepath.Rel(dir, path)
			out.WriteString(rel)
			if strings.HasSuffix(rel, "ignore") || strings.HasSuffix(rel, "exclude") {
				text, _ := os.ReadFile(path)
				fmt.Fprintf(&out, " %q", text)
			}
			out.WriteString("\n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestEveryTypeOfRipgrepIsKnown compares the types with those of the release of ripgrep that most systems have.
func TestEveryTypeOfRipgrepIsKnown(t *testing.T) {
	rg := newBench(t).env.Ripgrep()
	if rg == "" {
		t.Skip("ripgrep is not installed")
	}
	version, err := exec.Command(rg, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(version), "ripgrep 13.") {
		t.Skipf("the list is that of ripgrep 13, not of %.20q", version)
	}
	list, err := exec.Command(rg, "--no-config", "--type-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	compressed := []string{"brotli", "bzip2", "gzip", "lz4", "lzma", "xz", "zstd", "z", "pdf"}
	compared := 0
	for line := range strings.Lines(string(list)) {
		name, globs, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if slices.Contains(compressed, name) {
			continue
		}
		for g := range strings.SplitSeq(globs, ", ") {
			if name == "fut" {
				g = "*.fut" // ripgrep's star is missing
			}
			if !slices.Contains(tool.TypeGlobs(name), g) {
				t.Errorf("type %s lacks %s", name, g)
			}
			compared++
		}
	}
	if compared < 300 {
		t.Errorf("only %d globs", compared)
	}
}

// A type that this release of ripgrep may not know is searched in a tree that is large enough for it.
func TestATypeHasTheSameFilesInALargeTree(t *testing.T) {
	b := newBench(t)
	if b.env.Ripgrep() == "" {
		t.Skip("ripgrep is not installed")
	}
	for i := range tool.SmallTree + 10 {
		b.put(fmt.Sprintf("d%d/f%d.py", i%7, i), "needle\n")
		b.put(fmt.Sprintf("d%d/f%d.md", i%7, i), "needle\n")
	}
	for _, name := range []string{"py", "python"} {
		got := b.must("Grep", in{"pattern": "needle", "output_mode": "count", "type": name})
		wantIn(t, got, fmt.Sprintf("Total: %d in %d files.", tool.SmallTree+10, tool.SmallTree+10))
	}
	b.put("d1/new.svelte", "needle\n")
	if got := b.must("Grep", in{"pattern": "needle", "type": "svelte"}); got != "d1/new.svelte\n" {
		t.Errorf("%q", got)
	}
}
