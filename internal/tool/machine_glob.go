package tool

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// caseless: names of files and variables differ in more than case.
const caseless = runtime.GOOS == "windows"

// globLook is how many names are read for one pattern before it counts as too wide.
const globLook = 50_000

// Glob expands a pattern as bash does without options: *, ?, [...] within a part of the path, hidden files
// only for a pattern that begins with a dot. A pattern without a match gives no path.
func (m *Machine) Glob(pat, dir string, max int) (paths []string, more bool) {
	g := expansion{max: max, left: globLook, folders: strings.HasSuffix(pat, "/")}
	start := dir
	if filepath.IsAbs(pat) {
		start = filepath.VolumeName(pat) + string(filepath.Separator)
	}
	g.walk(start, splitPattern(pat))
	slices.Sort(g.found) // as bash does in the C locale
	return g.found, g.more
}

// splitPattern cuts a pattern at its slashes. A slash within brackets ends them, as in bash.
func splitPattern(pat string) []string {
	var parts []string
	for p := range strings.SplitSeq(filepath.ToSlash(pat), "/") {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

type expansion struct {
	found   []string
	max     int
	left    int  // names that may still be read
	folders bool // the pattern ends in a slash
	more    bool
}

func (g *expansion) walk(at string, parts []string) {
	for len(parts) > 0 && !pattern.HasMeta(parts[0], 0) {
		at, parts = filepath.Join(at, unescaped(parts[0])), parts[1:]
	}
	if len(parts) == 0 {
		if info, err := os.Lstat(at); err == nil && (!g.folders || isFolder(at, info)) {
			g.add(at)
		}
		return
	}
	expr, err := pattern.Regexp(parts[0], pattern.Filenames|pattern.EntireString)
	if err != nil {
		return // bash takes a broken pattern for a name; such a file is not there
	}
	match, err := regexp.Compile(expr)
	if err != nil {
		g.more = true
		return
	}
	hidden := strings.HasPrefix(parts[0], ".") || strings.HasPrefix(parts[0], `\.`)
	g.names(at, func(name string) {
		if (hidden || !strings.HasPrefix(name, ".")) && match.MatchString(name) {
			g.walk(filepath.Join(at, name), parts[1:])
		}
	})
}

// isFolder follows a link.
func isFolder(path string, info os.FileInfo) bool {
	if info.Mode()&os.ModeSymlink != 0 {
		var err error
		if info, err = os.Stat(path); err != nil {
			return false
		}
	}
	return info.IsDir()
}

// names calls f for each name in a folder.
func (g *expansion) names(dir string, f func(string)) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { // a pipe would wait
		return
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for !g.more {
		names, err := d.Readdirnames(min(512, g.left+1))
		if g.left -= len(names); g.left < 0 {
			g.more = true
			return
		}
		for _, n := range names {
			f(n)
		}
		if err != nil {
			if err != io.EOF {
				g.more = true // the unread rest may match
			}
			return
		}
	}
}

func (g *expansion) add(path string) {
	if len(g.found) >= g.max {
		g.more = true
		return
	}
	g.found = append(g.found, path)
}

// unescaped takes the backslashes off a part without a pattern.
func unescaped(part string) string {
	if !strings.Contains(part, `\`) {
		return part
	}
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '\\' && i+1 < len(part) {
			i++
		}
		b.WriteByte(part[i])
	}
	return b.String()
}
