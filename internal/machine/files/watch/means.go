package watch

import (
	"os"
	"strconv"
	"strings"
)

// means is how a kind of system reports changes, and what that takes. The reports themselves come through fsnotify:
// inotify on Linux, kqueue on macOS and the BSDs, ReadDirectoryChangesW on Windows.
type means struct {
	limit  int                  // of what all watches take together
	takes  func(dir string) int // what the watch of a folder takes of it
	grows  bool                 // each file that comes takes 1 more, each that goes 1 less
	holds  bool                 // a watch keeps the folders above its own from being renamed and removed
	misses bool                 // a report may be missing, so that followed files are compared as well
	full   string               // for the user: which limit is reached
}

const (
	// maxFolders is how many folders the process watches at most: each takes about a kilobyte of the kernel.
	maxFolders = 60_000
	// maxOpen is how many files it holds open at most where a watch takes that.
	maxOpen = 10_000
	// maxHandles is how many folders it watches at most on Windows, where each takes a handle and a buffer.
	maxHandles = 1000
	// reportBuffer is the size of that buffer. fsnotify's own choice is four times as much.
	reportBuffer = 16 << 10
)

// meansOf has the means of a system, by its name in Go.
func meansOf(goos string) means {
	switch goos {
	case "linux":
		return means{
			limit: inotifyLimit(), takes: one,
			full: "The system's limit of watched folders (fs.inotify.max_user_watches or max_user_instances) is reached",
		}
	case "darwin", "freebsd", "netbsd", "openbsd", "dragonfly":
		// kqueue wants every file of a folder open. fsnotify ends a look at a folder early when a file goes meanwhile.
		return means{
			limit: min(maxOpen, openFiles()/3), takes: entries, grows: true, misses: true,
			full: "The limit of open files (ulimit -n) is reached, of which a watched folder takes one for each file in it",
		}
	case "windows":
		return means{
			limit: maxHandles, takes: one, holds: true, misses: true,
			full: "The limit of watched folders is reached",
		}
	}
	return means{
		limit: maxHandles, takes: one, misses: true,
		full: "This system reports no changes of files, or of no more folders",
	}
}

// one is what a folder takes where it is watched as a whole.
func one(string) int { return 1 }

// entries is what a folder takes where every file in it is held open.
func entries(dir string) int {
	f, err := os.Open(dir)
	if err != nil {
		return 1
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxOpen)
	return 1 + len(names)
}

// inotifyLimit leaves other programs of the user most of the watches.
func inotifyLimit() int {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, bad := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || bad != nil {
		return maxFolders
	}
	return min(maxFolders, n/3)
}
