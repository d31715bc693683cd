package tool

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// The cache holds 200 results; those of Glob and Grep are good for 30 seconds.
const (
	cacheSize = 200
	cacheTTL  = 30 * time.Second
	cacheMax  = 256 << 10 // bytes of one result; a larger one (an image) is not kept
)

// Cache remembers results of Read, Glob and Grep. A result of Read is good while the file is in the same state; those
// of Glob and Grep for 30 seconds, until something may have changed files: a write, a command that is not read-only, a
// message of the user, a Read that finds a change. Errors are never kept. Safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	entries  *lru.LRU[cacheKey, cacheEntry]
	stats    CacheStats
	now      func() time.Time
	disabled bool
	ttl      time.Duration // of searches
}

// CacheStats counts hits, misses and the like. Entries is how many results it holds now.
type CacheStats struct {
	Entries, Hits, Misses, Invalidations, Evictions int
}

// HitRate is hits per look-up, 0 to 1.
func (s CacheStats) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

type cacheKey [sha256.Size]byte

// cacheEntry is one result. scope is the file it shows or the folder it searched.
type cacheEntry struct {
	scope  string
	state  *State // of the file, for Read; nil for searches
	expiry time.Time
	result *agent.Result
	seen   *Seen // for the tracker
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	c := &Cache{now: time.Now, ttl: cacheTTL}
	c.entries, _ = lru.NewLRU[cacheKey, cacheEntry](cacheSize, nil) // fails only for a size below 1
	return c
}

// Configure applies the settings: whether results are kept, how many (0: as many as before), and how long
// those of searches are good (0: they are not kept).
func (c *Cache) Configure(enabled bool, entries int, ttl time.Duration) {
	c.mu.Lock()
	if entries > 0 {
		c.entries.Resize(entries)
	}
	c.ttl = ttl
	c.mu.Unlock()
	if !enabled {
		c.Disable()
	}
}

// Disable turns the cache off: it forgets everything and keeps nothing.
func (c *Cache) Disable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disabled = true
	c.entries.Purge()
}

// Stats returns the counts so far.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = c.entries.Len()
	return s
}

// Clone makes an independent copy with counts of its own, for a subagent.
func (c *Cache) Clone() *Cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := NewCache()
	n.now, n.disabled, n.ttl = c.now, c.disabled, c.ttl
	for _, k := range c.entries.Keys() { // oldest first
		if v, ok := c.entries.Peek(k); ok {
			n.entries.Add(k, v)
		}
	}
	return n
}

// Clear forgets every result; the counts stay.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Invalidations += c.entries.Len()
	c.entries.Purge()
}

// InvalidateFile removes the results that a change of the file at a real path may void: those of Read for it and
// searches whose scope holds it.
func (c *Cache) InvalidateFile(path string) {
	c.invalidate(func(e cacheEntry) bool { return files.Within(e.scope, path) })
}

// InvalidateSearches removes the results of Glob and Grep: files may have changed anywhere, by a command or by the
// user. Results of Read are held against the file each time.
func (c *Cache) InvalidateSearches() {
	c.invalidate(func(e cacheEntry) bool { return e.state == nil })
}

func (c *Cache) invalidate(doubtful func(cacheEntry) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.entries.Keys() {
		if e, ok := c.entries.Peek(k); ok && doubtful(e) {
			c.entries.Remove(k)
			c.stats.Invalidations++
		}
	}
}

// keyOf hashes a call; the order of the input's keys does not matter.
func keyOf(tool string, input any, dir string) cacheKey {
	b, err := json.Marshal(input)
	if err != nil {
		b = []byte(fmt.Sprint(input))
	}
	var sorted any
	if json.Unmarshal(b, &sorted) == nil {
		b, _ = json.Marshal(map[string]any{"tool": tool, "input": sorted, "cwd": dir}) // maps are written in key order
	}
	return sha256.Sum256(b)
}

// get returns the result kept under a key if it still holds for scope. info is that of the file for Read.
func (c *Cache) get(k cacheKey, scope string, info fs.FileInfo) (cacheEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(k)
	if ok && !c.fresh(e, scope, info) {
		c.entries.Remove(k)
		c.stats.Invalidations++
		ok = false
	}
	if !ok {
		c.stats.Misses++
		return cacheEntry{}, false
	}
	c.stats.Hits++
	e.result = copyResult(e.result)
	return e, true
}

func (c *Cache) fresh(e cacheEntry, scope string, info fs.FileInfo) bool {
	if e.scope != scope {
		return false
	}
	if e.state != nil {
		return e.state.Same(info)
	}
	return c.ttl > 0 && c.now().Before(e.expiry)
}

// put keeps a result. Errors and very large results are not kept.
func (c *Cache) put(k cacheKey, e cacheEntry) {
	if e.result == nil || e.result.IsError || llm.ContentBytes(e.result.Parts) > cacheMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disabled || e.state == nil && c.ttl <= 0 {
		return
	}
	e.expiry = c.now().Add(c.ttl)
	e.result = copyResult(e.result)
	if c.entries.Add(k, e) {
		c.stats.Evictions++
	}
}

// copyResult copies the parts of a result that later stages may replace.
func copyResult(r *agent.Result) *agent.Result {
	n := *r
	n.Parts = slices.Clone(r.Parts)
	n.Meta = maps.Clone(r.Meta)
	return &n
}

// search returns the kept result of a search. There is none while a command in the background may change files.
func (e *searcher) search(k cacheKey, scope string) (*agent.Result, bool) {
	if e.Background.Running() > 0 {
		return nil, false
	}
	entry, ok := e.Cache.get(k, scope, nil)
	return entry.result, ok
}

// keepSearch keeps the result of a search that is complete.
func (e *searcher) keepSearch(k cacheKey, scope string, r *agent.Result) {
	if e.Background.Running() == 0 {
		e.Cache.put(k, cacheEntry{scope: scope, result: r})
	}
}
