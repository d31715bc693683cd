package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// meter reads the memory of a program and its children from /proc while it runs.
type meter struct {
	pid  int
	quit chan struct{}
	done sync.WaitGroup

	mu        sync.Mutex
	peak, pss float64 // the most resident and proportional memory so far, in MB
}

// startMeter reads the resident memory every 10 ms until stop.
func startMeter(pid int) *meter {
	m := &meter{pid: pid, quit: make(chan struct{})}
	m.done.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-m.quit:
				return
			case <-tick.C:
				m.keep(&m.peak, m.sum("status", "VmHWM:", "VmRSS:"))
			}
		}
	})
	return m
}

// readPSS is called while the program waits for a reply: reading it stops the program for a moment.
func (m *meter) readPSS() {
	m.keep(&m.peak, m.sum("status", "VmHWM:", "VmRSS:"))
	m.keep(&m.pss, m.sum("smaps_rollup", "Pss:", "Pss:"))
}

func (m *meter) keep(most *float64, now float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*most = max(*most, now)
}

func (m *meter) stop() {
	close(m.quit)
	m.done.Wait()
}

// sum adds a field of the program to one of its children, in MB. It leaves out a child that was forked and has not
// started its own program yet: that one still shares the memory of its parent.
func (m *meter) sum(file, own, child string) float64 {
	total := field(m.pid, file, own)
	for _, pid := range tree(m.pid)[1:] {
		if !bytes.Equal(read(pid, "cmdline"), read(m.pid, "cmdline")) {
			total += field(pid, file, child)
		}
	}
	return total
}

// field is a value of a file of /proc/PID, in MB.
func field(pid int, file, name string) float64 {
	_, rest, _ := bytes.Cut(read(pid, file), []byte(name))
	kB, _, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
	return count(kB) * 1024 / 1e6
}

// read returns a file of /proc/PID, nothing if the process has ended.
func read(pid int, file string) []byte {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	return b
}

func count(s string) float64 {
	n, _ := strconv.ParseFloat(s, 64)
	return n
}

// tree is a process and all its descendants.
func tree(root int) []int {
	out := []int{root}
	for i := 0; i < len(out); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", out[i]))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			for word := range strings.FieldsSeq(string(b)) {
				out = append(out, int(count(word)))
			}
		}
	}
	return out
}

// cpu is the processor time in seconds of a program and its children, those that have ended included.
func cpu(root int) float64 {
	const hertz = 100 // of these fields, on every architecture
	sum := 0.0
	for _, pid := range tree(root) {
		b := read(pid, "stat")
		if words := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(words) > 15 {
			for _, ticks := range words[11:15] { // utime, stime, cutime, cstime
				sum += count(ticks) / hertz
			}
		}
	}
	return sum
}

// killTree ends a program and its descendants.
func killTree(root int) {
	for _, pid := range tree(root) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may be gone
		}
	}
}
