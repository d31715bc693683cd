#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import (
	"maps"
	"sync"
)

// Counter counts by name.
type Counter struct {
	mu sync.Mutex
	n  map[string]int
}

// New makes a Counter.
func New() *Counter { return &Counter{n: map[string]int{}} }

// Add counts once.
func (c *Counter) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name]++
}

// Get returns a count.
func (c *Counter) Get(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// All returns every count.
func (c *Counter) All() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}
END
