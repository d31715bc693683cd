package console

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// usage records how often and how recently commands were used, over all sessions.
type usage struct {
	path string

	mu     sync.Mutex
	loaded bool
	uses   map[string]use
	news   map[string]int // since the file was read
}

// use counts with a half-life: old uses count less.
type use struct {
	Weight float64   `json:"weight"`
	Last   time.Time `json:"last"`
}

// halfLife is the time after which a use counts half.
const halfLife = 14 * 24 * time.Hour

func newUsage(state string) *usage {
	return &usage{path: filepath.Join(state, "commands.json"), news: map[string]int{}}
}

// now returns the decayed count.
func (u use) now() float64 {
	return u.Weight * math.Exp2(-float64(time.Since(u.Last))/float64(halfLife))
}

func (u *usage) load() {
	if u.loaded {
		return
	}
	u.loaded = true
	u.uses = map[string]use{}
	if b, err := regular.ReadFile(u.path); err == nil && len(b) < 1<<20 {
		_ = json.Unmarshal(b, &u.uses) // a corrupt file is replaced
	}
	if u.uses == nil {
		u.uses = map[string]use{}
	}
}

// note counts one use. Names are those of commands, so there are few.
func (u *usage) note(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	u.uses[name] = use{u.uses[name].now() + 1, time.Now().UTC()}
	u.news[name]++
}

func (u *usage) score(name string) float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	return u.uses[name].now()
}

// save merges the new counts into the file.
func (u *usage) save() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.news) == 0 {
		return nil
	}
	u.loaded = false
	u.load()
	for name, n := range u.news {
		u.uses[name] = use{u.uses[name].now() + float64(n), time.Now().UTC()}
	}
	u.news = map[string]int{}
	b, err := json.Marshal(u.uses)
	if err != nil {
		return err
	}
	tmp := u.path + ".new"
	return errors.Join(os.MkdirAll(filepath.Dir(u.path), 0o700), os.WriteFile(tmp, b, 0o600), os.Rename(tmp, u.path))
}
