package subagent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Scope is who shares the notes of a kind.
type Scope string

// Scopes, with Claude Code's names and folders.
const (
	User    Scope = "user"    // all projects of the user
	Project Scope = "project" // everybody who works on the project: the notes are among its files
	Local   Scope = "local"   // the user, in this project
)

// Bounds of the notes that an agent gets at its start.
const (
	mostNoteLines = 200
	mostNoteBytes = 25_000
)

// NotesFile is the file whose beginning an agent gets.
const NotesFile = "MEMORY.md"

// NotesDir is the folder of the notes of a kind; "" if it keeps none. Claude is the user's folder of Claude Code, and
// root the project's top folder.
func (k *Kind) NotesDir(claude, root string) string {
	if k == nil {
		return ""
	}
	switch k.Memory {
	case User:
		return filepath.Join(claude, "agent-memory", k.Name)
	case Project:
		return filepath.Join(root, ".claude", "agent-memory", k.Name)
	case Local:
		return filepath.Join(root, ".claude", "agent-memory-local", k.Name)
	}
	return ""
}

// ReadNotes returns the text about the notes in a folder for an agent that begins: where they are, and the beginning of
// NotesFile.
func ReadNotes(dir string) (string, error) {
	head := fmt.Sprintf("Your notes from earlier work are Markdown files in %s, which you may read and change without "+
		"asking. "+
		"Keep there what helps next time. You are given the first %d lines of %s; keep it short, and put details into "+
		"other files there.", dir, mostNoteLines, NotesFile)
	path := filepath.Join(dir, NotesFile)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return head + " There are none yet.", nil
	case err != nil:
		return head, err
	case !info.Mode().IsRegular(): // a link could lead to any file
		return head, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostNoteBytes))
	if err != nil {
		return head, err
	}
	lines := strings.SplitAfterN(strings.ToValidUTF8(string(text), ""), "\n", mostNoteLines+1)
	return head + "\n\n" + NotesFile + ":\n" + strings.TrimSpace(strings.Join(lines[:min(len(lines), mostNoteLines)],
		"")), nil
}
