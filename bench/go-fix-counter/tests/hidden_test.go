package task

import (
	"sync"
	"testing"
)

func TestCounter(t *testing.T) {
	c := New()
	var wg sync.WaitGroup
	for i := 0; i < 40; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 2000; k++ {
				c.Add("a")
				_ = c.Get("a")
			}
		}()
	}
	wg.Wait()
	if c.Get("a") != 80000 {
		t.Errorf("%d", c.Get("a"))
	}
	c.All()["a"] = 0
	if c.Get("a") != 80000 {
		t.Error("All gives its own map away")
	}
}
