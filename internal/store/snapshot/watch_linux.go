package snapshot

import (
	"encoding/binary"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// watch tells which folders were touched since the last scan, so that a step need not look at all files before it
// starts and after it ends. A write through a mapping is announced when the mapping ends. Folders with files of several
// hard links are looked at in any case, and file systems that others change without an event have no watch.
type watch struct {
	mu   sync.Mutex
	fd   int // -1: it cannot be used
	of   map[int32]*node
	wd   map[*node]int32
	lost bool // events were lost, or a folder has no watch
}

const watched = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_MOVED_FROM |
	unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// remote are the file systems that may change without an event here.
var remote = map[uint32]bool{
	unix.NFS_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true,
	unix.FUSE_SUPER_MAGIC: true,
	unix.V9FS_MAGIC:       true, unix.CEPH_SUPER_MAGIC: true, unix.AFS_SUPER_MAGIC: true, unix.AFS_FS_MAGIC: true,
	unix.CODA_SUPER_MAGIC: true, unix.NCP_SUPER_MAGIC: true,
}

func newWatch(root string) *watch {
	var st unix.Statfs_t
	if unix.Statfs(root, &st) != nil || remote[uint32(st.Type)] {
		return &watch{fd: -1}
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		fd = -1
	}
	return &watch{fd: fd, of: map[int32]*node{}, wd: map[*node]int32{}, lost: true}
}

// add watches a folder from now on.
func (w *watch) add(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.wd[n]; ok || w.fd < 0 {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, n.path, watched)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) { // the user's limit of watches
			_ = unix.Close(w.fd)
			w.fd = -1
		}
		w.lost = true
		return
	}
	if old := w.of[int32(wd)]; old != nil { // the same folder under another node
		delete(w.wd, old)
	}
	w.of[int32(wd)], w.wd[n] = n, int32(wd)
}

// touched returns the folders with events since the last call. false: that is not known, so all are to be looked at.
func (w *watch) touched() (map[*node]bool, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, ok := map[*node]bool{}, !w.lost && w.fd >= 0
	w.lost = false
	if w.fd < 0 {
		return nil, false
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return out, ok && (err == nil || errors.Is(err, unix.EAGAIN))
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			b = b[unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])):]
			node := w.of[wd]
			switch {
			case mask&unix.IN_Q_OVERFLOW != 0:
				ok = false
			case node == nil:
			default:
				out[node] = true
				if mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0 {
					ok = false // rare: a folder is gone, or lies elsewhere
				}
				if mask&unix.IN_IGNORED != 0 {
					delete(w.of, wd)
					delete(w.wd, node)
				}
			}
		}
	}
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		_ = unix.Close(w.fd)
		w.fd = -1
	}
}
