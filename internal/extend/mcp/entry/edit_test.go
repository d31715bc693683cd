package entry_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// A process that was stopped in the middle of an edit holds no one for good.
func TestAnEditWaitsForAnotherProcessOnlyForAWhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".mcp.json")
	other := flock.New(file + ".lathe-lock")
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	defer other.Close()
	synctest.Test(t, func(t *testing.T) {
		err := entry.Put(file, []string{"mcpServers", "a"}, []byte(`{}`))
		if err == nil || !strings.Contains(err.Error(), "end it, and try again") {
			t.Errorf("%v", err)
		}
	})
}
