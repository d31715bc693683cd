package web

import (
	"slices"
	"sync"
	"time"
)

// cache keeps pages for a while. It is safe for concurrent use; the zero value is empty.
type cache struct {
	mu    sync.Mutex
	pages []kept // the one used last is the last
}

type kept struct {
	address string
	page    Page
	until   time.Time
}

func (c *cache) get(address string) (Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	i := c.find(address)
	if i < 0 {
		return Page{}, false
	}
	k := c.pages[i]
	c.pages = append(slices.Delete(c.pages, i, i+1), k)
	return k.page, true
}

func (c *cache) put(address string, p Page, keep time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if i := c.find(address); i >= 0 {
		c.pages = slices.Delete(c.pages, i, i+1)
	}
	c.pages = append(c.pages, kept{address, p, time.Now().Add(keep)})
	size := 0
	for i := range c.pages {
		size += len(c.pages[i].page.Body)
	}
	for len(c.pages) > cacheMax || size > cacheSize {
		size -= len(c.pages[0].page.Body)
		c.pages = slices.Delete(c.pages, 0, 1)
	}
}

// expire forgets the pages whose time is over.
func (c *cache) expire() {
	now := time.Now()
	c.pages = slices.DeleteFunc(c.pages, func(k kept) bool { return !now.Before(k.until) })
}

func (c *cache) find(address string) int {
	return slices.IndexFunc(c.pages, func(k kept) bool { return k.address == address })
}
