package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/store/session"
)

// Shared is the transcript of a session where Claude Code keeps those of its own, for programs that list, read, name
// and copy sessions there. Lines are only added: other programs add lines too, and theirs stay. It is safe for
// concurrent use.
type Shared struct {
	log  *session.Session
	main string
	path string
	// Wrote gets the lines that were added; nil: nobody does.
	Wrote func(path string, lines []json.RawMessage)

	mu    sync.Mutex
	last  string            // the newest entry that was looked at
	done  mark              // its offset is not used
	have  map[string]string // the times of the lines in the file, by their id
	title string            // the last one in the file
}

// SharedPath is the file of a session below the folder of all projects. agent is the id of a subagent's session, whose
// main conversation is main; "": it is the main one's.
func SharedPath(projects, dir, main, agent string) string {
	folder := filepath.Join(projects, sharedName(dir))
	if agent == "" {
		return filepath.Join(folder, main+".jsonl")
	}
	return filepath.Join(folder, main, "subagents", "agent-"+agent+".jsonl")
}

// maxSharedName is the longest name of a project's folder, in UTF-16 units, before a sum stands in for its end.
const maxSharedName = 200

// sharedName is a folder as one name, in Claude Code's way: each unit that is neither a letter of ASCII nor a digit is
// a hyphen.
func sharedName(dir string) string {
	var b strings.Builder
	hash := int32(0)
	for _, u := range utf16.Encode([]rune(dir)) {
		hash = hash<<5 - hash + int32(u)
		if u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' || u >= '0' && u <= '9' {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	name := b.String()
	if len(name) <= maxSharedName {
		return name
	}
	sum := int64(hash)
	return name[:maxSharedName] + "-" + strconv.FormatInt(max(sum, -sum), 36)
}

// NewShared is the shared transcript of a session at a path. It reads what is there, and writes nothing.
func NewShared(log *session.Session, main, path string) (*Shared, error) {
	s := &Shared{log: log, main: main, path: path, have: map[string]string{}}
	from := s.begin()
	s.done = from
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for line := range wholeLines(file) {
		var l struct {
			UUID  string `json:"uuid"`
			Entry string `json:"entryId"`
			Time  string `json:"timestamp"`
			Type  string `json:"type"`
			Title string `json:"customTitle"`
		}
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		if l.UUID != "" {
			s.have[l.UUID] = l.Time
		}
		if l.Entry != "" {
			s.done = mark{entry: l.Entry, parent: l.UUID}
		}
		if l.UUID == from.parent && l.UUID != "" { // entries of the lines before are another log's
			s.done = from
		}
		if l.Type == "custom-title" {
			s.title = l.Title
		}
	}
	return s, nil
}

// wholeLines are the lines of a file. A torn one at its end is left out.
func wholeLines(file *os.File) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		r := bufio.NewReaderSize(file, 64<<10)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil || !yield(line) {
				return
			}
		}
	}
}

// Path is where the file is, or will be.
func (s *Shared) Path() string { return s.path }

// Title is the name that another program gave the session; "": none, or it is one that the log has had.
func (s *Shared) Title() string {
	if s.title == "" {
		return ""
	}
	b, _ := s.log.Since("")
	b = b.WithMeta()
	for _, e := range b.Entries(0, b.Len()) {
		if t, ok := e.Body.(session.Title); ok && t.Title == s.title {
			return ""
		}
	}
	return s.title
}

// Update adds the lines that the log has and the file has not. A reply that is open, and what follows it, waits.
func (s *Shared) Update() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.log.Head()
	if newest == "" || newest == s.last && s.log.Info().Title == s.title {
		return nil
	}
	b, onBranch := s.log.Since(s.done.entry)
	if !onBranch {
		s.done = mark{}
		b, _ = s.log.Since("")
	}
	b = b.WithMeta()
	l := &lines{f: &File{log: s.log, main: s.main}, parent: s.done.parent, shared: true, taken: s.taken()}
	done, size := s.done, 0
	for _, e := range b.Entries(0, b.Len()) {
		if _, named := e.Body.(session.Title); named {
			continue // the newest counts, below
		}
		l.take(e)
		if len(l.open) == 0 && l.parent != "" {
			done, size = mark{entry: e.ID, parent: l.parent}, l.out.Len()
		}
	}
	if l.err != nil {
		return l.err
	}
	l.out.Truncate(size)
	if title := s.log.Info().Title; title != "" && title != s.title {
		l.write(map[string]string{"type": "custom-title", "customTitle": title, "sessionId": s.main})
		s.title = title
	}
	if err := s.add(l.out.Bytes()); err != nil {
		return err
	}
	s.done, s.last = done, newest
	return nil
}

// taken reports, while lines are made, that another message has an id already: some servers give all replies one id.
func (s *Shared) taken() func(id, at string) bool {
	made := map[string]string{}
	return func(id, at string) bool {
		was, there := s.have[id]
		if !there {
			was, there = made[id]
		}
		made[id] = at
		return there && was != at
	}
}

// add writes the lines that the file does not have.
func (s *Shared) add(text []byte) (err error) {
	var fresh bytes.Buffer
	var lines []json.RawMessage
	for line := range bytes.Lines(text) {
		var l struct {
			UUID string `json:"uuid"`
			Time string `json:"timestamp"`
		}
		if json.Unmarshal(line, &l) == nil && l.UUID != "" {
			if _, there := s.have[l.UUID]; there {
				continue
			}
			s.have[l.UUID] = l.Time
		}
		fresh.Write(line)
		lines = append(lines, json.RawMessage(bytes.Clone(bytes.TrimSpace(line))))
	}
	if len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(fresh.Bytes()); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	if s.Wrote != nil {
		s.Wrote(s.path, lines)
	}
	return s.note()
}

// sharedNote is the file beside a log that tells where its shared transcript is.
const sharedNote = "shared.json"

// place is the content of that file: the transcript, and of a session that was read from one, the entry and the line
// up to which they are the same.
type place struct {
	Path  string `json:"path"`
	Entry string `json:"entry,omitempty"`
	Line  string `json:"line,omitempty"`
}

func placeOf(folder string) (p place) {
	data, err := os.ReadFile(filepath.Join(folder, sharedNote))
	if err == nil {
		_ = json.Unmarshal(data, &p) // a broken one is none
	}
	return p
}

func (p place) keep(folder string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sharedNote), data, 0o600)
}

// begin is the place from which a session that was read from this file goes on.
func (s *Shared) begin() mark {
	if p := placeOf(s.log.Folder()); p.Path == s.path {
		return mark{entry: p.Entry, parent: p.Line}
	}
	return mark{}
}

// note keeps where the file is, so that Deleted can tell.
func (s *Shared) note() error {
	p := placeOf(s.log.Folder())
	if p.Path == s.path {
		return nil
	}
	return place{Path: s.path}.keep(s.log.Folder())
}

// Deleted reports that another program deleted the transcript at a path of the session in a folder: it was there, and
// its own folder still is.
func Deleted(folder, path string) bool {
	if placeOf(folder).Path != path {
		return false
	}
	_, err := os.Stat(path)
	_, parent := os.Stat(filepath.Dir(path))
	return errors.Is(err, os.ErrNotExist) && parent == nil
}

// LineID is the id of the line that shows a part of a reply, in transcripts that are shared and in streams: the same
// whenever it is asked for, so that it names the message later.
func LineID(messageID string, index int) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(messageID+" "+strconv.Itoa(index))).String()
}

// isUUID reports an id that hosts take for a line's.
func isUUID(id string) bool {
	_, err := uuid.Parse(id)
	return err == nil && len(id) == 36
}
