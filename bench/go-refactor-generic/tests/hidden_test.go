package task

import "testing"

func TestKeep(t *testing.T) {
	if got := Ints([]int{1, 2, 3}, func(x int) bool { return x > 1 }); len(got) != 2 || got[0] != 2 {
		t.Error(got)
	}
	if got := Strings([]string{"a", ""}, func(x string) bool { return x != "" }); len(got) != 1 {
		t.Error(got)
	}
	if got := Floats(nil, nil); got != nil {
		t.Error(got)
	}
	if got := keep([]rune("abc"), func(r rune) bool { return r == 'b' }); len(got) != 1 {
		t.Error(got)
	}
}
