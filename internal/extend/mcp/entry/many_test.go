package entry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

func TestAProjectDeclaresOnlySoManyServers(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for i := range 5000 {
		all = append(all, fmt.Sprintf(`"s%d": {"command": "x"}, "bad name %d": {}`, i, i))
	}
	file := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {`+strings.Join(all, ",")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, faults, err := entry.Read(entry.Places{ProjectDir: dir})
	if err != nil || len(entries)+len(faults) > 101 || !strings.Contains(faults[0],
		"of its 10000 MCP servers the first 100 are read") {
		t.Errorf("%d entries, %d faults: %.200q %v", len(entries), len(faults), faults, err)
	}
}
