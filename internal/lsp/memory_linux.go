package lsp

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// memoryOf is the resident memory of a process and its descendants, in bytes; 0: not known.
func memoryOf(pid int) int64 { return memoryBelow(pid, 0) }

func memoryBelow(pid, depth int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil || depth > 20 {
		return 0
	}
	var total int64
	if fields := bytes.Fields(data); len(fields) > 1 {
		pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
		total = pages * int64(os.Getpagesize())
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, f := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				total += memoryBelow(child, depth+1)
			}
		}
	}
	return total
}
