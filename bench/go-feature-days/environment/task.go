package task

import "time"

// Parse reads a duration.
func Parse(s string) (time.Duration, error) { return time.ParseDuration(s) }
