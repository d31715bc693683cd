// Package permissiontest reads the command lines that tests of permissions are run on.
package permissiontest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Lines reads a file of testdata: one command a line, or a Go string. Lines that begin with "# " are comments.
func Lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if text, err := strconv.Unquote(line); err == nil && line[0] == '"' {
			line = text
		}
		out = append(out, line)
	}
	return out
}
