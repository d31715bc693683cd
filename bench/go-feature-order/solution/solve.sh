#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import (
	"errors"
	"sort"
)

// Order sorts names so that each comes after those in its list.
func Order(after map[string][]string) ([]string, error) {
	open := map[string]map[string]bool{}
	for k, l := range after {
		if open[k] == nil {
			open[k] = map[string]bool{}
		}
		for _, x := range l {
			open[k][x] = true
			if open[x] == nil {
				open[x] = map[string]bool{}
			}
		}
	}
	var out []string
	for len(open) > 0 {
		var free []string
		for k, l := range open {
			if len(l) == 0 {
				free = append(free, k)
			}
		}
		if len(free) == 0 {
			return nil, errors.New("a circle")
		}
		sort.Strings(free)
		out = append(out, free[0])
		delete(open, free[0])
		for _, l := range open {
			delete(l, free[0])
		}
	}
	return out, nil
}
END
