package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// What a program that drives lathe may ask for besides the turns.

// Amend puts more settings in force until lathe ends, a JSON object, and returns what changed.
func (i *Instance) Amend(settings json.RawMessage) ([]config.Change, error) {
	next, changes, err := i.conf.Load().Amend(settings)
	if err != nil {
		return nil, err
	}
	i.reload(next, changes)
	return changes, nil
}

// SetDir moves the working folder to another one of the folders the session works in, or below them. Context and
// settings stay those of the folder it began in.
func (s *Session) SetDir(dir string) (string, error) {
	real, err := s.existing(dir)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", errors.Join(fmt.Errorf("%s is not a folder", real), err)
	}
	for _, root := range s.Dirs() {
		if files.Within(root, real) {
			s.env.Dir.Set(real)
			return real, nil
		}
	}
	return "", fmt.Errorf("%s is outside of the folders of this session; add it with --add-dir", real)
}

// ReadFile reads at most limit bytes of a file that may be read without a question, and returns its real path.
func (s *Session) ReadFile(path string, limit int64) (data []byte, real string, more bool, err error) {
	real, err = s.existing(path)
	if err != nil {
		return nil, "", false, err
	}
	if s.mayRead(real) != permission.Allow {
		return nil, "", false, fmt.Errorf("%s may not be read without a question; a rule or the folders of the session say so", path)
	}
	info, err := os.Stat(real)
	if err == nil {
		err = files.Regular(info) // a pipe or a device may never end
	}
	if err != nil {
		return nil, real, false, err
	}
	f, err := os.Open(real)
	if err != nil {
		return nil, real, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if more = int64(len(data)) > limit; more {
		data = data[:limit]
	}
	return data, real, more, err
}

// seedMax is the largest file that Seed takes.
const seedMax = 16 << 20

// Seed notes that the model has seen a file as it was at a time, as if it had been read here. False when the
// file changed since.
func (s *Session) Seed(path string, seen time.Time) (bool, error) {
	data, real, more, err := s.ReadFile(path, seedMax)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(real)
	if err != nil || more || info.ModTime().Truncate(time.Millisecond).After(seen) {
		return false, err
	}
	s.env.Reads.Note(real, tool.Seen{State: tool.StateOf(info, tool.HashOf(data)), Written: true})
	return true, nil
}

// existing is the real path of something that exists, relative to the working folder.
func (s *Session) existing(path string) (string, error) {
	if path == "" {
		return "", errors.New("no path was given")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir(), path)
	}
	return filepath.EvalSymlinks(path)
}
