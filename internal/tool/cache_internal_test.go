package tool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestTheCacheKeyIgnoresTheOrderOfKeys(t *testing.T) {
	a := keyOf("Read", map[string]any{"file_path": "x", "limit": 1}, "/w")
	b := keyOf("Read", struct {
		Limit int    `json:"limit"`
		Path  string `json:"file_path"`
	}{1, "x"}, "/w")
	if a != b {
		t.Error("the same input has two keys")
	}
	for _, other := range []cacheKey{
		keyOf("Grep", map[string]any{"file_path": "x", "limit": 1}, "/w"),
		keyOf("Read", map[string]any{"file_path": "x", "limit": 2}, "/w"),
		keyOf("Read", map[string]any{"file_path": "x", "limit": 1}, "/v"),
	} {
		if a == other {
			t.Error("different calls share a key")
		}
	}
}

func TestSearchesAreCachedForThirtySeconds(t *testing.T) {
	c := NewCache()
	now := time.Unix(1000, 0)
	c.now = func() time.Time { return now }
	k := keyOf("Glob", "x", "/w")
	c.put(k, cacheEntry{scope: "/w", result: agent.TextResult("r")})
	now = now.Add(29 * time.Second)
	if _, ok := c.get(k, "/w", nil); !ok {
		t.Error("gone before its time")
	}
	if _, ok := c.get(k, "/elsewhere", nil); ok {
		t.Error("served for another folder")
	}
	c.put(k, cacheEntry{scope: "/w", result: agent.TextResult("r")})
	now = now.Add(31 * time.Second)
	if _, ok := c.get(k, "/w", nil); ok {
		t.Error("served after its time")
	}
	if s := c.Stats(); s != (CacheStats{Entries: 0, Hits: 1, Misses: 2, Invalidations: 2}) {
		t.Errorf("%+v", s)
	}
}

func TestTheCacheKeepsTwoHundredResultsAndNoErrors(t *testing.T) {
	c := NewCache()
	for i := range cacheSize + 5 {
		c.put(keyOf("Glob", i, ""), cacheEntry{scope: "/w", result: agent.TextResult(fmt.Sprint(i))})
	}
	c.put(keyOf("Glob", "bad", ""), cacheEntry{scope: "/w", result: &agent.Result{IsError: true}})
	c.put(keyOf("Read", "large", ""), cacheEntry{scope: "/w", result: agent.TextResult(strings.Repeat("x", cacheMax+1))})
	if s := c.Stats(); s.Entries != cacheSize || s.Evictions != 5 {
		t.Errorf("%+v", s)
	}
	if _, ok := c.get(keyOf("Glob", 0, ""), "/w", nil); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := c.get(keyOf("Glob", "bad", ""), "/w", nil); ok {
		t.Error("an error was kept")
	}
}

func TestInvalidationGoesByScope(t *testing.T) {
	state := &State{Size: 1}
	for _, c := range []struct {
		scope string
		state *State
		file  bool // InvalidateFile(/w/src/a.go) drops it
	}{
		{"/w/src/a.go", state, true},
		{"/w/src/b.go", state, false},
		{"/w/srcx/a.go", state, false},
		{"/w/src", nil, true},
		{"/w", nil, true},
		{"/w/src/sub", nil, false},
		{"/w/lib", nil, false},
	} {
		for _, how := range []struct {
			name string
			drop func(*Cache)
			want bool
		}{
			{"file", func(c *Cache) { c.InvalidateFile("/w/src/a.go") }, c.file},
			{"searches", func(c *Cache) { c.InvalidateSearches() }, c.state == nil},
			{"clear", func(c *Cache) { c.Clear() }, true},
		} {
			cache := NewCache()
			cache.put(keyOf("x", 1, ""), cacheEntry{scope: c.scope, state: c.state, result: agent.TextResult("")})
			how.drop(cache)
			if got := cache.Stats().Entries == 0; got != how.want {
				t.Errorf("%s of %s: dropped %v", how.name, c.scope, got)
			}
		}
	}
}

func TestAClonedCacheIsIndependent(t *testing.T) {
	parent := NewCache()
	k := keyOf("Glob", 1, "")
	parent.put(k, cacheEntry{scope: "/w", result: agent.TextResult("r")})
	child := parent.Clone()
	if _, ok := child.get(k, "/w", nil); !ok {
		t.Error("the child lost what the parent knew")
	}
	child.Clear()
	if _, ok := parent.get(k, "/w", nil); !ok {
		t.Error("the child's invalidation went back to the parent")
	}
	if r := child.Stats().HitRate(); r != 1 {
		t.Errorf("hit rate %v", r)
	}
}

func TestACachedResultIsNotChangedByItsUsers(t *testing.T) {
	c := NewCache()
	k := keyOf("Glob", 1, "")
	r := agent.TextResult("original")
	r.Meta = map[string]any{"n": 1}
	c.put(k, cacheEntry{scope: "/w", result: r})
	r.Parts[0] = nil
	first, _ := c.get(k, "/w", nil)
	first.result.Parts[0] = nil
	first.result.Meta["n"] = 2
	second, _ := c.get(k, "/w", nil)
	if text := (llm.ToolResult{Parts: second.result.Parts}).PlainText(); text != "original" ||
		second.result.Meta["n"] != 1 {
		t.Errorf("%+v", second.result)
	}
}

func TestTheReadTrackerRemembersFiveHundredFiles(t *testing.T) {
	g := NewReadTracker()
	for i := range trackedFiles + 1 {
		g.Note(fmt.Sprint(i), Seen{})
	}
	if _, ok := g.Get("0"); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := g.Get("1"); !ok {
		t.Error("one of the last 500 is gone")
	}
	c := g.Clone()
	c.Forget("7")
	if _, ok := g.Get("7"); !ok {
		t.Error("forgetting in the clone reached the original")
	}
	g.Clear()
	if _, ok := c.Get("8"); !ok {
		t.Error("clearing the original reached the clone")
	}
}
