package usage

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Of is the use of a process and its descendants; zero: not known.
func Of(pid int) (u Use) {
	u.add(pid, 0)
	return u
}

// tick is the unit of /proc/PID/stat, on every Linux that Go runs on.
const tick = 10 * time.Millisecond

func (u *Use) add(pid, depth int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || depth > 20 {
		return
	}
	// After the name, which may have spaces: the state is field 3, the times 14 to 17, the resident pages 24.
	if fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]); len(fields) > 21 {
		for _, f := range fields[11:15] {
			n, _ := strconv.ParseInt(string(f), 10, 64)
			u.CPU += time.Duration(n) * tick
		}
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		u.Memory += pages * int64(os.Getpagesize())
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, f := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				u.add(child, depth+1)
			}
		}
	}
}
