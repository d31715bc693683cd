//go:build unix

package sandbox

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// heir is a small shell that outlives lathe by a moment: it reads which trees are there, and when its input
// ends, which the kernel sees to however lathe ended, it kills what is left of them. The kernel alone would
// end the leader (on Linux), not what the leader had started. Where there is no shell, that is all there is.
type heir struct {
	mu    sync.Mutex
	begun bool
	trees map[*tree]string // what tell says of each
	pipe  *os.File
	gone  chan struct{}
}

// will is the heir's program. Each line names all trees that are there now, as group:marker, so only the last
// one counts (tail reads it in few steps; the shell's own read takes one per byte). The search of /proc is for what left its group.
const will = `last=$(tail -n 1)
for t in $last; do kill -s KILL -- "-${t%%:*}"; done
for round in 1 2 3; do for t in $last; do
	[ "${t#*:}" ] && for f in $(grep -las -e "${t#*:}" /proc/[0-9]*/environ); do p=${f#/proc/}; kill -s KILL "${p%%/*}"; done
done; done`

// leaders are the pids that lathe started: no tree takes them for its orphans.
var leaders sync.Map

// add tells of a tree that has started.
func (h *heir) add(t *tree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		h.begun = true
		h.begin()
	}
	h.trees[t] = strconv.Itoa(t.pid) + ":" + t.name()
	h.tell()
}

// drop tells that a tree is gone.
func (h *heir) drop(t *tree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.trees, t)
	h.tell()
}

// begin starts the shell beside the first command, which does not wait for it: the pipe keeps what is written.
func (h *heir) begin() {
	h.trees = map[*tree]string{}
	pr, pw, err := os.Pipe()
	if err != nil {
		return
	}
	h.pipe, h.gone = pw, make(chan struct{})
	cmd := exec.Command("/bin/sh", "-c", will)
	cmd.Dir, cmd.Stdin = "/", pr
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	go func() {
		defer close(h.gone)
		defer pr.Close()
		if cmd.Start() != nil {
			return
		}
		leaders.Store(cmd.Process.Pid, true)
		_ = cmd.Wait()
		leaders.Delete(cmd.Process.Pid)
	}()
}

// tell writes the line. A heir that is not there cannot be told, which is no failure of a command.
func (h *heir) tell() {
	if h.pipe == nil {
		return
	}
	_, _ = h.pipe.WriteString(strings.Join(slices.Collect(maps.Values(h.trees)), " ") + "\n")
}

// close lets the heir go, with nothing to end, and waits for it.
func (h *heir) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pipe != nil {
		h.pipe.Close()
		h.pipe = nil
		<-h.gone
	}
}
