package boundary

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// temps is the folder of the sessions' temporary folders. It is not in /tmp, which cannot show through a folder of its
// own, and commands do not see it.
func (b *Boundary) temps() string { return filepath.Join(b.o.Cache, "sandbox", "tmp") }

// makeTemp makes the session's temporary folder, with tmp and work, and removes those that killed sessions left a week
// ago.
func (b *Boundary) makeTemp() (string, error) {
	parent := b.temps()
	if err := errors.Join(os.MkdirAll(parent, 0o700), os.MkdirAll(b.cache(), 0o700)); err != nil {
		parent, b.noCache = "", true // the caches are the session's then
	}
	old, _ := os.ReadDir(b.temps())
	for _, e := range old {
		const week = 7 * 24 * time.Hour
		if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > week {
			_ = os.RemoveAll(filepath.Join(b.temps(), e.Name())) // what cannot be removed stays until the next time
		}
	}
	dir, err := os.MkdirTemp(parent, "lathe-sandbox-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Mkdir(filepath.Join(dir, "work"), 0o700))
}

// overlays lets the machine's /tmp and, for a command that may build, the user's cache of Go's builds show through the
// folders that take their changes.
func (b *Boundary) overlays(p *confine.Policy) error {
	if !b.standard || b.support().Tier != confine.Full {
		return nil
	}
	work := filepath.Join(b.temp, "work")
	p.TempWork = filepath.Join(work, "tmp")
	err := os.MkdirAll(p.TempWork, 0o700)
	if dir := b.goCache(); dir != "" && p.Mode == confine.Workspace && !b.noCache {
		o := confine.Overlay{
			Dir: dir, Upper: filepath.Join(b.cache(), "go-build-changes"), Work: filepath.Join(work, "go-build"),
		}
		p.Overlay = append(p.Overlay, o)
		err = errors.Join(err, os.MkdirAll(o.Upper, 0o700), os.MkdirAll(o.Work, 0o700))
	}
	return err
}

// private makes the folder of the files that lathe shares with one command. The others do not see it: see temps.
func (b *Boundary) private(p *confine.Policy) error {
	dir, err := os.MkdirTemp(b.layers(), "c")
	p.Private = dir
	return err
}

// Seen returns the place of a path in /tmp that a command made: it is in the session's temporary folder. Any other path
// it returns as it is.
func (b *Boundary) Seen(path string) string {
	if b == nil || !within(path, "/tmp") || path == "/tmp" {
		return path
	}
	b.mu.Lock()
	dir := b.temp
	b.mu.Unlock()
	if dir == "" {
		return path
	}
	inside := filepath.Join(dir, "tmp", path[len("/tmp/"):])
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	if _, err := os.Lstat(inside); err != nil {
		return path
	}
	return inside
}

// tmpNames are the secrets in the machine's /tmp, where it shows through. It may have thousands of files, so it is read
// once, and then the kernel reports the names that appear.
type tmpNames struct {
	mu    sync.Mutex
	news  arrivals
	found []string
}

// secrets returns tickets and folders of sockets. Some may be gone.
func (t *tmpNames) secrets(p *confine.Policy) []string {
	if p.TempWork == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	names, all := t.news.since("/tmp")
	if all {
		t.found = t.found[:0]
	}
	for _, name := range names {
		for _, prefix := range [...]string{"krb5cc", "ssh-", "tmux-", ".X11-unix", ".ICE-unix", "gpg-"} {
			if path := "/tmp/" + name; strings.HasPrefix(name, prefix) && !slices.Contains(t.found, path) {
				t.found = append(t.found, path)
			}
		}
	}
	return t.found
}

func (t *tmpNames) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.news.close()
}

// namesIn returns the names in a folder, none if it cannot be read.
func namesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}
