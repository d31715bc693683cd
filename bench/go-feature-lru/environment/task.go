package task

// Cache keeps the most recently used values. It is to be written.
type Cache struct{}
