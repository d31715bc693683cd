package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
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

func (machine) Tracked(string, string) string { return "" }

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
