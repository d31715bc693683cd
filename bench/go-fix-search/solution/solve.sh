#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import "sort"

// Find returns the index of the first x in sorted v, or -1.
func Find(v []int, x int) int {
	i := sort.SearchInts(v, x)
	if i < len(v) && v[i] == x {
		return i
	}
	return -1
}
END
