package fuzzy

import "strings"

// Distance is the number of letters to insert, delete, replace or swap with their neighbour to get from a to b
// (optimal string alignment, no letter edited twice), or limit+1 if it is more than limit. Letters are runes;
// bytes that are not UTF-8 count one each. Time is proportional to the shorter text times limit.
func Distance(a, b string, limit int) int {
	switch {
	case limit < 0:
		return limit + 1
	case isASCII(a) && isASCII(b):
		return distance([]byte(a), []byte(b), limit)
	}
	return distance([]rune(a), []rune(b), limit)
}

// Nearest is the name with the smallest distance from s, case aside, and that distance; the first of several.
// It is "" and limit+1 if no name is within limit.
func Nearest(s string, names []string, limit int) (string, int) {
	best, at := "", limit+1
	s = strings.ToLower(s)
	for _, name := range names {
		if at == 0 {
			break
		}
		if d := Distance(s, strings.ToLower(name), at-1); d < at {
			best, at = name, d
		}
	}
	return best, at
}

// distance fills the table of edits row by row, only where a cell can be within limit: near the diagonal.
func distance[T byte | rune](a, b []T, limit int) int {
	m, n := len(a), len(b)
	limit = min(limit, max(m, n))
	if m-n > limit || n-m > limit {
		return limit + 1
	}
	before, above, row := make([]int, n+1), make([]int, n+1), make([]int, n+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= m; i++ {
		from, to := max(1, i-limit), min(n, i+limit)
		least := i
		row[from-1] = limit + 1
		if from == 1 {
			row[0] = i
		}
		for j := from; j <= to; j++ {
			cost := above[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			cost = min(cost, row[j-1]+1)
			if j < i+limit { // the cell above is outside of the band at its right end
				cost = min(cost, above[j]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cost = min(cost, before[j-2]+1)
			}
			row[j] = cost
			least = min(least, cost)
		}
		if least > limit {
			return limit + 1
		}
		before, above, row = above, row, before
	}
	return min(above[n], limit+1)
}
