package boundary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyConfigurationsOfGitInitAndGitCloneArePlain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	for text, want := range map[string]bool{
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n":                            true,
		"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://h/x\n\tfetch = +a:b\n": true,
		"[branch \"main\"]\n\tremote = origin\n[user]\n\tname = A\n":                         true,
		"[core]\n\tfsmonitor = ./x\n":                                                        false,
		"[core] fsmonitor = \"touch X; false\" #]\n":                                         false,
		"[core]fsmonitor=x ;]\n":                                                             false,
		"[remote \"a]\"]uploadpack=x #]\n":                                                   false,
		"[remote \"o\"]\n\turl = ext::sh -c x\n":                                             false,
		"[alias]\n\tst = !x\n":                                                               false,
		"[include]\n\tpath = x\n":                                                            false,
		"\ufeff[core] fsmonitor = x #]\n":                                                    false,
	} {
		write(t, path, text)
		if got := plainConfig(path); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestNamesAreSetAsideWithoutFollowingLinks(t *testing.T) {
	top := t.TempDir()
	root, aside, secret := filepath.Join(top, "p"), filepath.Join(top, "aside"), filepath.Join(top, "ssh", "config")
	write(t, secret, "Host x\n")
	write(t, filepath.Join(root, "a.go"), "package a\n")
	w := newWatch(append(watchedIn(root), protectedIn(root)...))
	if err := os.Symlink(filepath.Join(top, "ssh"), filepath.Join(root, ".git")); err != nil {
		t.Skip(err)
	}
	lines, _ := w.sweep(aside)
	if _, err := os.Stat(secret); err != nil {
		t.Errorf("a file of the user was moved: %v, %q", err, lines)
	}
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil || len(lines) != 1 {
		t.Errorf("the link stays: %v, %q", err, lines)
	}
}

func TestAFolderDoesNotBecomeARepositoryThatLeadsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		make func(root string)
		gone string // set aside; "": nothing is
	}{
		"a file .git": {func(root string) { write(t, filepath.Join(root, ".git"), "gitdir: evil\n") }, ".git"},
		"a repository itself": {func(root string) {
			write(t, filepath.Join(root, "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(root, "objects", "x"), "")
			write(t, filepath.Join(root, "refs", "x"), "")
			write(t, filepath.Join(root, "config"), "[core]\n\tfsmonitor = x\n")
		}, "HEAD"},
		"git init": {func(root string) {
			write(t, filepath.Join(root, ".git", "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(root, ".git", "config"), "[core]\n\tbare = false\n")
		}, ""},
		"a file HEAD": {func(root string) { write(t, filepath.Join(root, "HEAD"), "x") }, ""},
	} {
		top := t.TempDir()
		root := filepath.Join(top, "p")
		write(t, filepath.Join(root, "a.go"), "package a\n")
		w := newWatch(append(watchedIn(root), protectedIn(root)...))
		c.make(root)
		lines := strings.Join(swept(w, filepath.Join(top, "aside")), "\n")
		if c.gone == "" && lines != "" || c.gone != "" && !strings.Contains(lines, filepath.Join(root, c.gone)+
			" is protected") {
			t.Errorf("%s: %q", name, lines)
		}
		if _, err := os.Lstat(filepath.Join(root, c.gone)); c.gone != "" && err == nil {
			t.Errorf("%s: it stays", name)
		}
	}
}

func TestALinkThatWasThereIsSetAsideWhenItLeadsElsewhere(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "p")
	write(t, filepath.Join(root, "a.go"), "package a\n")
	for _, to := range []string{"one", "two"} {
		write(t, filepath.Join(top, to, "settings.json"), "{}")
	}
	link := filepath.Join(root, ".claude")
	if err := os.Symlink(filepath.Join(top, "one"), link); err != nil {
		t.Skip(err)
	}
	w := newWatch(append(watchedIn(root), protectedIn(root)...))
	if lines := swept(w, filepath.Join(top, "aside")); len(lines) != 0 {
		t.Errorf("nothing changed, but %q", lines)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "two"), link); err != nil {
		t.Fatal(err)
	}
	if lines := swept(w, filepath.Join(top, "aside")); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

func swept(w watch, aside string) []string {
	lines, _ := w.sweep(aside)
	return lines
}

func TestFoldersAreOpenedWithoutFollowingLinks(t *testing.T) {
	top := t.TempDir()
	work, outside := filepath.Join(top, "work"), filepath.Join(top, "outside")
	write(t, filepath.Join(work, "shut", "file"), "x")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(work, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(filepath.Join(work, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	openFolders(work)
	if fi, err := os.Stat(outside); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("a folder that a link leads to has the mode %v, %v", fi.Mode(), err)
	}
	if err := os.RemoveAll(work); err != nil {
		t.Error(err)
	}
}
