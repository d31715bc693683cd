package tool

import (
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
)

// Todos is the task list of a session. Safe for concurrent use.
type Todos struct {
	mu    sync.Mutex
	items []event.TodoItem
}

// Get returns the list.
func (t *Todos) Get() []event.TodoItem {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]event.TodoItem(nil), t.items...)
}

// Set replaces the list and returns the old one.
func (t *Todos) Set(items []event.TodoItem) []event.TodoItem {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.items
	t.items = append([]event.TodoItem(nil), items...)
	return old
}
