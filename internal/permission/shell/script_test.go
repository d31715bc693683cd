package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

// machine is the world as it is, with one folder as home and root.
type machine struct{ home, root string }

func (m machine) Home() string    { return m.home }
func (m machine) Roots() []string { return []string{m.root} }

func (machine) Stat(path string) permission.Node {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return permission.Node{Real: path, Kind: permission.Missing}
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return permission.Node{Real: real, Kind: permission.Unknown}
	case info.IsDir():
		return permission.Node{Real: real, Kind: permission.Folder}
	case info.Mode().IsRegular():
		return permission.Node{Real: real, Kind: permission.File}
	}
	return permission.Node{Real: real, Kind: permission.Special}
}

func (machine) Program(name, dir string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
	} else if found, err := exec.LookPath(name); err == nil {
		name = found
	} else {
		return ""
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	return real
}

func (machine) GitKeys(string, permission.KeyKind) ([]string, error) { return nil, nil }

func (machine) Names(string, int) ([]string, bool) { return nil, true }

func (machine) Tree(string, permission.TreeOptions) permission.Tree {
	return permission.Tree{Listed: true, Past: permission.Past{Free: true}}
}

func (machine) Glob(pattern, dir string, most int) ([]string, bool) {
	if !filepath.IsAbs(pattern) {
		pattern = dir + "/" + pattern
	}
	all, err := filepath.Glob(pattern)
	if err != nil {
		return nil, false
	}
	var found []string
	for _, f := range all {
		if !strings.HasPrefix(filepath.Base(f), ".") {
			found = append(found, f)
		}
	}
	return found[:min(len(found), most)], len(found) > most
}

// workshop makes a folder with a few files of every sort that the cases name.
func workshop(t *testing.T) machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "proj")
	files := map[string]string{
		"main.go": "package main\n\nfunc main() {} // TODO\n", "go.mod": "module x\n", "README.md": "# read\nme foo\n",
		"src/main.go": "package src\n// foo\n",
		"a.txt":       "foo\nbar\nfoo\n", "b.txt": "foo\nqux\n", "notes.txt": "one\ntwo\nfoo\n",
		"names.txt": "zoe\nann\nann\n", "table.csv": "a,b,c\nd,e,f\n", "build.log": "ok\nerror: x\n",
		"docs/guide.md": "guide\n", "it's.md": "odd name\n", "two words.txt": "blank in the name\n", "$x.md": "dollar\n",
		"package.json": "{\"scripts\":{\"a\":\"b\"}}\n",
		"table.txt":    "a b\nc d\n", "data.bin": "\x00\x01\x02abc\n", "größe.txt": "big\n", "Makefile": "all:\n\techo hi\n",
		"util.go": "package main\n", "dos.txt": "a\r\nb\r\n",
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine{home: dir, root: root}
}

// tame is the environment that both runs get.
func tame(m machine) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "LC_ALL=C.UTF-8", "TERM=dumb", "GIT_PAGER=cat",
		"PAGER=cat", "GIT_CEILING_DIRECTORIES=" + m.home, "GIT_CONFIG_GLOBAL=/dev/null",
	}
}

func bash(t *testing.T, m machine, text string) string {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", text)
	cmd.Dir, cmd.Env = m.root, tame(m)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	code := "0"
	if err != nil {
		code = err.Error()
	}
	return string(out) + "\n" + code
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The script runs in place of the line, so it must have the same effect.
func TestTheScriptDoesWhatTheLineDoes(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	m := workshop(t)
	ran := 0
	more := []string{
		"x=1; echo $x", "V=$(echo a b); echo $V", "f=a.txt; wc -l \"$f\"",
		"n=$(wc -l < a.txt); echo \"$n lines\"", "find . -name a.txt | xargs wc -c", "find . -name a.txt -exec wc -l {} +",
		"ls *", "cat *.md", "wc -l *", "wc -c *.txt", "cat ./*.txt", "ls nosuch*", "grep -c foo *.txt", "ls -d *",
		"cat it\\'s.md", "cat 'two words.txt'", "cat two\\ words.txt", `cat \$x.md`, "head -n1 *.go",
	}
	for _, line := range append(permissiontest.Lines(t, "harmless.txt"), more...) {
		switch first, _, _ := strings.Cut(line, " "); first {
		case "date", "uptime", "free", "ps", "df", "time", "du", "stat", "tty":
			continue // differs from one moment to the next
		}
		r := Analyze(strings.ReplaceAll(line, "/home/u", m.home), m.root, m)
		if r.Command.Script == "" {
			continue
		}
		ran++
		want, got := bash(t, m, strings.ReplaceAll(line, "/home/u", m.home)), bash(t, m, r.Command.Script)
		if strings.HasPrefix(line, "rg ") || strings.HasPrefix(line, "fd ") {
			want, got = sorted(want), sorted(got) // they look at several files at a time
		}
		if got != want && strings.Contains(line, "date") { // a second may have gone by
			want, got = bash(t, m, line), bash(t, m, r.Command.Script)
		}
		if got != want {
			t.Errorf("%q prints\n%s\nits script %s prints\n%s", line, want, r.Command.Script, got)
		}
	}
	if err := os.WriteFile(filepath.Join(m.root, "-R"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.root, "@args"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := Analyze("cat *", m.root, m); !strings.Contains(r.Command.Script, "'./@args'") {
		t.Errorf("a file named @args becomes more words: %s", r.Command.Script)
	}
	if r := Analyze("ls *", m.root, m); !strings.Contains(r.Command.Script, "'./-R'") {
		t.Errorf("a file named like a flag becomes one: %s", r.Command.Script)
	}
	if ran < 100 {
		t.Errorf("only %d lines had a script", ran)
	}
}
