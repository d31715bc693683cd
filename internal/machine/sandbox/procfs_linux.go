package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// spawnLoop is the spawner's goroutine. It does not unlock: its thread ends with it.
func spawnLoop(work <-chan func()) {
	runtime.LockOSThread()
	for f := range work {
		f()
	}
}

// procStat is the content of /proc/PID/stat (proc_pid_stat(5)). Start is in clock ticks since boot and tells a
// process from a later one with the same pid.
type procStat struct {
	pid, ppid, pgrp, session int
	state                    byte
	start                    uint64
}

func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	return parseStat(pid, b)
}

// parseStat reads a stat line. The name, in parentheses, may hold anything, so fields count from the last ')'.
func parseStat(pid int, b []byte) (procStat, bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return procStat{}, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 20 {
		return procStat{}, false
	}
	num := func(i int) int { n, _ := strconv.Atoi(string(f[i])); return n }
	start, _ := strconv.ParseUint(string(f[19]), 10, 64)
	return procStat{pid: pid, state: f[0][0], ppid: num(1), pgrp: num(2), session: num(3), start: start}, true
}

// allProcs reads the stat of every process that can be seen.
func allProcs() []procStat {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	out := make([]procStat, 0, len(names))
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if st, ok := readStat(pid); ok {
			out = append(out, st)
		}
	}
	return out
}

// childrenOf lists the children of one thread, dead ones that were not waited for among them. Orphans go
// to the main thread of a subreaper. It fails on kernels without CONFIG_PROC_CHILDREN.
func childrenOf(pid, tid int) ([]int, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/children")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, f := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// signal sends sig to exactly the process that was seen: through a pidfd, after a second look at its
// start time, so that a reused pid is never hit.
func (st procStat) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(st.pid, 0)
	if err == unix.ENOSYS || err == unix.EPERM {
		_ = unix.Kill(st.pid, sig)
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readStat(st.pid); ok && now.start == st.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
