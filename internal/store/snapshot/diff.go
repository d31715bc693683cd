package snapshot

import (
	"fmt"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/myers"
)

// maxDiffed is the largest file whose lines are compared.
const maxDiffed = 1 << 20

// FileDiff is a change as text.
type FileDiff struct {
	Path           string // for people
	Text           string // a unified diff, or a line on what cannot be shown as one
	Added, Removed int    // lines
}

// Diff is a change as a unified diff, which git apply takes.
func (s *Store) Diff(c Change) FileDiff {
	before, why := s.shown(c.Before)
	after, why2 := s.shown(c.After)
	return s.compare(c, before, after, why+why2)
}

// Diff is the effect of the plan on one file.
func (p *Plan) Diff(f PlannedFile) FileDiff {
	before, why := "", ""
	switch f.Now.Kind {
	case File:
		data, err := readFile(f.Path, maxDiffed)
		before, why = shownText(data, err)
	case Link:
		before, _ = os.Readlink(f.Path)
	}
	after, why2 := p.store.shown(f.To)
	return p.store.compare(Change{f.Path, f.Now, f.To}, before, after, why+why2)
}

func (s *Store) shown(st State) (text, why string) {
	switch {
	case st.Uncovered != "":
		return "", st.Uncovered
	case st.Kind != File && st.Kind != Link:
		return "", ""
	case st.Size > maxDiffed:
		return "", "larger than " + size(maxDiffed)
	}
	return shownText(s.content(st.Hash))
}

func shownText(data []byte, err error) (text, why string) {
	if err != nil {
		return "", err.Error()
	}
	text, err = checkText(data)
	if err != nil {
		return "", "a binary file"
	}
	return text, ""
}

func (s *Store) compare(c Change, before, after, why string) FileDiff {
	name := s.rel(c.Path)
	d := FileDiff{Path: name}
	switch {
	case c.Before.Kind == Dir || c.After.Kind == Dir:
		d.Text = fmt.Sprintf("%s: %s\n", name, turn(c))
	case why != "":
		d.Text = fmt.Sprintf("%s: %s (%s)\n", name, turn(c), why)
	case before == after:
		d.Text = fmt.Sprintf("%s: %s\n", name, turn(c))
	default:
		from, to := "a/"+name, "b/"+name
		if c.Before.Kind == None {
			from = "/dev/null"
		}
		if c.After.Kind == None {
			to = "/dev/null"
		}
		edits := udiff.Lines(before, after)
		if len(edits) > 50 || len(edits) == 1 && strings.Count(before, "\n") > 50 {
			edits = myers.ComputeEdits(before, after) //nolint:staticcheck // it does not give up on many edits
		}
		text, err := udiff.ToUnified(from, to, before, edits, 3)
		if err != nil {
			text = err.Error()
		}
		d.Text = text
		for line := range strings.Lines(text) {
			switch {
			case strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++ "):
				d.Added++
			case strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--- "):
				d.Removed++
			}
		}
	}
	return d
}

// turn says in words how a file changes.
func turn(c Change) string {
	word := map[Kind]string{File: "file", Link: "link", Dir: "folder", Unknown: "file that is not covered"}
	switch {
	case c.Before.Kind == None:
		return "new " + word[c.After.Kind]
	case c.After.Kind == None:
		return word[c.Before.Kind] + " removed"
	case c.Before.Kind != c.After.Kind:
		return word[c.Before.Kind] + " becomes a " + word[c.After.Kind]
	case c.Before.Hash == c.After.Hash:
		return fmt.Sprintf("mode %04o becomes %04o", c.Before.Mode&0o7777, c.After.Mode&0o7777)
	}
	return "changed"
}
