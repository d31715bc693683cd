package tool

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// runningProcesses reads /proc (proc_pid_stat(5)).
func runningProcesses(context.Context, *sandbox.Runner) ([]process, error) {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []process
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if err != nil || open < 0 || end < open {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[end+1:]))
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1]) // 0 where it is no number, as for the first process
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		out = append(out, processOf(pid, parent, string(stat[open+1:end]),
			string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))))
	}
	return out, nil
}
