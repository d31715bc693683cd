// Package patch reads patches as models write them, and applies them to texts. It knows no files.
//
// Two forms are read: the one between "*** Begin Patch" and "*** End Patch", and unified diffs, those of git included.
// Both become a list of [File]; [Apply] finds the places of a file's hunks in a text and returns the edits.
//
// The words: a hunk is one place of a file with its old lines (context and removed ones) and its new lines (context and
// added ones); an anchor is a line that a hunk lies below, from behind "@@".
//
// The promises: context lines keep the bytes that the text has, whatever the patch writes there; lines that are not
// exactly those of the patch are taken only where they differ in white space or in punctuation of another alphabet, and
// where that place is the only one; nothing is changed unless every hunk has its place.
package patch

import (
	"fmt"
	"strings"
)

// Op is what a patch does with a file.
type Op int

// The operations. A file that moves is an Update with a To.
const (
	Update Op = iota
	Add
	Delete
)

// File is the part of a patch about one file.
type File struct {
	Op   Op
	Path string // as the patch names it
	To   string // the new path of a file that moves; else empty

	Content string // of an added file
	Hunks   []Hunk // of an update; of a deletion they are the lines that the file must have, if the patch names them
	Exec    *bool  // whether the file is to be executable; nil: as it was
	Line    int    // in the patch, from 1
}

// Hunk is one place that changes.
type Hunk struct {
	Anchors []string // lines that it lies below, the outermost first
	At      int      // the line of the old text where it should begin, from 1; 0 is unknown
	Top     bool     // it adds lines above the first one ("@@ -0,0 +1 @@")
	Lines   []Line
	End     bool // it is at the end of the text
	Number  int  // in its file, from 1
}

// Line is one line of a hunk.
type Line struct {
	Kind byte // ' ', '-' or '+'
	Text string
	Cut  bool // no line end follows it: it is the last of the file
	Bare bool // an empty line without its leading blank: it may be there only to separate
}

// old are the lines that the text has now.
func (h *Hunk) old() []string { return h.side('+') }

func (h *Hunk) side(without byte) []string {
	var out []string
	for _, l := range h.Lines {
		if l.Kind != without {
			out = append(out, l.Text)
		}
	}
	return out
}

// Error is a patch that cannot be read, with the line of the patch.
type Error struct {
	Line int // from 1; 0: the patch as a whole
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d of the patch: %s", e.Line, e.Text)
}

func errorAt(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

// Parse reads a patch in either form. What models write around it is passed over: a fence, a here-document, text before
// and after.
func Parse(text string) ([]File, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	files, err := parse(lines)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, &Error{Text: "the patch changes no file: put \"*** Add File: \", \"*** Update File: \" or \"*** " +
			"Delete File: \" sections between its first and last line"}
	}
	return files, nil
}

func parse(lines []string) ([]File, error) {
	for i, l := range lines {
		switch trimmed := strings.TrimSpace(l); {
		case trimmed == begin || header(trimmed) != "":
			return parseSections(lines, i)
		case startsDiff(lines, i):
			return parseUnified(lines, i)
		}
	}
	return nil,
		&Error{Text: `it is no patch: begin it with "*** Begin Patch", or give a unified diff with "--- a/file" and "+++ b/file"`}
}

// Paths are the paths that a patch names, in its order. It reads as much as Parse does, and of a patch that cannot be
// read the headers.
func Paths(text string) []string {
	files, err := Parse(text)
	if err != nil {
		return headers(text)
	}
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
		if f.To != "" {
			out = append(out, f.To)
		}
	}
	return out
}

// headers are the paths in all lines that look like headers.
func headers(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, head := range []string{addHead, updateHead, deleteHead, moveHead, "+++ b/", "--- a/"} {
			if name, ok := strings.CutPrefix(line, head); ok {
				out = append(out, strings.TrimSpace(name))
			}
		}
	}
	return out
}
