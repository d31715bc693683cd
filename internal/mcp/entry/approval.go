package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Approvals are the user's answers about the servers of one project's .mcp.json, in a file of lathe's state. An answer holds for exactly
// the entry it was given for.
type Approvals struct {
	mu   sync.Mutex
	file string
	root string
}

// answers are by server; each names the sum of the entry.
type answers struct {
	Root     string            `json:"root"` // for people who read the file
	Approved map[string]string `json:"approved"`
	Refused  map[string]string `json:"refused"`
}

// OpenApprovals returns the answers for a project; nothing is read yet. With an empty state folder nothing is kept.
func OpenApprovals(stateHome, root string) *Approvals {
	a := &Approvals{root: root}
	if stateHome != "" {
		sum := sha256.Sum256([]byte(root))
		a.file = filepath.Join(stateHome, "mcp", "approved", hex.EncodeToString(sum[:16])+".json")
	}
	return a
}

func (a *Approvals) load() answers {
	out := answers{Root: a.root, Approved: map[string]string{}, Refused: map[string]string{}}
	if a.file == "" {
		return out
	}
	if data, err := os.ReadFile(a.file); err == nil {
		_ = json.Unmarshal(data, &out) // a broken file approves nothing
	}
	if out.Approved == nil {
		out.Approved = map[string]string{}
	}
	if out.Refused == nil {
		out.Refused = map[string]string{}
	}
	return out
}

// Approved reports whether the user approved the entry as it is.
func (a *Approvals) Approved(e *Entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.load().Approved[e.Name] == e.Sum()
}

// Refused reports whether the user refused the entry as it is for good.
func (a *Approvals) Refused(e *Entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.load().Refused[e.Name] == e.Sum()
}

// Changed reports whether another entry of this name was approved before.
func (a *Approvals) Changed(e *Entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum, ok := a.load().Approved[e.Name]
	return ok && sum != e.Sum()
}

// Set keeps the user's answer.
func (a *Approvals) Set(e *Entry, approved bool) error {
	return a.change(func(all *answers) {
		delete(all.Approved, e.Name)
		delete(all.Refused, e.Name)
		if approved {
			all.Approved[e.Name] = e.Sum()
		} else {
			all.Refused[e.Name] = e.Sum()
		}
	})
}

// Forget drops the answer about a server.
func (a *Approvals) Forget(name string) error {
	return a.change(func(all *answers) { delete(all.Approved, name); delete(all.Refused, name) })
}

func (a *Approvals) change(f func(*answers)) error {
	if a.file == "" {
		return errors.New("the answer cannot be kept, because this run keeps nothing")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.load()
	f(&all)
	return WriteJSON(a.file, all)
}

// WriteJSON replaces a file of lathe's state, mode 0600.
func WriteJSON(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(file, append(data, '\n'))
}

// WriteFile replaces a file of lathe's state as a whole, mode 0600.
func WriteFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("cannot write %s: %w; make the state folder writable", file, err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; make the state folder writable", file, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return nil
}
