package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Repo is a repository with a work tree, as its files tell without running git.
type Repo struct {
	Root      string // top folder of the work tree
	GitDir    string // where HEAD is; for a linked worktree below the main repository's .git
	CommonDir string // where the configuration and the references are; GitDir but for linked worktrees
	Branch    string // empty when HEAD is detached or cannot be told without git
	Head      string // the commit's id in full, or empty when there is none yet or it cannot be told
	Main      string // the branch that origin/HEAD names ("main"), else main or master, or empty
	Worktree  bool   // a linked worktree
}

// Find looks for the repository that dir is in, upwards. It starts no process and follows git's rules:
// the first folder whose .git is a repository, or a file that leads to one.
func Find(dir string) (Repo, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, false
	}
	for {
		if r, ok := open(dir); ok {
			return r, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Repo{}, false
		}
		dir = parent
	}
}

func open(root string) (Repo, bool) {
	dot := filepath.Join(root, ".git")
	fi, err := os.Stat(dot)
	if err != nil {
		return Repo{}, false
	}
	r := Repo{Root: root, GitDir: dot}
	if !fi.IsDir() {
		target, ok := strings.CutPrefix(line(dot), "gitdir: ")
		if !ok {
			return Repo{}, false
		}
		r.GitDir = absolute(root, target)
	}
	r.CommonDir = r.GitDir
	if common := line(filepath.Join(r.GitDir, "commondir")); common != "" {
		r.CommonDir = absolute(r.GitDir, common)
		r.Worktree = true
	}
	head := line(filepath.Join(r.GitDir, "HEAD"))
	if head == "" || !isDir(filepath.Join(r.CommonDir, "objects")) || !isDir(filepath.Join(r.CommonDir, "refs")) {
		return Repo{}, false
	}
	r.readHead(head)
	if main, ok := strings.CutPrefix(line(filepath.Join(r.CommonDir, "refs/remotes/origin/HEAD")),
		"ref: refs/remotes/origin/"); ok {
		r.Main = main
	} else {
		r.Main = r.usualMain()
	}
	return r, true
}

// usualMain is main or master, where there is such a branch.
func (r *Repo) usualMain() string {
	for _, name := range []string{"main", "master"} {
		if line(filepath.Join(r.CommonDir, "refs/heads", name)) != "" || r.packed("refs/heads/"+name) != "" {
			return name
		}
	}
	return ""
}

// readHead reads HEAD. With the reftable format HEAD names refs/heads/.invalid, and only git can tell.
func (r *Repo) readHead(head string) {
	ref, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic {
		r.Head = commitID(head)
		return
	}
	if ref == "refs/heads/.invalid" {
		return
	}
	r.Branch = strings.TrimPrefix(ref, "refs/heads/")
	if !strings.HasPrefix(ref, "refs/") || strings.Contains(ref, "..") {
		return
	}
	if r.Head = commitID(line(filepath.Join(r.CommonDir, filepath.FromSlash(ref)))); r.Head == "" {
		r.Head = r.packed(ref)
	}
}

// packed looks a reference up in packed-refs; a file of more than 4 MiB is left to git.
func (r *Repo) packed(ref string) string {
	b, err := readSmall(filepath.Join(r.CommonDir, "packed-refs"), 4<<20)
	if err != nil {
		return ""
	}
	for l := range bytes.Lines(b) {
		id, name, ok := strings.Cut(strings.TrimSpace(string(l)), " ")
		if ok && name == ref {
			return commitID(id)
		}
	}
	return ""
}

// commitID is s if it looks like a SHA-1 or SHA-256.
func commitID(s string) string {
	if (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == "" {
		return s
	}
	return ""
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// line is the only line of a small file, or empty.
func line(path string) string {
	b, err := readSmall(path, 4<<10)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(b), "\r\n")
}

var errNotSmall = errors.New("not a small regular file")

// readSmall reads a regular file of at most limit bytes: a repository may hold a FIFO or a device instead.
func readSmall(path string, limit int64) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotSmall}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}
