package console

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// memoryNames are the project's memory files, in the order of search.
var memoryNames = []string{"CLAUDE.md", "AGENTS.md", filepath.Join(".claude", "CLAUDE.md")}

// noteLimit limits the length of a note, and memoryLimit the size of the file it is added to, in bytes.
const (
	noteLimit   = 4 << 10
	memoryLimit = 4 << 20
)

// addMemory appends a note to the project's memory file, or to a new AGENTS.md. The model of this
// conversation has already read the file, so the user has to mention the note if it matters now.
func (c *Console) addMemory(note string) (event.Output, error) {
	note = strings.Join(strings.Fields(note), " ")
	if note == "" {
		return event.Output{}, errors.New("give the note: # always run the tests with -race")
	}
	if len(note) > noteLimit {
		return event.Output{}, fmt.Errorf("the note is longer than %d bytes; write it to the file yourself", noteLimit)
	}
	path, err := memoryFile(c.inst.Config().Paths().Root)
	if err != nil {
		return event.Output{}, err
	}
	if err := appendLine(path, "- "+note); err != nil {
		return event.Output{}, err
	}
	c.notice("info", "added to %s; new conversations know it from the start", path)
	return event.Output{}, nil
}

// memoryFile returns the file that receives notes. A link out of the project is refused: its target is chosen
// by the repository, not the user.
func memoryFile(root string) (string, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("the project's folder cannot be used: %w", err)
	}
	for _, name := range memoryNames {
		path := filepath.Join(root, name)
		target, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(path); err == nil {
				return "", fmt.Errorf("%s is a link that leads nowhere; remove it first", path)
			}
			continue
		}
		if err != nil {
			return "", fmt.Errorf("the memory file cannot be used: %w", err)
		}
		if rel, err := filepath.Rel(real, target); err != nil || !filepath.IsLocal(rel) {
			return "", fmt.Errorf("%s is a link out of the project, to %s; write the note there yourself", path, target)
		}
		if st, err := os.Stat(target); err != nil || !st.Mode().IsRegular() {
			return "", fmt.Errorf("%s is no plain file", path)
		}
		return target, nil
	}
	return filepath.Join(root, "AGENTS.md"), nil
}

// appendLine appends a line to a text file, which is created if missing.
func appendLine(path, line string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the memory file cannot be read: %w", err)
	}
	if len(old) > memoryLimit {
		return fmt.Errorf("%s is larger than 4 MB", path)
	}
	newline := "\n"
	if strings.Contains(string(old), "\r\n") {
		newline = "\r\n"
	}
	lead := ""
	if n := len(old); n > 0 && old[n-1] != '\n' {
		lead = newline
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the memory file cannot be written: %w", err)
	}
	_, err = f.WriteString(lead + line + newline)
	return errors.Join(err, f.Close())
}
