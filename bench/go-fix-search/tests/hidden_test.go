package task

import "testing"

func TestFind(t *testing.T) {
	for _, c := range []struct {
		v       []int
		x, want int
	}{{nil, 1, -1}, {[]int{1}, 1, 0}, {[]int{1}, 2, -1}, {[]int{1}, 0, -1}, {[]int{1, 2, 2, 2, 3}, 2, 1}, {[]int{1, 3, 5}, 5, 2}, {[]int{1, 3, 5}, 4, -1}} {
		if got := Find(c.v, c.x); got != c.want {
			t.Errorf("Find(%v, %d) = %d, want %d", c.v, c.x, got, c.want)
		}
	}
}
