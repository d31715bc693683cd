#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import "container/list"

// Cache keeps the most recently used values.
type Cache struct {
	size  int
	order *list.List
	at    map[string]*list.Element
}

type pair struct{ key, value string }

// New makes a cache for so many values.
func New(size int) *Cache { return &Cache{size, list.New(), map[string]*list.Element{}} }

// Put keeps a value.
func (c *Cache) Put(key, value string) {
	if e := c.at[key]; e != nil {
		e.Value = pair{key, value}
		c.order.MoveToFront(e)
		return
	}
	c.at[key] = c.order.PushFront(pair{key, value})
	if c.order.Len() > c.size {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.at, last.Value.(pair).key)
	}
}

// Get returns a value.
func (c *Cache) Get(key string) (string, bool) {
	e := c.at[key]
	if e == nil {
		return "", false
	}
	c.order.MoveToFront(e)
	return e.Value.(pair).value, true
}

// Len is the number of values.
func (c *Cache) Len() int { return c.order.Len() }
END
