package files

import (
	"io/fs"
	"os"
)

const nonblock = 0

func isReadOnlyFS(error) bool { return false }

func cannotRename(error) bool { return false }

func readEntries(f *os.File, _ string) ([]fs.DirEntry, error) { return f.ReadDir(-1) }

// dirSyncUnsupported: Windows has no sync of folders.
func dirSyncUnsupported(err error) bool { return err != nil }

// Links counts the hard links of a file, this name among them; 0 where that is unknown.
func Links(fs.FileInfo) uint64 { return 0 }

func keepOwner(*os.File, fs.FileInfo) {}
