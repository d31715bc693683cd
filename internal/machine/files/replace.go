package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TempPrefix begins the name of every temporary file that Replace makes beside its target. One that is
// left was left by a crash; it is never the only copy of anything.
const TempPrefix = ".lathe-tmp-"

// TempName makes a temporary name that no file has.
func TempName() string { return TempPrefix + rand.Text() }

// Tests kill the process where a temporary name was given, and take files without a name away.
var (
	onTemp     = func() {}
	openNoName = openAnonymous
)

// Replaced describes how a file was written.
type Replaced struct {
	Info    fs.FileInfo // of the new file
	Created bool
	InPlace bool   // written over the old content, because the folder or the mount does not let it be replaced
	Links   uint64 // other hard links, which keep the old content
}

// ErrChanged means that the file is not in the expected state.
var ErrChanged = errors.New("it was changed by something else meanwhile")

// errReplaced is an ErrChanged that was found at the last moment.
var errReplaced error = replacedError{}

type replacedError struct{}

func (replacedError) Error() string        { return "another process replaced the file meanwhile" }
func (replacedError) Is(target error) bool { return target == ErrChanged }

// Replace makes data the content of the file: a temporary file in the same folder, synced, with the old
// one's mode, owner and attributes, renamed over it. Missing folders are made. expect is the file as the
// caller last saw it, nil for a file that must not exist; another state is ErrChanged. Whatever fails, the
// old file is whole and the temporary one gone. A file without write permission is refused.
func (t *Target) Replace(data []byte, expect fs.FileInfo) (Replaced, error) {
	old, err := t.Stat()
	if err != nil {
		return Replaced{}, err
	}
	if !Unchanged(expect, old) {
		return Replaced{}, ErrChanged
	}
	if old != nil {
		if err := t.writable(old); err != nil {
			return Replaced{}, err
		}
	}
	made, err := t.makeFolders()
	if err == nil {
		var done Replaced
		if done, err = t.replace(data, old); err == nil {
			return done, nil
		}
	}
	for _, d := range slices.Backward(made) {
		_ = t.dir.Remove(d) // stays when it is no longer empty
	}
	return Replaced{}, err
}

// Remove removes the file, which must be as the caller last saw it; another state is ErrChanged. A file without write
// permission is refused, as Replace does.
func (t *Target) Remove(expect fs.FileInfo) error {
	now, err := t.Stat()
	if err != nil {
		return err
	}
	if now == nil || !Unchanged(expect, now) {
		return ErrChanged
	}
	if err := t.writable(now); err != nil {
		return err
	}
	parent, err := t.parent()
	if err != nil {
		return err
	}
	defer parent.Close()
	unlock, err := lockDir(parent)
	if err != nil {
		return err
	}
	defer unlock()
	if last, err := parent.Lstat(filepath.Base(t.rel)); err == nil && !Unchanged(last, now) {
		return errReplaced
	}
	if err := parent.Remove(filepath.Base(t.rel)); err != nil {
		return err
	}
	return syncDir(parent)
}

// RemoveTemp removes what a killed Replace left under the name Temp. Anything but a regular file is left.
func (t *Target) RemoveTemp() error {
	if !strings.HasPrefix(t.Temp, TempPrefix) || strings.ContainsAny(t.Temp, `/\:`) {
		return nil
	}
	parent, err := t.parent()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	info, err := parent.Lstat(t.Temp)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if err := parent.Remove(t.Temp); err != nil {
		return err
	}
	return syncDir(parent)
}

// Unchanged reports whether two looks at a file saw the same one in the same state; nil is no file.
func Unchanged(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// writable checks whether the file itself may be written, which a rename would not.
func (t *Target) writable(old fs.FileInfo) error {
	if err := Regular(old); err != nil {
		return err
	}
	f, err := t.dir.OpenFile(t.rel, os.O_WRONLY|nonblock, 0) // the mode alone proves nothing: root may write all
	switch {
	case errors.Is(err, fs.ErrPermission) && old.Mode().Perm()&0o222 == 0:
		return fmt.Errorf("it is read-only (mode %04o); make it writable first (chmod u+w)", old.Mode().Perm())
	case errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err):
		return err
	}
	if err != nil {
		return nil // a running program, say: it cannot be opened for writing but may be replaced
	}
	return f.Close()
}

// makeFolders makes the missing folders and returns those it made.
func (t *Target) makeFolders() (made []string, err error) {
	for _, d := range t.missing() {
		switch err := t.dir.Mkdir(d, 0o777); {
		case err == nil:
			made = append(made, d)
		case !errors.Is(err, fs.ErrExist):
			return made, err
		}
	}
	return made, nil
}

func (t *Target) replace(data []byte, old fs.FileInfo) (Replaced, error) {
	parent, err := t.parent()
	if err != nil {
		return Replaced{}, err
	}
	defer parent.Close()
	base := filepath.Base(t.rel)
	temp, err := t.stage(parent, base, data, old)
	unlock, lockErr := lockDir(parent)
	if lockErr != nil {
		if err == nil {
			temp.discard()
		}
		return Replaced{}, lockErr
	}
	defer unlock()
	if err != nil {
		if old != nil && (errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err)) {
			return writeInPlace(parent, base, data, old)
		}
		return Replaced{}, err
	}
	defer temp.discard()
	done := Replaced{Created: old == nil}
	if old == nil {
		err = temp.putNew(base)
	} else {
		done.Links = max(Links(old), 1) - 1
		err = temp.putOver(base, old)
	}
	if err != nil {
		if old != nil && cannotRename(err) {
			return writeInPlace(parent, base, data, old)
		}
		return Replaced{}, err
	}
	if err := syncDir(parent); err != nil {
		return Replaced{}, fmt.Errorf("the file was written but its folder could not be synced: %w", err)
	}
	done.Info, err = parent.Lstat(base)
	return done, err
}

// parent opens the folder the file is in, which exists by now, and checks that no link came between.
func (t *Target) parent() (*os.Root, error) {
	dir, err := t.dir.OpenRoot(filepath.Dir(t.rel))
	if err != nil {
		return nil, err
	}
	if err := sameDir(dir, filepath.Join(t.at, filepath.Dir(t.rel))); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// staged is a new content, written and synced, that waits for its name. It has a temporary name, or, where
// the system can do that, none: then nothing of it is left when lathe is killed.
type staged struct {
	dir  *os.Root
	temp string   // the name that it has for a while
	name string   // the same; empty while it has none
	file *os.File // open while it has none
}

// stage writes data to a new file in dir, with the target's mode if that is not 0. On failure nothing is left of it.
func (t *Target) stage(dir *os.Root, base string, data []byte, old fs.FileInfo) (*staged, error) {
	perm := fs.FileMode(0o666) // as the umask allows
	if old != nil {
		perm = 0o600
	}
	s := &staged{dir: dir, temp: t.Temp}
	if s.temp == "" {
		s.temp = TempName()
	}
	f, err := openNoName(dir, perm)
	if err != nil {
		s.name = s.temp
		if f, err = dir.OpenFile(s.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm); err != nil {
			return nil, err
		}
		onTemp()
	}
	s.file = f
	_, err = f.Write(data)
	if err == nil && old != nil {
		err = keepAttributes(dir, base, f, old)
	}
	if err == nil && t.Mode != 0 {
		err = f.Chmod(t.Mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && s.name != "" {
		s.file, err = nil, f.Close()
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// discard removes a file that has not got its name; it may be called at any time.
func (s *staged) discard() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	if s.name != "" {
		_ = s.dir.Remove(s.name)
		s.name = ""
	}
}

// keepAttributes gives the new file the owner, mode and extended attributes of the old one. Mode is
// kept or fails; the rest is kept where the system lets us.
func keepAttributes(dir *os.Root, base string, f *os.File, old fs.FileInfo) error {
	keepOwner(f, old)
	if src, err := dir.OpenFile(base, os.O_RDONLY|nonblock, 0); err == nil {
		copyXattrs(src, f)
		_ = src.Close()
	}
	return f.Chmod(old.Mode().Perm() | old.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// putNew gives the content its name only if nothing has it by now.
func (s *staged) putNew(base string) error {
	var err error
	if s.file != nil {
		err = linkAnonymous(s.file, s.dir, base)
	} else {
		err = s.dir.Link(s.name, base)
	}
	if err == nil {
		return nil // discard removes the temporary name
	}
	_, there := s.dir.Lstat(base)
	if errors.Is(err, fs.ErrExist) || there == nil {
		return fmt.Errorf("somebody made it meanwhile: %w", fs.ErrExist)
	}
	if s.name == "" {
		return err
	}
	if err = s.dir.Rename(s.name, base); err == nil { // a file system without hard links
		s.name = ""
	}
	return err
}

// putOver puts the content in the place of base if base still is the file that was inspected.
func (s *staged) putOver(base string, old fs.FileInfo) error {
	now, err := s.dir.Lstat(base)
	if err != nil {
		return err
	}
	if !Unchanged(now, old) {
		return errReplaced
	}
	if s.file != nil {
		if err := linkAnonymous(s.file, s.dir, s.temp); err != nil {
			return err
		}
		s.name = s.temp
		onTemp()
	}
	if err = s.dir.Rename(s.name, base); err == nil {
		s.name = ""
	}
	return err
}

// writeInPlace writes over the old content, for folders that let no file be made and files that are mounts
// of their own. When it fails midway the old content is written back.
func writeInPlace(dir *os.Root, base string, data []byte, old fs.FileInfo) (Replaced, error) {
	f, err := dir.OpenFile(base, os.O_RDWR|nonblock, 0)
	if err != nil {
		return Replaced{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Replaced{}, err
	}
	if !os.SameFile(info, old) || !info.Mode().IsRegular() {
		return Replaced{}, ErrMoved
	}
	before, err := io.ReadAll(f)
	if err != nil {
		return Replaced{}, err
	}
	if err := overwrite(f, data); err != nil {
		if back := overwrite(f, before); back != nil {
			return Replaced{}, fmt.Errorf("%w; writing the old content back failed too: %w", err, back)
		}
		return Replaced{}, err
	}
	info, err = f.Stat()
	return Replaced{Info: info, InPlace: true}, err
}

func overwrite(f *os.File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if dirSyncUnsupported(err) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
