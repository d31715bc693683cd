package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Target is a file held for reading and writing: the folder it is in (or the nearest one that exists) is
// open, so that later steps act on the resolved file and not on the path's meaning by then.
type Target struct {
	Path Path
	// Mode is the permission bits of a content that Replace writes. 0: those of the old file; of a new one, as the umask
	// allows.
	Mode fs.FileMode
	// Temp is the temporary name that Replace uses if it needs one, from [TempName]; empty: one that nobody knows.
	Temp string
	dir  *os.Root // the nearest folder that exists
	at   string   // the real path of dir
	rel  string   // the file below dir
	file *os.File // the file itself, opened by Pin
	lost error    // why Pin could not
}

// ErrMoved means that a path no longer leads to the resolved file.
var ErrMoved = errors.New("it was changed after the check: a folder or link on its path changed; try again")

// Hold opens the folder of p. Close lets go of it.
func (r *Roots) Hold(p Path) (*Target, error) {
	at := filepath.Dir(p.Real)
	if p.Root != nil && p.Root.Path == p.Real {
		at = p.Real
	}
	for {
		info, err := os.Lstat(at)
		if err == nil && info.IsDir() {
			break
		}
		if err == nil {
			return nil, fmt.Errorf("%s is a file, so nothing can be below it", at)
		}
		missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !missing || filepath.Dir(at) == at {
			return nil, err
		}
		at = filepath.Dir(at)
	}
	dir, err := r.openDir(p.Root, at)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(at, p.Real)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Target{Path: p, dir: dir, at: at, rel: rel}, nil
}

// openDir opens a folder by its real path: through the root's own handle when it is in one, so that no
// link can lead out, and in any case only if the path still is the real one.
func (r *Roots) openDir(root *Root, real string) (*os.Root, error) {
	var dir *os.Root
	var err error
	if root != nil && Within(root.Path, real) {
		var h *os.Root
		if h, err = r.handle(root.Path); err == nil {
			var rel string
			if rel, err = filepath.Rel(root.Path, real); err == nil {
				dir, err = h.OpenRoot(rel)
			}
		}
	} else {
		dir, err = os.OpenRoot(real)
	}
	if err != nil {
		return nil, err
	}
	if err := sameDir(dir, real); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// sameDir checks that an open folder is the one at a real path, with no link on the way.
func sameDir(dir *os.Root, real string) error {
	opened, err := dir.Stat(".")
	if err != nil {
		return err
	}
	now, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if again, err := FollowLinks(real); err != nil || again != real || !os.SameFile(opened, now) {
		return fmt.Errorf("%s: %w", real, ErrMoved)
	}
	return nil
}

// Close lets go of the folder and of the file.
func (t *Target) Close() error {
	var err error
	if t.file != nil {
		err = t.file.Close()
		t.file = nil
	}
	return errors.Join(err, t.dir.Close())
}

// Pin opens the file now, for a later Open: that reads this very file, or nothing.
// A file that cannot be opened is reported by Open.
func (t *Target) Pin() {
	if t.file == nil {
		t.file, _, t.lost = t.open()
	}
}

// Stat looks at the file as it is now, not following a link. Nothing there: nil without an error.
func (t *Target) Stat() (fs.FileInfo, error) {
	info, err := t.dir.Lstat(t.rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// Open opens the file for reading, or returns the one that Pin opened. Only a regular file is opened, and it
// must not have become a link, nor another name of a file that is elsewhere too.
func (t *Target) Open() (*os.File, fs.FileInfo, error) {
	if t.lost != nil {
		return nil, nil, t.lost
	}
	if t.file == nil {
		return t.open()
	}
	now, err := t.dir.Lstat(t.rel)
	if err != nil {
		return nil, nil, err
	}
	info, err := t.file.Stat()
	if err == nil && !os.SameFile(now, info) {
		err = ErrMoved
	}
	if err != nil {
		return nil, nil, err
	}
	f := t.file
	t.file = nil // it is the caller's
	return f, info, nil
}

func (t *Target) open() (*os.File, fs.FileInfo, error) {
	before, err := t.dir.Lstat(t.rel)
	if err != nil {
		return nil, nil, err
	}
	if err := Regular(before); err != nil {
		return nil, nil, err
	}
	f, err := t.dir.OpenFile(t.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = Regular(info)
	}
	if err == nil && (!os.SameFile(before, info) || t.linkedIn(info)) {
		err = ErrMoved
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// linkedIn reports whether a file took the place of the one that was resolved which has other names too: it
// may be any file of the disk. One without is new here.
func (t *Target) linkedIn(now fs.FileInfo) bool {
	was := t.Path.Info
	return Links(now) > 1 && (was == nil || !os.SameFile(was, now))
}

// Read returns the whole content; a file above limit bytes is an error.
func (t *Target) Read(limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := t.Open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("it has %d bytes, more than the %d that can be held at once", info.Size(), limit)
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, info, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if int64(len(data)) > limit {
			return nil, nil, fmt.Errorf("it has more than the %d bytes that can be held at once", limit)
		}
	}
}

// ReadDir lists the folder, sorted by name. It must still be the one that was resolved.
func (t *Target) ReadDir() ([]fs.DirEntry, error) {
	now, err := t.dir.Lstat(t.rel)
	if err != nil {
		return nil, err
	}
	if t.Path.Info == nil || !os.SameFile(t.Path.Info, now) {
		return nil, ErrMoved
	}
	return fs.ReadDir(t.dir.FS(), filepath.ToSlash(t.rel))
}

// Regular returns an error that names the kind of a file that is not regular.
func Regular(info fs.FileInfo) error {
	m := info.Mode()
	switch {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errors.New("it is a folder")
	case m&fs.ModeSymlink != 0:
		return ErrMoved
	case m&fs.ModeNamedPipe != 0:
		return errors.New("it is a pipe, which could wait for ever; only regular files are read and written")
	case m&fs.ModeSocket != 0:
		return errors.New("it is a socket; only regular files are read and written")
	case m&fs.ModeDevice != 0:
		return errors.New("it is a device; only regular files are read and written")
	}
	return errors.New("it is not a regular file")
}

// missing lists the folders between dir and the file, outermost first.
func (t *Target) missing() []string {
	parent := filepath.Dir(t.rel)
	if parent == "." {
		return nil
	}
	var out []string
	at := ""
	for part := range strings.SplitSeq(parent, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		out = append(out, at)
	}
	return out
}
