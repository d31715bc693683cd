// Package approved keeps the user's answers about programs that a project brings along: the servers of its .mcp.json,
// the hooks of its skills and agents, its tools. An answer holds for exactly the content that it was given for; a
// change asks again.
package approved

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Answers are the answers of one kind about one project, in a file of lathe's state. It is safe for concurrent use.
type Answers struct {
	mu   sync.Mutex
	file string
	root string
}

// answers are by name; each has the sum of the content.
type answers struct {
	Root     string            `json:"root"` // for people who read the file
	Approved map[string]string `json:"approved"`
	Refused  map[string]string `json:"refused"`
}

// Open returns the answers of a kind, such as "mcp", about a project; nothing is read yet. With an empty state folder
// nothing is kept.
func Open(stateHome, kind, root string) *Answers {
	a := &Answers{root: root}
	if stateHome != "" {
		a.file = filepath.Join(stateHome, kind, "approved", Sum([]byte(root))+".json")
	}
	return a
}

// Sum identifies a content: 32 hexadecimal digits.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

func (a *Answers) load() answers {
	out := answers{Root: a.root}
	if a.file != "" {
		if data, err := regular.ReadFile(a.file); err == nil {
			_ = json.Unmarshal(data, &out) // a broken file approves nothing
		}
	}
	if out.Approved == nil {
		out.Approved = map[string]string{}
	}
	if out.Refused == nil {
		out.Refused = map[string]string{}
	}
	return out
}

// Approved reports whether the user approved the content of this name.
func (a *Answers) Approved(name, sum string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.load().Approved[name] == sum
}

// Refused reports whether the user refused the content of this name for good.
func (a *Answers) Refused(name, sum string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.load().Refused[name] == sum
}

// Changed reports whether another content of this name was approved before.
func (a *Answers) Changed(name, sum string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	old, ok := a.load().Approved[name]
	return ok && old != sum
}

// Set keeps the user's answer.
func (a *Answers) Set(name, sum string, approve bool) error {
	return a.change(func(all *answers) {
		delete(all.Approved, name)
		delete(all.Refused, name)
		if approve {
			all.Approved[name] = sum
		} else {
			all.Refused[name] = sum
		}
	})
}

// Forget drops the answer about a name.
func (a *Answers) Forget(name string) error {
	return a.change(func(all *answers) { delete(all.Approved, name); delete(all.Refused, name) })
}

func (a *Answers) change(f func(*answers)) error {
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
