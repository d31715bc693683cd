package tool

import (
	_ "embed"
	"strings"
	"sync"
)

// fileTypes are the types of files, each with the globs of its base names: those of ripgrep --type-list but for
// compressed files, and more names for some. Both engines use them, since ripgrep's own list differs from release to
// release.
//
//go:embed grep_types.txt
var fileTypes string

// typeTable is fileTypes by name.
var typeTable = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(fileTypes) {
		names, globs, ok := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(names) {
			if ok {
				out[name] = strings.Fields(globs)
			}
		}
	}
	return out
})
