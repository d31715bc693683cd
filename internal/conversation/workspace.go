package conversation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// The folders and files that a session works in, for those who act for the user and not for the model: front ends and
// programs that drive lathe. A file is read only where policy allows it without a question.

// Dir is the working folder as it is now.
func (s *Session) Dir() string { return s.env.Dir.Get() }

// Place is the copy of the project that the session works in; nil: it works in the project.
func (s *Session) Place() *permission.Place { return s.env.Isolated }

// SetDir moves the working folder to another one of the folders the session works in, or below them. Context and
// settings stay those of the folder it began in.
func (s *Session) SetDir(dir string) (string, error) {
	real, err := s.folder(dir)
	if err != nil {
		return "", err
	}
	for _, root := range s.Dirs() {
		if files.Within(root, real) {
			s.env.Dir.Set(real)
			return real, nil
		}
	}
	return "", fmt.Errorf("%s is outside of the folders of this session; add it with --add-dir", real)
}

// AddDir adds a folder that the session may work in; it returns the folder with links resolved.
func (s *Session) AddDir(dir string) (string, error) {
	real, err := s.folder(dir)
	if err != nil {
		return "", fmt.Errorf("the folder cannot be added: %w", err)
	}
	if err := s.env.Roots.Add(real, false); err != nil {
		return "", err
	}
	s.Policy().AddRoot(real, false)
	s.hooks.DirectoryAdded(real, "command")
	return real, nil
}

// RemoveDir takes back a folder that was added. The session's own and the one it works in now stay.
func (s *Session) RemoveDir(dir string) error {
	real, err := s.existing(dir)
	if err != nil {
		return fmt.Errorf("the folder cannot be taken away: %w", err)
	}
	if files.Within(real, s.Dir()) {
		return fmt.Errorf("the session works in %s", real)
	}
	if !s.env.Roots.Remove(real) {
		return fmt.Errorf("%s is not one of the folders that were added", real)
	}
	s.Policy().RemoveRoot(real)
	return nil
}

// AddReadRoot lets the files of one more folder be read. A folder that cannot be opened is left out.
func (s *Session) AddReadRoot(dir string) {
	real, err := s.folder(dir)
	if err != nil || slices.ContainsFunc(s.env.Roots.List(),
		func(r files.Root) bool { return files.Within(r.Path, real) }) {
		return
	}
	if s.env.Roots.Add(real, true) == nil {
		s.Policy().AddRoot(real, true)
	}
}

// Dirs lists the folders that the session may work in, its own first.
func (s *Session) Dirs() []string {
	var out []string
	for _, r := range s.env.Roots.List() {
		if !r.ReadOnly {
			out = append(out, r.Path)
		}
	}
	return out
}

// FileRoots are the folders that the session works in, for an index of their files.
func (s *Session) FileRoots() *files.Roots { return s.env.Roots }

// Outside is the first folder that a call reads or writes and that is in none of the session's folders, or the folder
// of such a file; "" when there is none.
func (s *Session) Outside(r permission.Request) string {
	for _, a := range r.Accesses {
		if a.Kind != permission.Read && a.Kind != permission.Write || !filepath.IsAbs(a.Target) {
			continue
		}
		in := false
		for _, root := range s.env.Roots.List() {
			in = in || files.Within(root.Path, a.Target)
		}
		if !in && isFolder(a) {
			return a.Target
		}
		if !in {
			return filepath.Dir(a.Target)
		}
	}
	return ""
}

func isFolder(a permission.Access) bool {
	if a.Node != "" && a.Node != permission.Unknown {
		return a.Node == permission.Folder
	}
	info, err := os.Stat(a.Target)
	return err == nil && info.IsDir()
}

// MayRead is the policy's decision on reading one file.
func (s *Session) MayRead(path string) permission.Effect {
	return s.Policy().Decide(permission.Request{
		Tool: "Read", Accesses: []permission.Access{{Kind: permission.Read, Target: path, Node: permission.File}},
		Mode: s.Mode(), Dir: s.Dir(), Place: s.env.Isolated,
	}).Effect
}

// Readings are the same decisions on many files, under the rules of this moment. They are for one goroutine.
func (s *Session) Readings() func(path string) permission.Effect {
	return s.Policy().Readings(permission.Request{Tool: "Read", Mode: s.Mode(), Dir: s.Dir(), Place: s.env.Isolated}).Effect
}

// rules is the state of all that Readings depends on.
func (s *Session) rules() string {
	p := s.Policy()
	return fmt.Sprintf("%p %d %s %s", p, p.Version(), s.Mode(), s.Dir())
}

// ReadFile reads at most limit bytes of a file that may be read without a question, and returns its real path.
func (s *Session) ReadFile(path string, limit int64) (data []byte, real string, more bool, err error) {
	real, err = s.existing(path)
	if err != nil {
		return nil, "", false, err
	}
	if s.MayRead(real) != permission.Allow {
		return nil, "", false,
			fmt.Errorf("%s may not be read without a question; a rule or the folders of the session say so", path)
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

// folder is the real path of a folder that exists.
func (s *Session) folder(path string) (string, error) {
	real, err := s.existing(path)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", errors.Join(fmt.Errorf("%s is not a folder", real), err)
	}
	return real, nil
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
