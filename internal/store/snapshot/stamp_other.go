//go:build !linux

package snapshot

import (
	"io/fs"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), mode: info.Mode(), links: uint32(files.Links(info))}
	s.ino, s.ctime = files.Change(info)
	return s
}

// lookAt fills in the stamps of the names in a folder; one that is not there gets the zero stamp.
func lookAt(dir string, names []string, out []stamp) {
	for i, name := range names {
		out[i], _ = look(filepath.Join(dir, name))
	}
}

// clock is the time that a file gets that is changed now.
func clock() int64 { return time.Now().UnixNano() }
