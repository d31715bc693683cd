package boundary

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// onChange calls changed after each change of a file in its folder, until stop returns. Without the kernel's help it
// never does.
func onChange(path string, changed func()) (stop func()) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return func() {}
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_MOVED_TO|unix.IN_MODIFY|unix.IN_CREATE); err != nil {
		f.Close()
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			if _, err := f.Read(buf); err != nil {
				return
			}
			changed()
		}
	}()
	return func() {
		f.Close()
		<-done
	}
}

// openRegular does not follow a link, and does not wait for a pipe.
func openRegular(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}
