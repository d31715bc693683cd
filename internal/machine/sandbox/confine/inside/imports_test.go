package inside

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Packages with a sync.Pool take the lock of Go's scheduler, which can be held for ever in a stem.
func TestNothingHereUsesAPool(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if !strings.HasSuffix(name, "_test.go") && slices.Contains([]string{"fmt", "encoding/json", "log", "os/exec"}, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
