// Package memory keeps the notes that the agent writes for later sessions: one file per topic, with a YAML block and
// Markdown, and an index of them, MEMORY.md. They are plain files that people read, edit and delete as they like.
//
// Promises: a note is written whole or not at all; a name never leads out of the folder; saving the same text twice
// makes one note; a file that cannot be read is skipped and named.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
	"github.com/lathe-dev/lathe/internal/base/rank"
)

// Bounds of the notes.
const (
	maxNotes       = 300
	maxText        = 8_000 // bytes of a note
	maxDescription = 200
	maxFile        = 64 << 10
)

// IndexName is the file that lists the notes.
const IndexName = "MEMORY.md"

// Types of notes, as in Claude Code's memory files.
var Types = []string{"user", "feedback", "project", "reference"}

// Note is one topic.
type Note struct {
	Name        string // of its file, without ".md": lower-case letters, digits and dashes
	Description string // one line
	Type        string // one of Types, or empty
	Text        string
	Modified    time.Time
}

// Store is a folder of notes. It is safe for concurrent use; other processes may write to the folder at the same time.
type Store struct {
	dir string
	now func() time.Time
	mu  sync.Mutex
}

// Open returns the store of a folder, which need not be there yet.
func Open(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// Dir returns the folder.
func (s *Store) Dir() string { return s.dir }

// Index returns the path of the file that lists the notes; empty of a nil store.
func (s *Store) Index() string {
	if s == nil {
		return ""
	}
	return filepath.Join(s.dir, IndexName)
}

// List returns the notes, sorted by name, and one problem for each file that was skipped.
func (s *Store) List() (notes []Note, problems []string) {
	found, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []string{err.Error()}
	}
	for _, f := range found {
		name, ok := strings.CutSuffix(f.Name(), ".md")
		if !ok || f.Name() == IndexName || !f.Type().IsRegular() {
			continue
		}
		if len(notes) == maxNotes {
			return notes, append(problems, fmt.Sprintf("there are more than %d notes; the others are left out", maxNotes))
		}
		n, err := s.read(name)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", f.Name(), err))
			continue
		}
		notes = append(notes, n)
	}
	return notes, problems
}

// Get returns one note.
func (s *Store) Get(name string) (Note, error) {
	n, err := s.read(clean(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, s.missing(name)
	}
	return n, err
}

func (s *Store) missing(name string) error {
	notes, _ := s.List()
	if len(notes) == 0 {
		return fmt.Errorf("there is no note %q, nor any other yet", name)
	}
	names := make([]string, len(notes))
	for i, n := range notes {
		names[i] = n.Name
	}
	return fmt.Errorf("there is no note %q; the notes are %s", name, strings.Join(names, ", "))
}

func (s *Store) read(name string) (Note, error) {
	path := s.path(name)
	info, err := os.Lstat(path)
	if err != nil {
		return Note{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return Note{}, fmt.Errorf("it is no regular file of at most %d kB", maxFile>>10)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return Note{}, err
	}
	doc := frontmatter.Parse(raw)
	n := Note{
		Name: name, Description: oneLine(doc.Fields.Text("description")), Type: doc.Fields.Text("type"),
		Text:     strings.TrimSpace(doc.Body),
		Modified: info.ModTime(),
	}
	if t, err := time.Parse(time.RFC3339, doc.Fields.Text("modified")); err == nil {
		n.Modified = t
	}
	return n, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name+".md") }

var unnamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// clean makes a file name of a title.
func clean(name string) string {
	name = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".md")
	name = strings.Trim(unnamed().ReplaceAllString(name, "-"), "-")
	return strings.Trim(name[:min(len(name), 60)], "-")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Save writes a note, in the place of the one with its name, and returns it as it is kept. A text that another note
// has already, or nearly has, is an error that names the note.
func (s *Store) Save(n Note) (kept Note, replaced bool, err error) {
	n.Name, n.Description, n.Text = clean(n.Name), oneLine(n.Description), strings.TrimSpace(n.Text)
	if err := check(n); err != nil {
		return Note{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, _ := s.List()
	for _, other := range all {
		replaced = replaced || other.Name == n.Name
		if other.Name != n.Name && similar(other.Text, n.Text) {
			return Note{}, false, fmt.Errorf("the note %q says nearly the same; save under that name to replace it", other.Name)
		}
	}
	if !replaced && len(all) >= maxNotes {
		return Note{}, false, fmt.Errorf("there are %d notes, which is the most that are kept; forget some first", len(all))
	}
	n.Modified = s.now().UTC().Truncate(time.Second)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return Note{}, false, fmt.Errorf("the note is not kept: %w", err)
	}
	if err := replace(s.path(n.Name), n.file()); err != nil {
		return Note{}, false, fmt.Errorf("the note is not kept: %w", err)
	}
	return n, replaced, s.writeIndex()
}

func check(n Note) error {
	switch {
	case n.Name == "" || n.Name == clean(IndexName):
		return errors.New("the note needs a name of letters and digits")
	case n.Text == "":
		return errors.New("the note has no text")
	case n.Description == "":
		return errors.New("the note needs a description: one line that says when it matters")
	case len(n.Text) > maxText:
		return fmt.Errorf("the note has %d characters; %d are kept: shorten it, or split it by topic", len(n.Text), maxText)
	case len(n.Description) > maxDescription:
		return fmt.Errorf("the description has %d characters; keep it below %d", len(n.Description), maxDescription)
	case n.Type != "" && !slices.Contains(Types, n.Type):
		return fmt.Errorf("there is no type %q; use %s, or none", n.Type, strings.Join(Types, ", "))
	}
	return nil
}

// file is the note as it is written. The values are quoted as YAML's double-quoted strings, which JSON's are too.
func (n Note) file() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %q\n", n.Name, n.Description)
	if n.Type != "" {
		fmt.Fprintf(&b, "type: %s\n", n.Type)
	}
	fmt.Fprintf(&b, "modified: %q\n---\n\n%s\n", n.Modified.Format(time.RFC3339), n.Text)
	return b.String()
}

// nearly is the share of words in common from which two texts say the same.
const nearly = 0.85

// similar compares two texts by their words.
func similar(a, b string) bool {
	in := map[string]int{}
	for _, w := range rank.Words(a) {
		in[w] |= 1
	}
	for _, w := range rank.Words(b) {
		in[w] |= 2
	}
	both := 0
	for _, where := range in {
		if where == 3 {
			both++
		}
	}
	return len(in) > 0 && float64(both) >= nearly*float64(len(in))
}

// Forget removes a note.
func (s *Store) Forget(name string) (Note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.Get(name)
	if err != nil {
		return Note{}, err
	}
	if err := os.Remove(s.path(n.Name)); err != nil {
		return Note{}, err
	}
	return n, s.writeIndex()
}

// indexLine is a line of the index that belongs to a note.
var indexLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^- \[[^\]]*\]\(([a-z0-9-]+)\.md\)`) })

// writeIndex writes the list of notes anew. Lines that people wrote stay.
func (s *Store) writeIndex() error {
	path := s.Index()
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(old)) {
		if line = strings.TrimRight(line, "\r\n"); !indexLine().MatchString(line) {
			lines = append(lines, line)
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text != "" {
		text += "\n\n"
	}
	notes, _ := s.List()
	for _, n := range notes {
		text += fmt.Sprintf("- [%s](%s.md) (%s): %s\n", n.Name, n.Name, n.Modified.Format(time.DateOnly), n.Description)
	}
	if text == "" {
		return os.Remove(path)
	}
	return replace(path, text)
}

// replace writes a file as a whole.
func replace(path, text string) error {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".note-*"))
	for _, name := range left { // of a lathe that was killed
		if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(name)
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".note-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(tmp.Name()))
	}
	return err
}

// Recall returns the few notes that belong to a prompt by their words, the best first, without those that the
// conversation has.
func (s *Store) Recall(text string, has func(Note) bool) []Note { return fit(s.byWords(text), has) }

// byWords returns the notes that share enough words with a prompt, the best first.
func (s *Store) byWords(text string) []Note {
	asked := map[string]bool{}
	for _, w := range rank.Words(text) {
		asked[w] = true
	}
	return slices.DeleteFunc(s.Search(text, 10), func(n Note) bool { return !belongs(n, asked) })
}

// fit takes the first notes that have room in a prompt, without those that the conversation has.
func fit(notes []Note, has func(Note) bool) (out []Note) {
	const most, room = 3, 4_000
	left := room
	for _, n := range notes {
		if len(out) == most {
			break
		}
		if len(n.Text) <= left && !has(n) {
			left -= len(n.Text)
			out = append(out, n)
		}
	}
	return out
}

// belongs reports whether a note shares enough words with a prompt: two with its name and description, or four with
// all of it. One shared word is chance.
func belongs(n Note, asked map[string]bool) bool {
	shared := func(text string) int {
		words := map[string]bool{}
		for _, w := range rank.Words(text) {
			words[w] = asked[w]
		}
		count := 0
		for _, both := range words {
			if both {
				count++
			}
		}
		return count
	}
	head := n.Name + " " + n.Description
	return shared(head) >= 2 || shared(head+" "+n.Text) >= 4
}

// Search returns the notes that fit a question best, the best first, at most limit.
func (s *Store) Search(question string, limit int) []Note {
	notes, _ := s.List()
	if len(notes) == 0 {
		return nil
	}
	docs := make([]rank.Document, len(notes))
	byName := map[string]Note{}
	for i, n := range notes {
		docs[i] = rank.Document{ID: n.Name, Title: n.Name + " " + n.Description, Text: n.Text}
		byName[n.Name] = n
	}
	var out []Note
	for _, hit := range rank.New(docs).Search(question, limit) {
		out = append(out, byName[hit.ID])
	}
	return out
}
