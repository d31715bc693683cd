package task

import "testing"

func TestCache(t *testing.T) {
	c := New(2)
	c.Put("a", "1")
	c.Put("b", "2")
	c.Get("a")
	c.Put("c", "3")
	if _, ok := c.Get("b"); ok {
		t.Error("b is kept")
	}
	c.Put("a", "9")
	if v, ok := c.Get("a"); !ok || v != "9" || c.Len() != 2 {
		t.Error(v, ok, c.Len())
	}
}
