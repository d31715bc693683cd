package task

// Counter counts by name.
type Counter struct{ n map[string]int }

// New makes a Counter.
func New() *Counter { return &Counter{n: map[string]int{}} }

// Add counts once.
func (c *Counter) Add(name string) { c.n[name]++ }

// Get returns a count.
func (c *Counter) Get(name string) int { return c.n[name] }

// All returns every count.
func (c *Counter) All() map[string]int { return c.n }
