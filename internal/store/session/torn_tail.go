package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

const tornPrefix = "log.torn-"

// setAside moves a torn last line out of the log into log.torn-<n>. It was never acknowledged, so no
// history is lost; it is kept because nothing is deleted silently.
func (s *Session) setAside() {
	if s.lock == nil {
		s.notes = append(s.notes, fmt.Sprintf("the last line is cut off after %d bytes; it is left out", s.j.torn))
		return
	}
	name, err := s.saveTorn()
	if err == nil {
		err = s.cut()
	}
	if err != nil { // no room: it stays as a damaged line, which prepare will end with a newline
		s.notes = append(s.notes, fmt.Sprintf("the last line was cut off when lathe stopped, and could not be set aside: %v",
			err))
		s.j.end += s.j.torn
		s.j.open, s.j.torn, s.dirty = true, 0, false
		return
	}
	s.notes = append(s.notes, fmt.Sprintf("the last line was cut off when lathe stopped; its %d bytes are in %s",
		s.j.torn, name))
	s.j.torn = 0
}

func (s *Session) saveTorn() (string, error) {
	out, err := s.tornFile()
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, io.NewSectionReader(s.f, s.j.end, s.j.torn))
	return filepath.Base(out.Name()), errors.Join(err, out.Sync(), out.Close())
}

func (s *Session) tornFile() (*os.File, error) {
	for n := 1; ; n++ {
		path := filepath.Join(s.folder, tornPrefix+strconv.Itoa(n))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
