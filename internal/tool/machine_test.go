//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestTheWorldSaysWhatLiesAtAPath(t *testing.T) {
	b := newBench(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := b.put("a.txt", "x")
	b.put("sub/b.txt", "x")
	link := func(name, target string) string {
		t.Helper()
		path := filepath.Join(b.dir, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hard := filepath.Join(b.dir, "hard")
	if err := os.Link(filepath.Join(b.dir, "sub/b.txt"), hard); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(b.dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w := b.env.Machine()
	for path, want := range map[string]permission.Node{
		file:                           {Real: file, Kind: permission.File, Links: 1},
		b.dir:                          {Real: b.dir, Kind: permission.Folder},
		hard:                           {Real: hard, Kind: permission.File, Links: 2},
		pipe:                           {Real: pipe, Kind: permission.Special},
		"/dev/null":                    {Real: "/dev/null", Kind: permission.Special},
		link("out", outside):           {Real: outside, Kind: permission.Folder},
		filepath.Join(b.dir, "out/x"):  {Real: outside + "/x", Kind: permission.Missing},
		link("dangling", "nowhere/x"):  {Real: b.dir + "/nowhere/x", Kind: permission.Missing},
		link("loop", "loop"):           {Real: b.dir + "/loop", Kind: permission.Unknown},
		filepath.Join(file, "below"):   {Real: file + "/below", Kind: permission.Missing},
		filepath.Join(b.dir, "none/x"): {Real: b.dir + "/none/x", Kind: permission.Missing},
		"relative":                     {Real: "relative", Kind: permission.Unknown},
		b.dir + "/nul\x00":             {Real: b.dir + "/nul\x00", Kind: permission.Unknown},
	} {
		if d := cmp.Diff(want, w.Stat(path)); d != "" {
			t.Errorf("%s:\n%s", path, d)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if w.Stat(file).Kind != permission.File || b.env.Machine().Stat(file).Kind != permission.Missing {
		t.Error("one world changes its answers, or the next one keeps them")
	}
}

func TestTheWorldHasTheRootsTheSessionMayWriteIn(t *testing.T) {
	b := newBench(t)
	added, readOnly := t.TempDir(), t.TempDir()
	if err := b.env.Roots.Add(added, false); err != nil {
		t.Fatal(err)
	}
	if err := b.env.Roots.Add(readOnly, true); err != nil {
		t.Fatal(err)
	}
	b.env.Environ = func() []string { return []string{"HOME=/first", "HOME=/home/u/"} }
	w := b.env.Machine()
	if d := cmp.Diff([]string{b.dir, added}, w.Roots()); d != "" {
		t.Error(d)
	}
	if w.Home() != "/home/u" {
		t.Error(w.Home())
	}
}

func TestProgramsAreTakenFromTheCleanPath(t *testing.T) {
	b := newBench(t)
	base := t.TempDir()
	program := func(path string) string {
		t.Helper()
		path = filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, target string) string {
		t.Helper()
		name = filepath.Join(base, name)
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	tool, many, versioned := program("tools/tool"), program("lib/many"), program("cellar/1.0/rg")
	link("tools/one", many)
	link("tools/rg", versioned)
	b.put("bin/ls", "#!/bin/sh\n")
	planted := filepath.Join(b.dir, "bin/ls")
	if err := os.Chmod(planted, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "tools/data"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.env.Environ = func() []string {
		return []string{"PATH=:.:bin:" + b.dir + "/bin:" + base + "/tools:/usr/bin:/bin"}
	}
	ls, err := exec.LookPath("/usr/bin/ls")
	if err != nil {
		t.Skip("there is no /usr/bin/ls here")
	}
	w := b.env.Machine()
	for _, tt := range []struct{ name, dir, want string }{
		{"tool", b.dir, tool},
		{"one", b.dir, base + "/tools/one"}, // by its own name, which tells its effects
		{"rg", b.dir, versioned},
		{"ls", b.dir + "/bin", ls},
		{"data", b.dir, ""},
		{"none", b.dir, ""},
		{"", b.dir, ""},
		{"bin/ls", b.dir, planted},
		{"./ls", b.dir, ""},
		{"./ls", b.dir + "/bin", planted},
		{planted, "/", planted},
		{base + "/tools/one", "/", base + "/tools/one"},
		{link("elsewhere", "/usr/bin/ls"), "/", ls},
		{"..", "/usr", ""},
	} {
		if got := w.Program(tt.name, tt.dir); got != tt.want {
			t.Errorf("%q from %s: %q, want %q", tt.name, tt.dir, got, tt.want)
		}
	}
}

func TestPatternsExpandAsInBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	b := newBench(t)
	for _, name := range []string{
		"a.go", "b.go", "c.txt", ".hidden", ".h/x.go", "sub/d.go", "sub/deep/e.go", "sub2/f.go", "A.go", "x y", "[b]", "a*b",
		`back\slash`, "-rf", "é.go", "a]b", "!x", "1", "10",
	} {
		b.put(name, "")
	}
	if err := os.Symlink("sub", filepath.Join(b.dir, "lsub")); err != nil {
		t.Fatal(err)
	}
	for _, pat := range []string{
		"*", "*.go", "?.go", ".*", ".h*/*", "*/*.go", "*/", "**", "**/*.go", "[ab].go", "[!a].go", "[^a].go", "[a-b]*",
		"[[:upper:]]*", "[[:digit:]]*", "sub*/*", "lsub/*",
		"a\\*b", "a\\**", "\\[b\\]", "[[]b]", "*\\ y", "back*", "-*", "[]a]*", "a]*", "[a", "[!]*", "\\!*", "none*",
		"./*.go", "../*/a.go", "sub/../*.go", "é*", "?", "??", "*/*/*",
		b.dir + "/*.go", "/*", "/usr/bi?", "[.]hidden", ".[h]idden", "{a,b}.go", "~*", "sub/", "s[u]b/d.go", "a.go*",
	} {
		cmd := exec.Command("bash", "--norc", "-c", "shopt -s nullglob; printf '%s\\0' "+strings.ReplaceAll(pat, "{a,b}",
			"\\{a,b\\}"))
		cmd.Dir, cmd.Env = b.dir, []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, p := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..") || p == "." || p == ".." { // left out by bash 5.2 too
				continue
			}
			if !filepath.IsAbs(p) {
				p = filepath.Join(b.dir, p)
			}
			if _, err := os.Lstat(p); err == nil && p != b.dir {
				want = append(want, filepath.Clean(p))
			}
		}
		got, more := b.env.Machine().Glob(pat, b.dir, 10_000)
		slices.Sort(want)
		if d := cmp.Diff(slices.Compact(want), got); d != "" || more {
			t.Errorf("%s, more %v:\n%s", pat, more, d)
		}
	}
	if got, more := b.env.Machine().Glob("*", b.dir, 3); len(got) != 3 || !more {
		t.Errorf("%d of at most 3, more %v", len(got), more)
	}
}

func TestAWorldTellsWhatGitWouldRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := newBench(t)
	cmd := exec.Command("git", "init", "-q", b.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.put("sub/x", "")
	if keys, err := b.env.Machine().GitKeys(b.dir+"/sub", permission.ProgramKeys); keys != nil || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
	b.put(".git/config", b.content(".git/config")+"[core]\nfsmonitor = ./evil\n")
	if keys, err := b.env.Machine().GitKeys(b.dir+"/sub", permission.ProgramKeys); !slices.Equal(keys,
		[]string{"core.fsmonitor"}) || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
}

func BenchmarkWorld(b *testing.B) {
	bench := newBench(b)
	file := bench.put("a/b/c.go", "")
	b.ReportAllocs()
	for b.Loop() {
		w := bench.env.Machine()
		w.Stat(file)
		w.Program("git", bench.dir)
		w.Program("ls", bench.dir)
	}
}
