package plugin

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxDiffFile = 256 << 10 // bytes of a file that is compared line by line
	maxDiff     = 512 << 10 // bytes of a whole difference
)

func readerOf(data []byte) io.Reader { return bytes.NewReader(data) }

// diff is the difference of two folders as a unified diff, binary files by name: foreign text.
func diff(from, to string) string {
	old, now := list(from), list(to)
	all := maps.Clone(old)
	maps.Copy(all, now)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, after := read(old[name]), read(now[name])
		if bytes.Equal(before, after) && mode(old[name]) == mode(now[name]) && (old[name] == "") == (now[name] == "") {
			continue
		}
		if b.Len() > maxDiff {
			fmt.Fprintf(&b, "... and more files, from %s on\n", name)
			break
		}
		b.WriteString(fileDiff(name, before, after, old[name], now[name]))
	}
	return b.String()
}

func fileDiff(name string, before, after []byte, old, now string) string {
	if len(before) > maxDiffFile || len(after) > maxDiffFile || !utf8.Valid(before) || !utf8.Valid(after) {
		return fmt.Sprintf("%s: %d bytes become %d bytes, which are not shown\n", name, len(before), len(after))
	}
	text := udiff.Unified("a/"+name, "b/"+name, string(before), string(after))
	if old != "" && now != "" && mode(old) != mode(now) {
		text += fmt.Sprintf("%s: may be run: %v\n", name, mode(now))
	}
	if text == "" {
		text = fmt.Sprintf("%s: empty, new or gone\n", name)
	}
	return text
}

// list is the regular files below a folder, by slash-separated path.
func list(dir string) map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if rel, err := filepath.Rel(dir, path); err == nil {
				out[filepath.ToSlash(rel)] = path
			}
		}
		return nil
	})
	return out
}

func read(path string) []byte {
	if path == "" {
		return nil
	}
	data, _ := os.ReadFile(path) // our own copies
	return data
}

// mode reports a file that may be run.
func mode(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&0o100 != 0
}
