package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// markerName is the variable by which a process of a tree is known, wherever it went.
const markerName = "LATHE_CALL_ID"

// tree is a leader and all that came from it. The leader's pid is its group and session too.
type tree struct {
	pid    int
	marker string
	pipes  []string       // "pipe:[inode]" of the output
	seen   map[int]uint64 // members found so far, with their start time
	groups map[int]bool   // the process groups of theirs other than the leader's
}

// prepareProcess changes lathe's own process, once, before its first child.
var prepareProcess = sync.OnceFunc(func() {
	// Orphans of our trees become our children, where they can be found without searching all of
	// /proc. Where it fails they go to init and end still finds them by their marker.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// Descriptors that lathe's own parent left open must not reach a child (close_range(2), Linux 5.11).
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
})

func (t *tree) env(env []string, dir string) []string {
	var id [12]byte
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	t.marker = markerName + "=" + hex.EncodeToString(id[:])
	out := append(make([]string, 0, len(env)+2), env...)
	if dir != "" {
		out = append(out, "PWD="+dir)
	}
	return append(out, t.marker)
}

// name is the marker, by which the reaper finds the tree.
func (t *tree) name() string { return t.marker }

// watch notes a pipe whose holders belong to the tree.
func (t *tree) watch(r *os.File) {
	var st unix.Stat_t
	rc, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) })
	if err == nil {
		t.pipes = append(t.pipes, fmt.Sprintf("pipe:[%d]", st.Ino))
	}
}

// start has begin start the process on the spawner's thread, so Pdeathsig fires when lathe dies and not before.
func (t *tree) start(cmd *exec.Cmd, begin func() error) error {
	prepareProcess()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	if err := begin(); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	leaders.Store(t.pid, true)
	return nil
}

// waitLeader returns when the leader has ended; it is not reaped yet, so its pid cannot be reused.
func (t *tree) waitLeader() {
	for {
		err := unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func (t *tree) close() { leaders.Delete(t.pid) }

// canLeave says that processes of a tree can outlive lathe.
const canLeave = true

// survivors are the living processes of the tree beside the leader.
func (t *tree) survivors() []int {
	var pids []int
	for _, m := range t.members() {
		if m.pid != t.pid {
			pids = append(pids, m.pid)
		}
	}
	return pids
}

// leftovers ends the processes that outlived the leader. The usual case, nothing left, costs one small read: what the
// leader left behind are children of ours now.
func (t *tree) leftovers(grace time.Duration) (ended, alive int) {
	kids, err := childrenOf(os.Getpid(), os.Getpid())
	if err != nil {
		return t.end(grace)
	}
	// A child may end while it is looked at, and the children it leaves to us are then not in the list: read it again.
	// Twice settled is settled: the list itself may lack a child when it changes under the reader (proc(5)).
	dead, calm := map[int]bool{}, 0
	for range 50 {
		found, settled := t.look(kids, dead)
		if found {
			return t.end(grace)
		}
		if calm++; !settled {
			calm = 0
		}
		if calm == 2 {
			return 0, 0
		}
		if kids, err = childrenOf(os.Getpid(), os.Getpid()); err != nil {
			return t.end(grace)
		}
	}
	return t.end(grace)
}

// look reports whether one of the children is a living member of the tree, and whether the list still
// holds. It reaps the tree's dead orphans; dead keeps those that are not known to be the tree's and are left
// to whoever waits for them. What such a one left to us may have come after the list.
func (t *tree) look(kids []int, dead map[int]bool) (found, settled bool) {
	group := unix.Getpgrp()
	settled = true
	for _, pid := range kids {
		if _, ok := leaders.Load(pid); ok {
			continue
		}
		st, ok := readStat(pid)
		switch {
		case !ok:
			settled = false
		case st.state == 'Z':
			settled = !t.reap(st, group) && dead[pid] && settled
			dead[pid] = true
		case t.owns(st):
			return true, true
		default:
			now, ok := readStat(pid)
			settled = settled && ok && now.state != 'Z' && now.state != 'X'
		}
	}
	return false, settled
}

// reap takes the exit status of an orphan: one of the tree's session or group, or one whose group leader
// is another process that is gone, which no child that os/exec made for somebody else can be.
func (t *tree) reap(st procStat, selfGroup int) bool {
	_, known := t.seen[st.pid]
	if !known && st.pgrp != t.pid && st.session != t.pid && (st.pgrp == st.pid || st.pgrp == selfGroup) {
		return false
	}
	pid, err := unix.Wait4(st.pid, nil, unix.WNOHANG, nil)
	return err == nil && pid == st.pid
}

// end sends SIGTERM, then after grace SIGKILL until nothing is left. It counts the members other than
// the leader that it met, and those that are still there after two seconds of SIGKILL.
func (t *tree) end(grace time.Duration) (ended, alive int) {
	if t.seen == nil {
		t.seen, t.groups = map[int]uint64{}, map[int]bool{}
	}
	soft := time.Now().Add(grace)
	hard := soft.Add(2 * time.Second)
	told := map[int]bool{}
	empty := 0 // searches in a row that found nothing: one may miss a process that just lost its parent
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		members := t.members()
		if len(members) > 0 {
			empty = 0
		} else if empty++; empty < 2 || empty < 10 && t.moved() {
			continue
		}
		if len(members) == 0 || time.Now().After(hard) {
			delete(t.seen, t.pid)
			return len(t.seen), len(members)
		}
		kill := time.Now().After(soft)
		if kill {
			killGroups(members)
		}
		for _, m := range members {
			t.seen[m.pid] = m.start
			t.groups[m.pgrp] = t.groups[m.pgrp] || m.pgrp != t.pid && m.session != ownSession()
			switch {
			case kill:
				m.signal(unix.SIGKILL)
			case !told[m.pid]:
				told[m.pid] = true
				m.signal(unix.SIGTERM)
				m.signal(unix.SIGCONT) // a stopped process would not see the SIGTERM
			}
		}
		time.Sleep(pause)
	}
}

// moved ends the groups that the tree had and that are still there though no member was found, and reports
// whether there was one: its processes may pass on from one to the next quicker than a search. The leader is
// not reaped yet, so its number is not another's; the other numbers were the tree's a moment ago.
func (t *tree) moved() (found bool) {
	_ = unix.Kill(-t.pid, unix.SIGKILL)
	for g, theirs := range t.groups {
		if theirs && unix.Kill(-g, unix.SIGKILL) == nil {
			found = true
		}
	}
	return found
}

// killGroups ends whole process groups at once: processes that multiply are quicker than a search, but a
// signal to their group reaches those that are being born too. All groups of members are the tree's own,
// because its leader began a session.
func killGroups(members []procStat) {
	own := unix.Getpgrp()
	done := map[int]bool{own: true, 0: true, 1: true}
	for _, m := range members {
		if !done[m.pgrp] && m.session != ownSession() {
			done[m.pgrp] = true
			_ = unix.Kill(-m.pgrp, unix.SIGKILL)
		}
	}
}

func ownSession() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return sid
}

// members searches /proc for the living processes of the tree and reaps its dead orphans.
func (t *tree) members() []procStat {
	all := allProcs()
	in := map[int]bool{t.pid: true}
	self, group := os.Getpid(), unix.Getpgrp()
	for _, st := range all {
		if st.pid != t.pid && st.ppid == self && st.state == 'Z' {
			if _, other := leaders.Load(st.pid); !other {
				t.reap(st, group)
			}
		}
		if st.pgrp == t.pid || st.session == t.pid || t.seen[st.pid] == st.start && st.start != 0 {
			in[st.pid] = true
		} else if (st.ppid == self || st.ppid == 1) && st.state != 'Z' && t.owns(st) {
			in[st.pid] = true
		}
	}
	for grown := true; grown; { // children may stand before their parents
		grown = false
		for _, st := range all {
			if !in[st.pid] && in[st.ppid] {
				in[st.pid], grown = true, true
			}
		}
	}
	var out []procStat
	for _, st := range all {
		if in[st.pid] && st.state != 'Z' && st.state != 'X' {
			out = append(out, st)
		}
	}
	return out
}

// owns reports whether an orphan belongs to the tree: by group, session, marker or output.
func (t *tree) owns(st procStat) bool {
	if st.pgrp == t.pid || st.session == t.pid || (st.start != 0 && t.seen[st.pid] == st.start) {
		return true
	}
	if _, other := leaders.Load(st.pid); other {
		return false
	}
	dir := "/proc/" + strconv.Itoa(st.pid)
	if bytes.Contains(environ(dir), []byte(t.marker)) {
		return true
	}
	for _, fd := range [...]string{"/fd/1", "/fd/2"} {
		link, err := os.Readlink(dir + fd)
		if err != nil {
			continue
		}
		for _, p := range t.pipes {
			if p == link {
				return true
			}
		}
	}
	return false
}

// environ reads the environment of a process. In the middle of an execve both it and the arguments look empty,
// and on a busy machine that can take a while; a program that was given no environment has arguments still.
func environ(dir string) []byte {
	for range 400 {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || len(env) > 0 {
			return env
		}
		if args, err := os.ReadFile(dir + "/cmdline"); err != nil || len(args) > 0 {
			env, _ = os.ReadFile(dir + "/environ") // it may have got both in between
			return env
		}
		time.Sleep(500 * time.Microsecond)
	}
	return nil
}

// spawner is a goroutine that never leaves its thread: the kernel sends Pdeathsig when the thread that
// forked ends, not the process (prctl(2)), and Go ends threads as it likes.
type spawner struct {
	mu   sync.Mutex
	work chan func()
}

func (s *spawner) do(f func() error) error {
	s.mu.Lock()
	if s.work == nil {
		s.work = make(chan func())
		go spawnLoop(s.work)
	}
	work := s.work
	s.mu.Unlock()
	result := make(chan error, 1)
	work <- func() { result <- f() }
	return <-result
}

// close ends the goroutine; called when no child is left and none can start.
func (s *spawner) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work != nil {
		close(s.work)
		s.work = nil
	}
}
