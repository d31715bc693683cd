package customtool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/regular"
	"github.com/lathe-dev/lathe/internal/config"
)

// cache keeps the descriptions of programs by the sum of their content, and the sums of files by their size and time,
// so that a start reads no program. A call compares the content itself.
type cache struct {
	file string

	mu      sync.Mutex
	changed bool
	stored
}

type stored struct {
	Files map[string]fileState   `json:"files"` // by path
	About map[string]description `json:"about"` // by sum
}

type fileState struct {
	Size int64     `json:"size"`
	Time time.Time `json:"time"`
	Sum  string    `json:"sum"`
}

type description struct {
	Text    string `json:"text,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// mostKept is how many descriptions are kept.
const mostKept = 500

// openCache reads the cache; one that cannot be read is empty.
func openCache(file string) *cache {
	c := &cache{file: file}
	if data, err := regular.ReadFile(file); err == nil {
		_ = json.Unmarshal(data, &c.stored)
	}
	if c.Files == nil {
		c.Files = map[string]fileState{}
	}
	if c.About == nil {
		c.About = map[string]description{}
	}
	return c
}

// sum is the SHA-256 of a file's content.
func (c *cache) sum(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	old := c.Files[path]
	c.mu.Unlock()
	if old.Sum != "" && old.Size == st.Size() && old.Time.Equal(st.ModTime()) {
		return old.Sum, nil
	}
	sum, err := config.SumOf(path)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Files[path], c.changed = fileState{Size: st.Size(), Time: st.ModTime(), Sum: sum}, true
	return sum, nil
}

func (c *cache) get(sum string) (text []byte, failure string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.About[sum]
	return []byte(d.Text), d.Failure, ok
}

func (c *cache) put(sum string, text []byte, failure string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.About) >= mostKept {
		clear(c.About)
	}
	if failure != "" {
		text = nil
	}
	c.About[sum], c.changed = description{Text: string(text), Failure: failure}, true
}

func (c *cache) forgetFailures() {
	for sum, d := range c.About {
		if d.Failure != "" {
			delete(c.About, sum)
			c.changed = true
		}
	}
	_ = c.save() // a cache: programs whose descriptions cannot be kept are asked again
}

// save replaces the file, if anything changed.
func (c *cache) save() error {
	if !c.changed {
		return nil
	}
	c.changed = false
	data, err := json.Marshal(c.stored)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.file), 0o700)
	}
	if err != nil {
		return fmt.Errorf("the descriptions of custom tools cannot be kept: %w", err)
	}
	next := fmt.Sprintf("%s.%d", c.file, os.Getpid())
	if err = os.WriteFile(next, data, 0o600); err == nil {
		err = os.Rename(next, c.file)
	}
	if err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("the descriptions of custom tools cannot be kept: %w", err)
	}
	return nil
}
