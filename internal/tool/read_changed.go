package tool

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
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
		seen, ok := t.files.Peek(path)
		if !ok {
			continue
		}
		now, same := stateNow(path, seen)
		before, known := t.settled.at[path]
		if same || known && before.stamp() == now.stamp() || !known && now.before(t.settled.time) || sameText(path, seen, now) {
			continue
		}
		if t.settled.at == nil {
			t.settled.at = map[string]State{}
		}
		t.settled.at[path] = now
		out = append(out, ChangedFile{path, now == State{}})
	}
	return out
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
