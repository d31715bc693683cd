package console

import (
	"runtime/debug"
	"testing"
)

func TestOpeningCollectsMoreOftenAndRestoresTheSetting(t *testing.T) {
	current := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	start := current()
	t.Cleanup(func() { debug.SetGCPercent(start) })
	for _, tt := range []struct{ set, during int }{{100, 50}, {200, 50}, {30, 30}, {-1, -1}} {
		debug.SetGCPercent(tt.set)
		first, second := collectOften(), collectOften()
		if got := current(); got != tt.during {
			t.Errorf("of %d%%: %d%% while opening, want %d%%", tt.set, got, tt.during)
		}
		first()
		first()
		if got := current(); got != tt.during {
			t.Errorf("of %d%%: %d%% while another is opened, want %d%%", tt.set, got, tt.during)
		}
		second()
		if got := current(); got != tt.set {
			t.Errorf("%d%% after opening, want %d%%", got, tt.set)
		}
	}
}
