package transact

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Step is a change of something else than a regular file: a folder or a link that is made, a folder that is removed. It
// is made after the files, and may be made twice. A step that is made stays when a later one fails.
type Step struct {
	Root   string      `json:"root"` // a folder; no link below it leads the step out
	Rel    string      `json:"rel"`  // the path from there
	Remove bool        `json:"remove,omitempty"`
	Dir    bool        `json:"dir,omitempty"`
	Link   string      `json:"link,omitempty"` // the target of a symbolic link
	Data   []byte      `json:"data,omitempty"` // else: a file that takes the place of something else
	Mode   fs.FileMode `json:"mode,omitempty"`
}

func (s *Step) do() error {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	switch {
	case s.Dir:
		return root.MkdirAll(s.Rel, s.Mode.Perm()|0o700)
	case s.Link != "":
		if now, err := root.Readlink(s.Rel); err == nil && now == s.Link {
			return nil
		}
	}
	if err := root.Remove(s.Rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if s.Remove && errors.Is(err, syscall.ENOTEMPTY) {
			return nil // somebody else put something into the folder
		}
		return err
	}
	switch {
	case s.Remove:
		return nil
	case s.Link != "":
		return root.Symlink(s.Link, s.Rel)
	}
	f, err := root.OpenFile(s.Rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(s.Data))
	return errors.Join(err, f.Close())
}
