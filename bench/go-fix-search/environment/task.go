package task

// Find returns the index of the first x in sorted v, or -1.
func Find(v []int, x int) int {
	lo, hi := 0, len(v)
	for lo <= hi {
		mid := (lo + hi) / 2
		if v[mid] == x {
			return mid
		} else if v[mid] < x {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return -1
}
