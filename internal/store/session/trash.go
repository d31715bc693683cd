package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// trash is the folder, beside the projects, of sessions that were taken out of the lists.
func (s *Store) trash() string { return filepath.Join(filepath.Dir(s.projects), "trash") }

// Trash takes a session out of the lists, and those of its subagents with it; [Store.Restore] puts them
// back. One that is open somewhere stays where it is: the error is a *LockedError then.
func (s *Store) Trash(id string) error {
	folder, err := s.locate(id)
	if err != nil {
		return err
	}
	if err := s.trashChildren(id); err != nil {
		return err
	}
	lock, err := takeLock(folder, "close it there before deleting it")
	if err != nil {
		return err
	}
	if err := lock.Unlock(); err != nil { // Windows renames no folder with an open file in it
		return fmt.Errorf("session: let go of %s: %w", folder, err)
	}
	to := filepath.Join(s.trash(), filepath.Base(filepath.Dir(folder)), id)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("session: make the trash: %w", err)
	}
	if err := os.Rename(folder, to); err != nil {
		return fmt.Errorf("session: move %s to the trash: %w", id, err)
	}
	now := s.now()
	if err := os.Chtimes(to, now, now); err != nil { // EmptyTrash counts from here
		return fmt.Errorf("session: date the trash: %w", err)
	}
	return nil
}

// trashChildren moves the sessions of a session's subagents to the trash, and theirs.
func (s *Store) trashChildren(id string) error {
	project, err := s.locate(id)
	if err != nil {
		return err
	}
	children, err := s.childrenIn(filepath.Dir(project), id)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := s.Trash(child); err != nil {
			return fmt.Errorf("the session %s of a subagent: %w", child, err)
		}
	}
	return nil
}

// childrenIn lists the sessions in the folder of a project whose header says that they are a subagent's and
// that a session started them.
func (s *Store) childrenIn(project, parent string) ([]string, error) {
	entries, err := os.ReadDir(project)
	if err != nil {
		return nil, fmt.Errorf("session: read the sessions of a project: %w", err)
	}
	var out []string
	for _, e := range entries {
		if h, ok := headerOf(filepath.Join(project, e.Name(), logName)); ok && h.Agent != "" && h.Parent == parent {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// headerOf reads the header of a log; false when there is none.
func headerOf(path string) (header, bool) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, false
	}
	defer f.Close()
	var h header
	line, err := bufio.NewReaderSize(f, headLen).ReadSlice('\n')
	return h, err == nil && json.Unmarshal(line, &h) == nil && h.Kind == kindHeader
}

// Restore brings a session back from the trash, and those of its subagents with it.
func (s *Store) Restore(id string) error {
	if !validID(id) {
		return fmt.Errorf("session: %q is no session id", id)
	}
	found, err := filepath.Glob(filepath.Join(s.trash(), "*", id))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return missing("session %s is not in the trash", id)
	}
	to := filepath.Join(s.projects, filepath.Base(filepath.Dir(found[0])), id)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("session: make the folder of the project: %w", err)
	}
	if err := os.Rename(found[0], to); err != nil {
		return fmt.Errorf("session: bring %s back from the trash: %w", id, err)
	}
	children, err := s.childrenIn(filepath.Dir(found[0]), id)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := s.Restore(child); err != nil {
			return err
		}
	}
	return nil
}

// EmptyTrash deletes the sessions that were put into the trash before a time, and returns their number.
func (s *Store) EmptyTrash(before time.Time) (int, error) {
	found, err := filepath.Glob(filepath.Join(s.trash(), "*", "*"))
	if err != nil {
		return 0, err
	}
	n := 0
	var failed error
	for _, folder := range found {
		st, err := os.Stat(folder)
		if errors.Is(err, fs.ErrNotExist) || err == nil && (!validID(filepath.Base(folder)) || !st.ModTime().Before(before)) {
			continue
		}
		if err == nil {
			err = os.RemoveAll(folder)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("session: empty the trash: %w", err))
			continue
		}
		n++
	}
	return n, failed
}
