#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

func keep[T any](v []T, f func(T) bool) []T {
	var out []T
	for _, x := range v {
		if f(x) {
			out = append(out, x)
		}
	}
	return out
}

// Ints keeps the numbers for which f is true.
func Ints(v []int, f func(int) bool) []int { return keep(v, f) }

// Strings keeps the texts for which f is true.
func Strings(v []string, f func(string) bool) []string { return keep(v, f) }

// Floats keeps the numbers for which f is true.
func Floats(v []float64, f func(float64) bool) []float64 { return keep(v, f) }
END
