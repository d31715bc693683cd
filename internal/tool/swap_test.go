//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/permission"
)

const secret = "the secret outside\n"

// swapBench has a file in the workspace, and one outside that nobody may reach.
func swapBench(t testing.TB) (b *bench, outside string) {
	t.Helper()
	b = newBench(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside = filepath.Join(dir, "f.txt")
	if err := os.WriteFile(outside, []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	b.put("dir/f.txt", "harmless\n")
	return b, outside
}

// swaps put something else in the place of a path after it was approved.
var swaps = map[string]func(b *bench, file, outside string) error{
	"the file became a link": func(_ *bench, file, outside string) error {
		os.Remove(file)
		return os.Symlink(outside, file)
	},
	"the file became a hard link": func(_ *bench, file, outside string) error {
		os.Remove(file)
		return os.Link(outside, file)
	},
	"another name was put over the file": func(_ *bench, file, outside string) error {
		if err := os.Link(outside, file+".new"); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	},
	"the folder became a link": func(b *bench, file, outside string) error {
		if err := os.Rename(filepath.Dir(file), filepath.Join(b.dir, "old")); err != nil {
			return err
		}
		return os.Symlink(filepath.Dir(outside), filepath.Dir(file))
	},
	"another folder took its place": func(b *bench, file, outside string) error {
		if err := os.Rename(filepath.Dir(file), filepath.Join(b.dir, "old")); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.Link(outside, file)
	},
	"the file became a pipe": func(_ *bench, file, _ string) error {
		os.Remove(file)
		return unix.Mkfifo(file, 0o600)
	},
}

func TestWhatIsSwappedAfterTheApprovalIsNotTouched(t *testing.T) {
	calls := []sample{
		{"Read", in{"file_path": "dir/f.txt"}},
		{"Write", in{"file_path": "dir/f.txt", "content": "new\n"}},
		{"Edit", in{"file_path": "dir/f.txt", "old_string": "harmless", "new_string": "new"}},
		{"Write", in{"file_path": "dir/n.txt", "content": "new\n"}},
	}
	for name, swap := range swaps {
		for _, c := range calls {
			t.Run(name+"/"+c.tool+filepath.Base(c.input["file_path"].(string)), func(t *testing.T) {
				b, outside := swapBench(t)
				b.read("dir/f.txt")
				file := filepath.Join(b.dir, c.input["file_path"].(string))
				b.env.Cache.Clear()
				plan, err := b.prepare(c.tool, c.input)
				if err != nil {
					t.Fatal(err)
				}
				defer plan.Close()
				if err := swap(b, file, outside); err != nil {
					t.Fatal(err)
				}
				r, err := plan.Run(t.Context())
				if err == nil && c.tool != "Read" && !inOld(b, file) {
					t.Errorf("it ran: %s", text(r))
				}
				if err == nil && strings.Contains(text(r), "secret") || err != nil && strings.Contains(err.Error(), "secret") {
					t.Error("the secret got out")
				}
				if data, err := os.ReadFile(outside); err != nil || string(data) != secret {
					t.Errorf("the file outside is %q, %v", data, err)
				}
				if list, _ := os.ReadDir(filepath.Dir(outside)); len(list) != 1 {
					t.Errorf("something was made outside: %v", list)
				}
			})
		}
	}
}

// inOld reports whether the approved place was moved away as a whole: to write there is as good.
func inOld(b *bench, file string) bool {
	_, err := os.Stat(filepath.Join(b.dir, "old", filepath.Base(file)))
	return err == nil
}

func TestAFolderThatIsSwappedIsNotListed(t *testing.T) {
	b, outside := swapBench(t)
	b.put("other/secret.txt", "")
	for _, target := range []string{"other", filepath.Dir(outside)} {
		plan, err := b.prepare("Read", in{"file_path": "dir"})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(b.dir, "dir")
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, dir); err != nil {
			t.Fatal(err)
		}
		if r, err := plan.Run(t.Context()); err == nil {
			t.Errorf("%s was listed: %s", target, text(r))
		}
		plan.Close()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+".old", dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAccessesSayWhatLiesThere(t *testing.T) {
	b, outside := swapBench(t)
	if err := os.Symlink(outside, filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, filepath.Join(b.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out", "hard", "dir/f.txt"} {
		b.read(name)
	}
	for _, tt := range []struct {
		tool  string
		input in
		want  permission.Access
	}{
		{"Read", in{"file_path": "dir/f.txt"}, permission.Access{
			Kind: permission.Read, Class: permission.ClassRead,
			Target: b.dir + "/dir/f.txt", Node: permission.File, Links: 1,
		}},
		{"Read", in{"file_path": "dir"}, permission.Access{
			Kind: permission.Read, Class: permission.ClassRead,
			Target: b.dir + "/dir", Node: permission.Folder,
		}},
		{"Read", in{"file_path": "out"}, permission.Access{
			Kind: permission.Read, Class: permission.ClassRead,
			Target: outside, Named: b.dir + "/out", Node: permission.File, Links: 2,
		}},
		{"Write", in{"file_path": "out", "content": ""}, permission.Access{
			Kind: permission.Write, Target: outside,
			Named: b.dir + "/out", Node: permission.File, Links: 2,
		}},
		{"Write", in{"file_path": "hard", "content": ""}, permission.Access{
			Kind: permission.Write, Target: b.dir + "/hard",
			Node: permission.File, Links: 2,
		}},
		{"Edit", in{"file_path": "hard", "old_string": "the", "new_string": "a"}, permission.Access{
			Kind:   permission.Write,
			Target: b.dir + "/hard", Node: permission.File, Links: 2,
		}},
		{"Write", in{"file_path": "new/x", "content": ""}, permission.Access{Kind: permission.Write, Target: b.dir +
			"/new/x", Node: permission.Missing}},
		{"Grep", in{"pattern": "x", "path": "dir"}, permission.Access{
			Kind: permission.Read, Class: permission.ClassSearch,
			Target: b.dir + "/dir", Node: permission.Folder,
		}},
	} {
		plan, err := b.prepare(tt.tool, tt.input)
		if err != nil {
			t.Errorf("%s %v: %v", tt.tool, tt.input, err)
			continue
		}
		if d := cmp.Diff([]permission.Access{tt.want}, plan.Accesses); d != "" {
			t.Errorf("%s %v:\n%s", tt.tool, tt.input, d)
		}
		if plan.Close != nil {
			plan.Close()
		}
	}
}

func TestAReadFollowsAFileThatIsReplacedInItsPlaceOnly(t *testing.T) {
	b, outside := swapBench(t)
	file := filepath.Join(b.dir, "dir/f.txt")
	replace := func(how func(name string) error) (string, error) {
		plan, err := b.prepare("Read", in{"file_path": "dir/f.txt"})
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		fresh := file + ".new"
		if err := how(fresh); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, file); err != nil {
			t.Fatal(err)
		}
		r, err := plan.Run(t.Context())
		if err != nil {
			return "", err
		}
		return text(r), nil
	}
	got, err := replace(func(name string) error { return os.WriteFile(name, []byte("another\n"), 0o644) })
	if err != nil || !strings.Contains(got, "another") { // as an editor saves it
		t.Errorf("%q, %v", got, err)
	}
	if got, err := replace(func(name string) error { return os.Link(outside, name) }); err == nil {
		t.Errorf("a second name of a file outside was read: %q", got)
	}
	if got, err := replace(func(name string) error { return os.Symlink(outside, name) }); err == nil {
		t.Errorf("a link that leads out was read: %q", got)
	}
}
