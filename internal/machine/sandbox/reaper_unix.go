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

// reaper ends the commands of a lathe that died without ending them (kill -9). It is a small shell whose input is
// a pipe from lathe: the kernel closes the pipe however lathe ends, and the shell then kills every process tree on
// its list. Without it the kernel would end only the leaders of the trees, and only on Linux. The list is a file
// rather than lines of the pipe, so that the shell sleeps while lathe lives and never delays a command. Where there
// is no /bin/sh, only the kernel's part works.
type reaper struct {
	mu    sync.Mutex
	begun bool
	trees map[*tree]string // the entry of each in the list
	list  *os.File         // an unlinked file, padded with blanks so that one write replaces its content
	width int
	pipe  *os.File
	gone  chan struct{}
}

// reaperScript waits for the end of its input and kills the trees, listed as group:marker. It also searches /proc for
// the marker, which finds processes that left their group.
const reaperScript = `read -r _
last=$(cat <&3)
for t in $last; do kill -s KILL -- "-${t%%:*}"; done
for round in 1 2 3; do for t in $last; do
	[ "${t#*:}" ] && for f in $(grep -las -e "${t#*:}" /proc/[0-9]*/environ); do p=${f#/proc/}; kill -s KILL "${p%%/*}"; done
done; done`

// leaders are the pids that lathe started: no tree takes them for its orphans.
var leaders sync.Map

// add lists a tree that has started.
func (r *reaper) add(t *tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun = true
		r.begin()
	}
	r.trees[t] = strconv.Itoa(t.pid) + ":" + t.name()
	r.tell()
}

// drop takes a tree that is gone off the list.
func (r *reaper) drop(t *tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.trees, t)
	r.tell()
}

// begin starts the shell beside the first command, without waiting for it.
func (r *reaper) begin() {
	r.trees = map[*tree]string{}
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
	r.list, r.pipe, r.gone = list, pw, make(chan struct{})
	cmd := exec.Command("/bin/sh", "-c", reaperScript)
	cmd.Dir, cmd.Stdin, cmd.ExtraFiles = "/", pr, []*os.File{list}
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	go func() {
		defer close(r.gone)
		defer pr.Close()
		if cmd.Start() != nil {
			return
		}
		leaders.Store(cmd.Process.Pid, true)
		_ = cmd.Wait()
		leaders.Delete(cmd.Process.Pid)
	}()
}

// tell writes the list. A missing reaper does not fail a command.
func (r *reaper) tell() {
	if r.list == nil {
		return
	}
	line := strings.Join(slices.Collect(maps.Values(r.trees)), " ")
	r.width = max(r.width, len(line))
	_, _ = r.list.WriteAt([]byte(line+strings.Repeat(" ", r.width-len(line))+"\n"), 0)
}

// close ends the shell and waits for it. The runner has dropped all trees before.
func (r *reaper) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil {
		r.pipe.Close()
		r.pipe = nil
		<-r.gone
		r.list.Close()
		r.list = nil
	}
}
