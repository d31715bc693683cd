package document

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitSelf gives up what the child does not need: files, dumps, processor time.
func limitSelf() {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 32, unix.RLIMIT_CPU: uint64(timeMax.Seconds()) * 2,
	} {
		_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
	}
}

// resident is the process's memory in bytes.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return heap()
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return heap()
	}
	return pages * int64(os.Getpagesize())
}
