package tool

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
)

// past describes the repository of a folder for commands that print its history.
func (m *Machine) past(dir string, blobs []string) permission.Tree {
	var t permission.Tree
	if m.env.DeniedNames != nil {
		t.Denied = m.env.DeniedNames()
	}
	if t.Past.Free = m.secretsAreFree(dir); t.Past.Free {
		return t
	}
	repo, tracked, err := cmp.Or(m.env.tracked, new(indexFacts)).of(dir)
	if err != nil {
		t.Past.Free = errors.Is(err, errNoRepo) // git has no history to show
		return t
	}
	t.Past.Known, t.Past.Files, t.Past.Folders, t.Past.Templates = true, tracked.files, tracked.folders, tracked.templates
	for _, blob := range blobs {
		if at := tracked.blob(repo, blob); at != "" {
			if t.Past.Blobs == nil {
				t.Past.Blobs = map[string]string{}
			}
			t.Past.Blobs[blob] = at
		}
	}
	return t
}

// secretsAreFree reports whether the mode or rules allow reading files with secrets unasked.
func (m *Machine) secretsAreFree(dir string) bool {
	if m.env.MayRead == nil {
		return true
	}
	for _, name := range []string{".env", "server.pem", ".ssh/id_ed25519"} {
		if m.env.MayRead(filepath.Join(dir, name)) != permission.Allow {
			return false
		}
	}
	return true
}

// indexFacts caches facts about the files that git tracks until its index changes. It is safe for concurrent use.
type indexFacts struct {
	mu    sync.Mutex
	dir   string
	repo  git.Repo
	size  int64
	time  time.Time
	facts trackedFacts
	err   error
}

// trackedFacts are about the tracked files of one repository.
type trackedFacts struct {
	files, folders []string // see [permission.Past]
	templates      bool
}

var errNoRepo = errors.New("the folder is in no repository")

// of finds the repository of a folder and the facts about it.
func (t *indexFacts) of(dir string) (git.Repo, trackedFacts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == dir {
		if info, err := os.Stat(indexOf(t.repo)); err == nil && t.size == info.Size() && t.time.Equal(info.ModTime()) {
			return t.repo, t.facts, t.err
		}
	}
	repo, ok := git.Find(dir)
	if !ok && !git.Bare(dir) {
		return repo, trackedFacts{}, errNoRepo
	}
	info, err := os.Stat(indexOf(repo))
	facts, failed := readTracked(repo)
	// a later write in the same clock tick would go unnoticed
	if t.dir = ""; err == nil && time.Since(info.ModTime()) > fresh {
		t.dir, t.repo, t.size, t.time, t.facts, t.err = dir, repo, info.Size(), info.ModTime(), facts, failed
	}
	return repo, facts, failed
}

func indexOf(r git.Repo) string { return filepath.Join(r.GitDir, "index") }

// fresh is the age below which a file's mtime cannot rule out a later write.
const fresh = 50 * time.Millisecond

func readTracked(repo git.Repo) (f trackedFacts, err error) {
	if repo.GitDir == "" {
		return f, errors.New("a bare repository has no index")
	}
	err = git.Tracked(repo, func(file, _ []byte) {
		name, folder, template := permission.SecretPath(string(file))
		f.templates = f.templates || template
		list := &f.files
		if folder {
			list = &f.folders
		}
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	})
	return f, err
}

// blob returns a tracked file with this content hash, preferably one that holds secrets; "" if there is none.
func (trackedFacts) blob(repo git.Repo, hash string) string {
	hash = strings.ToLower(hash)
	want, err := hex.DecodeString(hash[:len(hash)/2*2])
	if err != nil || len(want) < 2 {
		return ""
	}
	found, secret := "", ""
	_ = git.Tracked(repo, func(file, blob []byte) {
		if secret != "" || !bytes.HasPrefix(blob, want) || !strings.HasPrefix(git.Blob(blob), hash) {
			return
		}
		if secret, _, _ = permission.SecretPath(string(file)); secret != "" || found == "" {
			found = filepath.Join(repo.Root, string(file))
		}
	})
	return found
}
