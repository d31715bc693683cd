//go:build amd64 || arm64

package inside

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// initSize bounds the length of initProgram; what follows it in lathe's code is copied with it and never reached.
const initSize = 1024

// initCode returns the code of initProgram, which is independent of its place.
func initCode() *[initSize]byte

// initFile is a file in memory with initProgram: a program of a page, where starting lathe itself again would cost some
// milliseconds for each command, and its memory while the command runs.
var initFile = sync.OnceValues(func() (int, error) {
	fd, err := unix.MemfdCreate("lathe-init", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { // Linux before 6.3 does not know MFD_EXEC, and needs none
		fd, err = unix.MemfdCreate("lathe-init", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err == unix.EACCES || err == unix.EPERM { // vm.memfd_noexec=2
		return initOnDisk()
	}
	if err != nil {
		return -1, fmt.Errorf("no file in memory for the sandbox's first process: %w", err)
	}
	image := initImage()
	if n, err := unix.Write(fd, image); err != nil || n != len(image) {
		unix.Close(fd)
		return -1, fmt.Errorf("the sandbox's first process cannot be written: %w", err)
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
		unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	return fd, err
})

// initOnDisk is initFile where the system forbids programs in memory: a file without a name, in a folder where programs
// may run.
func initOnDisk() (int, error) {
	for _, dir := range [...]string{os.TempDir(), "/var/tmp", os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm"} {
		if dir == "" {
			continue
		}
		if fd, err := unnamed(dir); err == nil {
			return fd, nil
		}
	}
	return -1, errors.New("no file for the sandbox's first process: vm.memfd_noexec forbids it in memory, and no " +
		"temporary folder takes a program; set TMPDIR to one that does")
}

// unnamed makes the file in a folder, and opens it for reading only: the kernel runs no file that is open for writing.
func unnamed(dir string) (int, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return -1, err
	}
	if fs.Flags&unix.ST_NOEXEC != 0 {
		return -1, unix.EACCES
	}
	w, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o500)
	if err != nil {
		return -1, err
	}
	defer unix.Close(w)
	image := initImage()
	if n, err := unix.Write(w, image); err != nil || n != len(image) {
		return -1, errors.Join(err, io.ErrShortWrite)
	}
	return unix.Open("/proc/self/fd/"+strconv.Itoa(w), unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// initImage is an ELF file (elf(5)) of one readable and executable segment, with a stack that is not executable.
func initImage() []byte {
	const header, segment, base = 64, 56, 0x400000
	const code = header + 2*segment
	size := uint64(code + initSize)
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, 2) // ET_EXEC
	b = le.AppendUint16(b, elfMachine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, base+code)
	b = le.AppendUint64(b, header) // the segments
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, n := range [...]uint16{header, segment, 2, 0, 0, 0} {
		b = le.AppendUint16(b, n)
	}
	const load, stack, r, w, x = 1, 0x6474e551, 4, 2, 1
	for _, s := range [...]struct {
		kind, flags           uint32
		at, length, alignment uint64
	}{{load, r | x, base, size, 0x10000}, {stack, r | w, 0, 0, 16}} {
		b = le.AppendUint32(b, s.kind)
		b = le.AppendUint32(b, s.flags)
		for _, n := range [...]uint64{0, s.at, s.at, s.length, s.length, s.alignment} {
			b = le.AppendUint64(b, n)
		}
	}
	return append(b, initCode()[:]...)
}
