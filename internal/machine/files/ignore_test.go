package files

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

// git runs the program without anybody's configuration.
func git(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"XDG_CONFIG_HOME=/nonexistent", "HOME=/nonexistent")
	cmd.Stdin = strings.NewReader(stdin)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("git %v: %v: %s", args, err, errOut.String())
	}
	return string(out)
}

// pieces of patterns and names that make the cases where matchers differ likely.
var (
	patternBits = []string{
		"*", "**", "?", "a", "b", "ab", "foo", "bar", ".x", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]",
		"[[:alpha:]]", `\a`, `\*`, "*.c", "foo*", "*bar", " ", "-", "[", "]", "!", "#", `\`, "[a-", "[[:digit:]b]",
	}
	nameBits = []string{"a", "b", "ab", "foo", "bar", "c", "foobar", "x.c", ".x", "a b", "1", "-", "*", "abc"}
)

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(6) == 0 {
		b.WriteString("!")
	}
	if r.IntN(5) == 0 {
		b.WriteString("/")
	}
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString("/")
		}
		for range 1 + r.IntN(3) {
			if r.IntN(3) == 0 {
				b.WriteString(nameBits[r.IntN(len(nameBits))])
				continue
			}
			b.WriteString(patternBits[r.IntN(len(patternBits))])
		}
	}
	if r.IntN(4) == 0 {
		b.WriteString("/")
	}
	if r.IntN(12) == 0 {
		b.WriteString("  ")
	}
	if r.IntN(12) == 0 {
		b.WriteString("\r")
	}
	return b.String()
}

func randomName(r *rand.Rand) string {
	s := ""
	for range 1 + r.IntN(2) {
		s += nameBits[r.IntN(len(nameBits))]
	}
	return s
}

// TestIgnoreRulesAgreeWithGit holds the walk against git check-ignore over random trees and nested rules.
// LATHE_TEST_TREES sets how many trees.
func TestIgnoreRulesAgreeWithGit(t *testing.T) {
	needGit(t)
	trees := 60
	if n, err := strconv.Atoi(os.Getenv("LATHE_TEST_TREES")); err == nil {
		trees = n
	}
	queries := 0
	for seed := range trees {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		dir := realTemp(t)
		git(t, dir, "", "init", "-q")
		rules := map[string]string{}
		all := randomTree(t, r, dir, rules)
		if r.IntN(2) == 0 {
			write(t, filepath.Join(dir, ".git/info/exclude"), randomPattern(r)+"\n"+randomPattern(r)+"\n")
		}
		queries += compareWithGit(t, seed, dir, all, rules)
	}
	t.Logf("%d queries in %d trees", queries, trees)
}

// randomTree makes folders, files and rules, and lists the files.
func randomTree(t *testing.T, r *rand.Rand, dir string, rules map[string]string) []string {
	t.Helper()
	dirs := []string{""}
	for range 6 {
		dirs = append(dirs, filepath.Join(dirs[r.IntN(len(dirs))], randomName(r)))
	}
	var all []string
	for _, d := range dirs {
		if os.MkdirAll(filepath.Join(dir, d), 0o755) != nil {
			continue // a file has that name
		}
		for range 4 {
			f := filepath.Join(d, randomName(r))
			if _, err := os.Lstat(filepath.Join(dir, f)); err == nil {
				continue
			}
			write(t, filepath.Join(dir, f), "x")
			all = append(all, f)
		}
		if _, done := rules[d]; !done && (r.IntN(2) == 0 || d == "") {
			var text string
			for range 1 + r.IntN(5) {
				text += randomPattern(r) + "\n"
			}
			if r.IntN(5) == 0 {
				text = strings.TrimSuffix(text, "\n")
			}
			write(t, filepath.Join(dir, d, ".gitignore"), text)
			rules[d] = text
			all = append(all, filepath.Join(d, ".gitignore"))
		}
	}
	return all
}

func compareWithGit(t *testing.T, seed int, dir string, all []string, rules map[string]string) int {
	t.Helper()
	out := git(t, dir, strings.Join(all, "\x00")+"\x00", "check-ignore", "-z", "--stdin", "--no-index")
	ignored := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	var want []string
	for _, f := range all {
		if !slices.Contains(ignored, f) {
			want = append(want, f)
		}
	}
	got := walked(t, dir, WalkOptions{Ignore: true, Enter: enterSource})
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("seed %d: walk and git differ\nonly git keeps: %q\nonly walk keeps: %q\nrules: %q",
			seed, minus(want, got), minus(got, want), rules)
	}
	return len(all)
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// walked lists the files that a walk of dir visits.
func walked(t *testing.T, dir string, opt WalkOptions) []string {
	t.Helper()
	r := newRoots(t, dir)
	p, err := r.Resolve(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := r.Walk(context.Background(), p, opt, func(e Entry) error {
		got = append(got, filepath.FromSlash(e.Rel))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

func newRoots(t testing.TB, dir string) *Roots {
	t.Helper()
	r, err := NewRoots(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestIgnoreFilesAboveTheStartCount(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, ".git/HEAD"), "")
	write(t, filepath.Join(dir, ".gitignore"), "*.log\nbuild/\n")
	write(t, filepath.Join(dir, "sub/a.log"), "")
	write(t, filepath.Join(dir, "sub/a.go"), "")
	write(t, filepath.Join(dir, "build/out.go"), "")
	write(t, filepath.Join(dir, "build/out.log"), "")
	if got := walked(t, filepath.Join(dir, "sub"), WalkOptions{Ignore: true}); !slices.Equal(got, []string{"a.go"}) {
		t.Errorf("below the repository's root: %q", got)
	}
	if got := walked(t, filepath.Join(dir, "build"), WalkOptions{Ignore: true}); len(got) != 2 {
		t.Errorf("in an ignored folder that was named: %q", got)
	}
}

func TestIgnoreFileBeatsGitignore(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, ".gitignore"), "a.txt\n")
	write(t, filepath.Join(dir, ".ignore"), "!a.txt\nb.txt\n")
	write(t, filepath.Join(dir, "a.txt"), "")
	write(t, filepath.Join(dir, "b.txt"), "")
	got := walked(t, dir, WalkOptions{Ignore: true})
	if !slices.Equal(got, []string{".gitignore", ".ignore", "a.txt"}) {
		t.Errorf("got %q", got)
	}
}

func TestANestedRepositoryHasItsOwnRules(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, ".git/HEAD"), "")
	write(t, filepath.Join(dir, ".gitignore"), "*.txt\n")
	write(t, filepath.Join(dir, "inner/.git/HEAD"), "")
	write(t, filepath.Join(dir, "inner/a.txt"), "")
	write(t, filepath.Join(dir, "b.txt"), "")
	got := walked(t, dir, WalkOptions{Ignore: true, Enter: enterSource})
	if !slices.Equal(got, []string{".gitignore", "inner/a.txt"}) {
		t.Errorf("got %q", got)
	}
}

func TestAHostilePatternTakesNoTime(t *testing.T) {
	pattern := strings.Repeat("*a", 40) + "b"
	if wildmatch(pattern, strings.Repeat("a", 5000)) {
		t.Error("matched")
	}
	deep := strings.Repeat("**/a", 30)
	if wildmatch(deep+"/b", strings.Repeat("a/", 60)+"c") {
		t.Error("matched")
	}
}

func FuzzWildmatch(f *testing.F) {
	for _, p := range patternBits {
		f.Add(p, "foo/bar")
	}
	f.Fuzz(func(_ *testing.T, pattern, name string) {
		if len(pattern) < 64 && len(name) < 64 {
			wildmatch(pattern, name)
			_ = fmt.Sprint(parseRules("/", pattern).verdictOf("/"+name, false))
		}
	})
}
