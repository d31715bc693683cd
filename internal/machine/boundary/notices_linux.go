package boundary

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// notice is one change of a watched path, as inotify reports it.
type notice struct {
	path string
	mask uint32
}

func (n notice) moved() bool    { return n.mask&unix.IN_MOVED_TO != 0 }
func (n notice) appeared() bool { return n.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 }
func (n notice) vanished() bool { return n.mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0 }

// processGone reports whether an error of Proc.Cover means that there is no process to cover anything for.
func processGone(err error) bool {
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, unix.ESRCH)
}

// notices is the process's one inotify instance: closing one takes the kernel long.
type notices struct {
	mu   sync.Mutex
	raw  int
	file *os.File
	wd   map[int32]*noticed
}

// noticed is a watched folder.
type noticed struct {
	dir   string
	wd    int32
	users map[*pathWatch]bool
}

// pathWatch reports changes of paths until it is closed. changed gets the changes that one reading found; late ones
// came while an earlier call ran. Then settled is called. Neither may add or close a watch.
type pathWatch struct {
	paths   map[string]bool
	changed func(all []notice, late bool)
	settled func()
	touched bool
}

// theNotices is nil where the kernel gives no instance.
var theNotices = sync.OnceValue(func() *notices {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	n := &notices{raw: fd, file: os.NewFile(uintptr(fd), "inotify"), wd: map[int32]*noticed{}}
	go n.read()
	return n
})

// replaced are the events after which a path is another file, or none.
const replaced = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_MOVED_FROM

// add begins a watch. It reports false if some of the paths cannot be watched. written are those whose writes are
// reported too.
func (w *pathWatch) add(paths, written []string) bool {
	n := theNotices()
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w.paths = map[string]bool{}
	masks := map[string]uint32{}
	for i, list := range [][]string{paths, written} {
		for _, path := range list {
			w.paths[path] = true
			masks[filepath.Dir(path)] |= replaced | uint32(i)*unix.IN_MODIFY
		}
	}
	all := true
	for dir, mask := range masks {
		wd, err := unix.InotifyAddWatch(n.raw, dir, mask|unix.IN_MASK_ADD|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		if err != nil {
			all = false
			continue
		}
		f := n.wd[int32(wd)]
		if f == nil {
			f = &noticed{dir: dir, wd: int32(wd), users: map[*pathWatch]bool{}}
			n.wd[f.wd] = f
		}
		f.users[w] = true
	}
	return all
}

func (w *pathWatch) close() {
	n := theNotices()
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for wd, f := range n.wd {
		delete(f.users, w)
		if len(f.users) == 0 {
			delete(n.wd, wd)
			_, _ = unix.InotifyRmWatch(n.raw, uint32(wd))
		}
	}
}

// read reports the events of all watches.
func (n *notices) read() {
	buf := make([]byte, 16<<10)
	for {
		size, err := n.file.Read(buf)
		if err != nil {
			return
		}
		for late := false; size > 0; late = true {
			n.report(buf[:size], late)
			if size, err = unix.Read(n.raw, buf); err != nil {
				break
			}
		}
		n.settle()
	}
}

// settle ends a round of changes.
func (n *notices) settle() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.wd {
		for w := range f.users {
			if w.touched {
				w.touched = false
				w.settled()
			}
		}
	}
}

// report calls each watch with the events of its paths.
func (n *notices) report(events []byte, late bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := map[*pathWatch][]notice{}
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:end]), "\x00")
		events = events[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			n.all(of)
			continue
		}
		f := n.wd[wd]
		if f == nil {
			continue
		}
		path := filepath.Join(f.dir, name)
		for w := range f.users {
			if w.paths[path] {
				of[w] = append(of[w], notice{path, mask})
			}
		}
	}
	for w, all := range of {
		w.touched = true
		w.changed(all, late)
	}
}

// all stands for events that were lost: every path may be another file.
func (n *notices) all(of map[*pathWatch][]notice) {
	for _, f := range n.wd {
		for w := range f.users {
			for path := range w.paths {
				if filepath.Dir(path) == f.dir {
					of[w] = append(of[w], notice{path, unix.IN_CREATE})
				}
			}
		}
	}
}
