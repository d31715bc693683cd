//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// Bubblewrap returns the path of the system's bubblewrap, "" if there is none: a program that may make namespaces for
// ordinary users where they may not, because it is setuid or has a profile of AppArmor. Only root may have put it
// there.
func Bubblewrap() string {
	for _, path := range []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/wrappers/bin/bwrap"} {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && st.Uid == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o022 == 0 &&
			st.Mode&0o111 != 0 {
			return path
		}
	}
	return ""
}

// startCarried starts the command by bubblewrap, which makes the namespaces and mounts, and lathe inside, which does
// the rest.
func (c *Child) startCarried(cmd *exec.Cmd, request *inside.Request) error {
	text, err := request.File()
	if err != nil {
		return err
	}
	plan := os.NewFile(uintptr(text), "lathe-plan")
	defer plan.Close()
	own, err := os.OpenFile(inside.Self, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer own.Close()
	if c.complaint, err = memory("lathe-carrier"); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	stderr := null
	if f, ok := cmd.Stderr.(*os.File); ok {
		stderr = f
	}
	files := []*os.File{c.file, own, plan, stderr}
	args := carrierArgs(c.plan, func() int {
		files = append(files, null)
		return 2 + len(files)
	})
	carrier := exec.Command(c.carrier, args...)
	carrier.Dir, carrier.Env = "/", []string{"GOGC=off"} // its last thread does not stop for a collection
	carrier.Stdin, carrier.Stdout, carrier.Stderr, carrier.ExtraFiles = cmd.Stdin, cmd.Stdout, c.complaint, files
	carrier.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !c.plan.Leave {
		carrier.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	err = inside.Blocked(carrier.Start) // bubblewrap would end at a SIGTERM, and the command with it at once
	c.file.Close()
	if err != nil {
		return fmt.Errorf("the sandbox could not be set up: %w", err)
	}
	cmd.Process = carrier.Process
	return nil
}

// memory is a file in memory.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// complaintOf is the error of bubblewrap, which it prints.
func (c *Child) complaintOf(err error) error {
	if c.complaint == nil {
		return fmt.Errorf("the sandbox did not start the command: %w", err)
	}
	text := make([]byte, 512)
	n, _ := c.complaint.ReadAt(text, 0)
	if reason := strings.TrimSpace(string(text[:n])); reason != "" {
		err = errors.New(reason)
	}
	return fmt.Errorf("the sandbox could not be set up by bubblewrap: %w", err)
}

// carrierArgs are bubblewrap's arguments for a plan. Null returns the number of a new descriptor of the null device.
func carrierArgs(p *inside.Plan, null func() int) []string {
	args := []string{
		"--as-pid-1", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL",
	}
	add := func(a ...string) { args = append(args, a...) }
	if !p.Leave {
		add("--die-with-parent")
	}
	if !p.HostNet {
		add("--unshare-net")
	}
	add("--ro-bind", "/", "/")
	if p.Temp == "" {
		add("--tmpfs", "/tmp")
	} else {
		add("--bind", p.Temp, "/tmp")
	}
	add("--dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc")
	if p.Private != "" {
		add("--bind", p.Private, PrivateDir)
	}
	for _, dir := range p.Empty {
		add("--tmpfs", dir)
	}
	seen := func(path string) bool { // in a private folder only the plan's own mounts are there
		return len(enclosing(append([]string{"/tmp", "/dev", "/proc"}, p.Empty...), path)) <= len(
			enclosing(slices.Concat(p.Write, p.Show), path))
	}
	for _, path := range p.Write {
		add("--bind", path, path)
	}
	for _, path := range p.Pin {
		if seen(path) {
			add("--bind", path, path)
		}
	}
	for _, o := range p.Overlay {
		add("--bind", o.Upper, o.Dir)
	}
	for _, path := range slices.Concat(p.Show, p.Protect) {
		if enclosing(p.Mask, path) == "" && seen(path) {
			add("--ro-bind", path, path)
		}
	}
	var folders []string
	for _, path := range p.Mask {
		if enclosing(folders, path) != "" || !seen(path) {
			continue
		}
		if fi, err := os.Lstat(path); err == nil && fi.IsDir() {
			folders = append(folders, path)
			add("--perms", "0000", "--tmpfs", path)
		} else {
			add("--perms", "0000", "--ro-bind-data", fmt.Sprint(null()), path)
		}
	}
	for _, dir := range slices.Concat([]string{"/dev", "/proc"}, p.Empty, folders) {
		add("--remount-ro", dir)
	}
	return append(args, "--", inside.CarriedPath, inside.CarriedName)
}

// Top returns the process at the top of the command's tree: with a carrier, which stays outside, the child of the
// leader.
func (c *Child) Top(leader int) int {
	if c.carrier == "" || c.tier != Full {
		return leader
	}
	own := strconv.Itoa(leader)
	b, err := os.ReadFile("/proc/" + own + "/task/" + own + "/children")
	if err != nil {
		return leader
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return leader
	}
	return pid
}
