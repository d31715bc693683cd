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

// heir is a small shell that outlives lathe by a moment: when its input ends, which the kernel sees to however
// lathe ended, it reads from a file which trees there are, and kills what is left of them. The kernel alone
// would end the leader (on Linux), not what the leader had started. The list is a file, not lines of the
// input, so that the shell sleeps while lathe lives and cannot hold up a command. Where there is no shell,
// the kernel's part is all there is.
type heir struct {
	mu    sync.Mutex
	begun bool
	trees map[*tree]string // what the list says of each
	list  *os.File         // nameless; what it holds is padded with blanks, so that one write replaces it
	width int
	pipe  *os.File
	gone  chan struct{}
}

// will is the heir's program. The list names trees as group:marker. The search of /proc is for what left its
// group.
const will = `read -r _
last=$(cat <&3)
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

// begin starts the shell beside the first command, which does not wait for it.
func (h *heir) begin() {
	h.trees = map[*tree]string{}
	list, err := os.CreateTemp("", "lathe-")
	if err != nil {
		return
	}
	_ = os.Remove(list.Name())
	pr, pw, err := os.Pipe()
	if err != nil {
		list.Close()
		return
	}
	h.list, h.pipe, h.gone = list, pw, make(chan struct{})
	cmd := exec.Command("/bin/sh", "-c", will)
	cmd.Dir, cmd.Stdin, cmd.ExtraFiles = "/", pr, []*os.File{list}
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

// tell writes the list. A heir that is not there cannot be told, which is no failure of a command.
func (h *heir) tell() {
	if h.list == nil {
		return
	}
	line := strings.Join(slices.Collect(maps.Values(h.trees)), " ")
	h.width = max(h.width, len(line))
	_, _ = h.list.WriteAt([]byte(line+strings.Repeat(" ", h.width-len(line))+"\n"), 0)
}

// close lets the heir go, with nothing to end, and waits for it.
func (h *heir) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pipe != nil {
		h.pipe.Close()
		h.pipe = nil
		<-h.gone
		h.list.Close()
		h.list = nil
	}
}
