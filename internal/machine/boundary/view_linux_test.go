package boundary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/permission"
)

// viewed runs a line in a private view of the project.
func viewed(t *testing.T, b *boundary.Boundary, dir, line string) (*boundary.Run, int, string) {
	t.Helper()
	r, err := b.ForCopy([]string{dir}, nil, permission.ReachView, boundary.Network{}, same)
	if err != nil {
		t.Fatal(err)
	}
	code, out := start(t, r, dir, line)
	r.Done()
	t.Cleanup(r.Drop)
	if !r.Viewed() {
		t.Fatalf("there is no view: %d %s", code, out)
	}
	return r, code, out
}

// shape is one line for each change: the path, what it is now and what it was.
func shape(t *testing.T, r *boundary.Run, dir string) (lines []string) {
	t.Helper()
	changes, err := r.Changes()
	if err != nil {
		t.Fatal(err)
	}
	kind := func(fi os.FileInfo) string {
		switch {
		case fi == nil:
			return "-"
		case fi.IsDir():
			return "folder"
		case fi.Mode()&os.ModeSymlink != 0:
			return "link"
		}
		return fmt.Sprintf("%o", fi.Mode().Perm())
	}
	for _, c := range changes {
		rel, _ := filepath.Rel(dir, c.Path)
		lines = append(lines, fmt.Sprintf("%s %s>%s", rel, kind(c.Was), kind(c.Info)))
	}
	return lines
}

func TestACommandSeesItsChangesAndTheProjectStaysAsItIs(t *testing.T) {
	for _, tt := range []struct {
		line string
		want string
	}{
		{"cat a.txt; touch a.txt", ""},
		{"echo new >a.txt; cat a.txt", "a.txt 644>644"},
		{"chmod 755 a.txt", "a.txt 644>755"},
		{"rm a.txt; test ! -e a.txt", "a.txt 644>-"},
		{"mkdir made; echo x >made/b; ln -s b made/l", "made ->folder, made/b ->644, made/l ->link"},
		{"rm -r sub", "sub folder>-, sub/d 644>-, sub/deep folder>-, sub/deep/c 644>-"},
		{"rm -r sub; mkdir sub; echo x >sub/e", "sub/d 644>-, sub/deep folder>-, sub/deep/c 644>-, sub/e ->644"},
		{"mv sub moved", "moved ->folder, moved/d ->644, moved/deep ->folder, moved/deep/c ->644, " +
			"sub folder>-, sub/d 644>-, sub/deep folder>-, sub/deep/c 644>-"},
		{"rm a.txt; ln -s sub/d a.txt", "a.txt 644>link"},
		{"rm -r sub; echo x >sub", "sub folder>-, sub folder>644, sub/d 644>-, sub/deep folder>-, sub/deep/c 644>-"},
		{"rm a.txt; mkdir a.txt; echo x >a.txt/f", "a.txt 644>-, a.txt 644>folder, a.txt/f ->644"},
		{"cp a.txt b.txt; mv b.txt a.txt", ""},
		{`printf 'a\n' >a.txt`, ""},
	} {
		p := newPlace(t)
		b := p.open(t, "")
		for name, text := range map[string]string{"a.txt": "a\n", "sub/d": "d\n", "sub/deep/c": "c\n"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, code, out := viewed(t, b, p.dir, "set -e; "+tt.line)
		if code != 0 {
			t.Errorf("%s: %d %s", tt.line, code, out)
		}
		if got := strings.Join(shape(t, r, p.dir), ", "); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.line, got, tt.want)
		}
		for name, text := range map[string]string{"a.txt": "a\n", "sub/d": "d\n", "sub/deep/c": "c\n"} {
			if now, err := os.ReadFile(filepath.Join(p.dir, name)); string(now) != text || err != nil {
				t.Errorf("%s changed %s in the project: %q %v", tt.line, name, now, err)
			}
		}
	}
}

func TestAFileThatSomebodyElseChangedMeanwhileIsLate(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	write(t, p.dir+"/a.txt", "a")
	write(t, p.dir+"/b.txt", "b")
	time.Sleep(20 * time.Millisecond) // the kernel's clock of files is coarse
	r, _, _ := viewed(t, b, p.dir, "echo mine >a.txt; echo mine >b.txt")
	write(t, p.dir+"/b.txt", "theirs")
	changes, err := r.Changes()
	if err != nil || len(changes) != 2 || changes[0].Late || !changes[1].Late {
		t.Fatalf("%+v %v", changes, err)
	}
}

func TestAReadOnlyProjectIsNotChanged(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	write(t, p.dir+"/a.txt", "a")
	r, err := b.ForCopy([]string{p.dir}, nil, permission.ReachRead, boundary.Network{}, same)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Done()
	code, out := start(t, r, p.dir, "cat a.txt && echo x >/tmp/own && ! echo b >a.txt && ! touch c && ! rm a.txt")
	if code != 0 || !strings.HasPrefix(out, "a") {
		t.Errorf("%d %s", code, out)
	}
	if text, _ := os.ReadFile(p.dir + "/a.txt"); string(text) != "a" {
		t.Errorf("it says %q", text)
	}
}

func TestAFolderWithOddCharactersHasAView(t *testing.T) {
	p := newPlace(t)
	dir := filepath.Join(p.dir, `a:b,c\d "e" ü`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.dir = dir
	write(t, dir+"/f", "x")
	r, code, out := viewed(t, p.open(t, ""), dir, "cat f && rm f && echo y >g")
	if got := strings.Join(shape(t, r, dir), ", "); code != 0 || got != "f 600>-, g ->644" {
		t.Errorf("%d %s: %s", code, out, got)
	}
}

// same is where a path lies that no copy moved.
func same(path string) string { return path }

func TestAViewThatGrowsBeyondMemoryMovesToTheDisk(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"viewMemoryMB": 1}`)
	line := "head -c 3000000 /dev/zero >big; sleep 5; echo over"
	for _, want := range []string{"", "over\n"} {
		if want != "" {
			line = "head -c 3000000 /dev/zero >big; sleep 0.5; echo over"
		}
		r, err := b.ForCopy([]string{p.dir}, nil, permission.ReachView, boundary.Network{}, same)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(r.Policy.View[0].Upper, "/dev/shm/") && want == "" {
			t.Skip("this machine has no room in memory")
		}
		_, out := start(t, r, p.dir, line)
		r.Drop()
		lines := strings.Join(r.Done(), "\n")
		if out != want || (want == "") != strings.Contains(lines, "more than 1 MB") {
			t.Errorf("%q, %s", out, lines)
		}
	}
}
