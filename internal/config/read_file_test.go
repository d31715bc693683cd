package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

// A kernel file that waits for news looks like an empty one.
func TestReadFileDoesNotWaitForNews(t *testing.T) {
	const log = "/proc/kmsg"
	if f, err := os.Open(log); err != nil {
		t.Skipf("the kernel's log cannot be read here: %v", err)
	} else {
		_ = f.Close()
	}
	if b, err := config.ReadFile(log, 1<<20); err == nil || !strings.Contains(err.Error(), "never ends") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
