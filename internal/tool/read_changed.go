package tool

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// ChangedFile is a file that differs from its text in the conversation.
type ChangedFile struct {
	Path    string // real
	Removed bool
}

// settledFiles holds the states of known files at the end of the last turn, or when a change was last reported.
type settledFiles struct {
	at   map[string]State // a missing file has the zero State
	time time.Time        // without a state: of the end of the last turn; zero: unknown
}

// CommandRan notes that a command of the agent ran, which may have changed any file.
func (t *ReadTracker) CommandRan() { t.commands.Store(true) }

// Settle is called when a turn ends. If commands ran in it, or still run, the files count as settled as they are now:
// nobody can tell who changed them.
func (t *ReadTracker) Settle(running bool) {
	if !t.commands.Swap(false) && !running {
		return
	}
	t.settled = settledFiles{at: map[string]State{}}
	for _, path := range t.files.Keys() {
		if seen, ok := t.files.Peek(path); ok {
			if now, same := stateNow(path, seen); !same {
				t.settled.at[path] = now
			}
		}
	}
}

// SettledAt notes the time at which the last turn ended, for a conversation that is continued.
func (t *ReadTracker) SettledAt(end time.Time) {
	t.settled = settledFiles{at: map[string]State{}, time: end}
}

// Changed lists the files that the model knows and that changed since Settle, the one used last first. Each change is
// listed once.
func (t *ReadTracker) Changed() []ChangedFile {
	var out []ChangedFile
	for _, path := range slices.Backward(t.files.Keys()) {
		if f, ok := t.ChangedFile(path, time.Time{}); ok {
			out = append(out, f)
		}
	}
	return out
}

// ChangedFile is Changed for one file. A change before a time does not count.
func (t *ReadTracker) ChangedFile(path string, since time.Time) (ChangedFile, bool) {
	seen, ok := t.files.Peek(path)
	if !ok {
		return ChangedFile{}, false
	}
	now, same := stateNow(path, seen)
	before, known := t.settled.at[path]
	if same || known && before.stamp() == now.stamp() || !known && now.before(t.settled.time) || now.before(since) ||
		sameText(path, seen, now) {
		return ChangedFile{}, false
	}
	if t.settled.at == nil {
		t.settled.at = map[string]State{}
	}
	t.settled.at[path] = now
	return ChangedFile{path, now == State{}}, true
}

// ChangedLines is the difference between the text of a file as the model knows it (results show it, or the model made
// it) and the file now, as a unified diff; "" where that text is not kept, or the difference is longer than limit
// bytes.
func (t *ReadTracker) ChangedLines(path string, limit int) string {
	seen, known := t.files.Peek(path)
	if !known || !seen.Hashed() {
		return ""
	}
	base, ok := t.full.get(path)
	if !ok || base.state.Hash != seen.Hash {
		base, ok = t.made.get(path)
	}
	if !ok || base.state.Hash != seen.Hash {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size()+int64(len(base.view)) > diffMax {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil || files.Binary(data[:min(len(data), 8192)]) {
		return ""
	}
	diff, _ := diffTexts(path, base.view, files.Decode(data).View)
	if len(diff.Unified) > limit {
		return ""
	}
	return diff.Unified
}

// stateNow returns the current state of a file, without its hash, and whether it is the known one.
func stateNow(path string, seen Seen) (State, bool) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, false
	}
	if err != nil {
		return seen.State, true // nobody can tell
	}
	return StateOf(info, seen.Hash), seen.Same(info)
}

// before reports whether the state is older than a time; a missing file has none.
func (s State) before(t time.Time) bool {
	if t.IsZero() || s == (State{}) {
		return false
	}
	changed := s.Mtime
	if s.Changed != 0 {
		changed = time.Unix(0, s.Changed)
	}
	return changed.Before(t)
}

// sameText compares the content of a file that was moved or touched.
func sameText(path string, seen Seen, now State) bool {
	if !seen.Hashed() || now.Size != seen.Size || now.Size > readWhole || now == (State{}) {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && HashOf(data) == seen.Hash
}
