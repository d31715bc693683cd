#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var head = regexp.MustCompile(`^(?:(\d+)w)?(?:(\d+)d)?(.*)$`)

// Parse reads a duration.
func Parse(s string) (time.Duration, error) {
	m := head.FindStringSubmatch(s)
	if m == nil || s == "" {
		return 0, fmt.Errorf("%q is no duration", s)
	}
	var sum time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] != "" {
			n, err := strconv.Atoi(m[i+1])
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * unit
		}
	}
	if m[3] == "" {
		return sum, nil
	}
	rest, err := time.ParseDuration(m[3])
	return sum + rest, err
}
END
