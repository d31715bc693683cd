package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// target is the world that an attack aims at: folders, processes and sockets outside the sandbox.
type target struct {
	Work, Outside string  // the writable root, and a folder beside it
	Secret        string  // a masked file
	Pid           int     // a process outside, whose environment has outsideMark
	Mapped        uintptr // an address that it can read
	TCP, UDP      string  // addresses of servers outside
	Unix          string  // path of a server's socket, in Work, so that it can be seen
	Abstract      string
	Shared        string // name below /dev/shm
	SysV          int    // id of a shared memory segment
	Fd            int    // a number that lathe has open for writing, to Outside
}

const outsideMark = "OUTSIDE_MARK=seen"

// attack is one way out. It returns nil when it worked.
type attack struct {
	name string
	run  func(target) error
	full bool   // only the tier full holds it
	bare bool   // the same attack works without a sandbox, also for an ordinary user: the test shows that first
	root bool   // as bare, for root only
	why  string // for full: why Landlock does not hold it
}

var attacks = []attack{
	{name: "write a file outside", bare: true, run: func(t target) error { return create(t.Outside + "/new") }},
	{name: "empty a file outside", bare: true, run: func(t target) error { return os.Truncate(t.Outside+"/file", 0) }},
	{name: "remove a file outside", bare: true, run: func(t target) error { return os.Remove(t.Outside + "/file") }},
	{name: "rename a file outside", bare: true, run: func(
		t target,
	) error {
		return os.Rename(t.Outside+"/file", t.Outside+"/moved")
	}},
	{
		name: "move a file in from outside", bare: true,
		run: func(t target) error { return os.Rename(t.Outside+"/file", t.Work+"/moved") },
	},
	{
		name: "change the mode of a file outside", full: true, why: "Landlock has no right for it", bare: true,
		run: func(t target) error { return os.Chmod(t.Outside+"/file", 0o777) },
	},
	{
		name: "change the times of a file outside", full: true, why: "Landlock has no right for it", bare: true,
		run: func(t target) error {
			return os.Chtimes(t.Outside+"/file", time.Unix(1, 0), time.Unix(1, 0))
		},
	},
	{name: "write a file in /etc", root: true, run: func(target) error { return createGone("/etc/lathe-attack") }},
	{name: "write a file in the home folder", run: func(target) error {
		home, err := os.UserHomeDir()
		return errors.Join(err, createGone(home+"/.lathe-attack"))
	}},
	{name: "write through a symbolic link", bare: true, run: func(t target) error {
		return errors.Join(os.Symlink(t.Outside, t.Work+"/link"), create(t.Work+"/link/new"))
	}},
	{name: "write through a hard link", bare: true, run: func(t target) error {
		return errors.Join(os.Link(t.Outside+"/file", t.Work+"/hard"), os.WriteFile(t.Work+"/hard", nil, 0o600))
	}},
	{
		name: "write through /proc/self/root", bare: true,
		run: func(t target) error { return create("/proc/self/root" + t.Outside + "/new") },
	},
	{name: "write through an inherited descriptor", bare: true, run: func(t target) error {
		_, err := unix.Write(t.Fd, []byte("x"))
		return err
	}},
	{
		name: "write a git hook", full: true, why: "Landlock cannot take a part out of a writable folder", bare: true,
		run: func(t target) error { return create(t.Work + "/.git/hooks/pre-commit") },
	},
	{
		name: "change git's configuration", full: true, why: "as above", bare: true,
		run: func(t target) error { return os.WriteFile(t.Work+"/.git/config", []byte("[core]"), 0o600) },
	},
	{name: "replace git's configuration", full: true, why: "as above", bare: true, run: func(t target) error {
		return errors.Join(create(t.Work+"/.git/config.lock"), os.Rename(t.Work+"/.git/config.lock", t.Work+"/.git/config"))
	}},
	{name: "rename the folder above a protected one", full: true, why: "as above", bare: true, run: func(t target) error {
		return errors.Join(os.Rename(t.Work+"/.git", t.Work+"/.git2"), os.MkdirAll(t.Work+"/.git/hooks", 0o700),
			create(t.Work+"/.git/hooks/pre-commit"))
	}},
	{name: "rename the folder above that", full: true, why: "as above", bare: true, run: func(t target) error {
		return errors.Join(os.Rename(t.Work+"/sub", t.Work+"/sub2"), os.MkdirAll(t.Work+"/sub/.git/hooks", 0o700),
			create(t.Work+"/sub/.git/hooks/pre-commit"))
	}},
	{name: "exchange a protected folder", full: true, why: "as above", bare: true, run: func(t target) error {
		if err := os.Mkdir(t.Work+"/mine", 0o700); err != nil {
			return err
		}
		return unix.Renameat2(unix.AT_FDCWD, t.Work+"/mine", unix.AT_FDCWD, t.Work+"/.git/hooks", unix.RENAME_EXCHANGE)
	}},
	{name: "link a protected file", full: true, why: "as above", bare: true, run: func(t target) error {
		return errors.Join(os.Link(t.Work+"/.git/config", t.Work+"/config"), os.WriteFile(t.Work+"/config", []byte("[core]"),
			0o600))
	}},
	{name: "read a masked file", full: true, why: "as above", bare: true, run: func(t target) error {
		if b, err := os.ReadFile(t.Secret); err != nil {
			return err
		} else if len(b) == 0 {
			return errors.New("empty")
		}
		return nil
	}},
	{name: "make a masked file readable", full: true, why: "as above", bare: true, run: func(t target) error {
		if err := os.Chmod(t.Secret, 0o600); err != nil {
			return err
		}
		_, err := os.ReadFile(t.Secret)
		return err
	}},
	{
		name: "unmount a mask", full: true, why: "as above",
		run: func(t target) error { return unix.Unmount(t.Secret, unix.MNT_DETACH) },
	},
	{name: "mount the file system writable again", root: true, run: func(t target) error {
		return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "")
	}},
	{name: "mount something", root: true, run: func(t target) error {
		err := unix.Mount("tmpfs", t.Work, "tmpfs", 0, "")
		if err == nil {
			_ = unix.Unmount(t.Work, unix.MNT_DETACH)
		}
		return err
	}},
	{name: "make a user namespace", bare: true, run: func(
		target,
	) error {
		return rawClone(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	}},
	{
		name: "make a user namespace with clone3", bare: true,
		run: func(target) error { return rawClone3(unix.CLONE_NEWUSER) },
	},
	{name: "make a device", root: true, run: func(
		t target,
	) error {
		return unix.Mknod(t.Work+"/mem", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
	}},
	{name: "make a file run with its owner's rights", bare: true, run: func(t target) error {
		return errors.Join(create(t.Work+"/setuid"), unix.Chmod(t.Work+"/setuid", 0o4755))
	}},
	{name: "make one that does, by its creation", bare: true, run: func(t target) error {
		return opened(unix.Open(t.Work+"/setuid2", unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o4755))
	}},
	{name: "make one that does, by openat2", bare: true, run: func(t target) error {
		return opened(unix.Openat2(unix.AT_FDCWD, t.Work+"/setuid3", &unix.OpenHow{
			Flags: unix.O_CREAT | unix.O_WRONLY,
			Mode:  0o4755,
		}))
	}},
	{name: "change the root folder", root: true, run: func(t target) error { return unix.Chroot(t.Work) }},
	{name: "read a process's environment outside", bare: true, run: func(t target) error {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t.Pid))
		if err == nil && !bytes.Contains(b, []byte(outsideMark)) {
			return errors.New("another process")
		}
		return err
	}},
	{name: "signal a process outside", bare: true, run: func(t target) error { return unix.Kill(t.Pid, 0) }},
	{name: "signal every process", full: true, why: "Landlock's scope keeps it to the command's own processes, which " +
		"are there", bare: true, run: func(t target) error {
		if err := unix.Kill(-1, 0); err != nil {
			return err
		}
		return nil
	}},
	{name: "trace a process outside", root: true, run: func(t target) error {
		return unix.PtraceSeize(t.Pid)
	}},
	{
		name: "trace the init program", full: true, why: "there is no init program",
		run: func(target) error { return unix.PtraceSeize(1) },
	},
	{name: "write the init program's memory", full: true, why: "there is no init program", run: func(target) error {
		f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{name: "open the init program's file", full: true, why: "there is no init program", run: func(target) error {
		f, err := os.Open("/proc/1/exe")
		if err == nil {
			f.Close()
		}
		return err
	}},
	{name: "signal the init program", full: true, why: "there is no init program", run: func(target) error {
		if err := unix.Kill(1, unix.SIGKILL); err != nil {
			return err
		}
		return errors.New("without effect") // if it lives to report the exit of this process
	}},
	{name: "read memory of another process", root: true, run: func(t target) error {
		b := make([]byte, 1)
		_, err := unix.ProcessVMReadv(t.Pid, []unix.Iovec{{Base: &b[0], Len: 1}},
			[]unix.RemoteIovec{{Base: t.Mapped, Len: 1}}, 0)
		return err
	}},
	{name: "connect by TCP", bare: true, run: func(t target) error { return dial("tcp", t.TCP) }},
	{name: "send by UDP", bare: true, run: func(t target) error { return dial("udp", t.UDP) }},
	{name: "connect to a Unix socket", bare: true, run: func(t target) error { return dial("unix", t.Unix) }},
	{name: "connect to an abstract socket", bare: true, run: func(t target) error { return dial("unix", t.Abstract) }},
	{name: "send a datagram to an Internet address", run: func(target) error {
		c, err := net.Dial("udp", "192.0.2.1:53")
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("x"))
		return err
	}},
	{name: "ask a name server", run: func(target) error {
		text, err := os.ReadFile("/etc/resolv.conf")
		servers := []string{"192.0.2.1"}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
				servers = append(servers, f[1])
			}
		}
		for _, server := range servers {
			var c net.Conn
			if c, err = net.Dial("udp", net.JoinHostPort(server, "53")); err != nil {
				continue
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(2 * time.Second))
			_, err = c.Write([]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"))
			if err == nil && server != "192.0.2.1" { // nobody answers there
				_, err = c.Read(make([]byte, 512))
			}
			if err == nil {
				return nil
			}
		}
		return err
	}},
	{name: "open a raw socket", root: true, run: func(
		target,
	) error {
		return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	}},
	{name: "open a packet socket", root: true, run: func(
		target,
	) error {
		return socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	}},
	{name: "open a virtual machine socket", run: func(target) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{name: "open a crypto socket", run: func(target) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{name: "open an audit socket", run: func(target) error {
		return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)
	}},
	{name: "set up io_uring", bare: true, run: func(target) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{name: "load a kernel program", root: true, run: func(target) error {
		attr := struct{ kind, key, value, max, flags uint32 }{2, 4, 4, 1, 0} // an array map of one
		return call(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}},
	{name: "read performance counters", run: func(target) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}},
	{name: "read the session's keys", bare: true, run: func(target) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	}},
	{name: "type into a terminal", bare: true, run: func(target) error {
		b := byte('x')
		err := call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&b)))
		if !errors.Is(err, unix.EPERM) {
			return nil // it reached the device
		}
		return err
	}},
	{
		name: "read shared memory by name", full: true, why: "/dev/shm is that of the machine, for reading", bare: true,
		run: func(t target) error {
			_, err := os.ReadFile("/dev/shm/" + t.Shared)
			return err
		},
	},
	{name: "write shared memory by name", bare: true, run: func(t target) error { return opens("/dev/shm/" + t.Shared) }},
	{
		name: "attach a shared memory segment", full: true, why: "Landlock does not see System V objects", bare: true,
		run: func(t target) error {
			_, err := unix.SysvShmAttach(t.SysV, 0, 0)
			return err
		},
	},
	{name: "set a cgroup's release agent or limit", root: true, run: func(t target) error {
		opened := func(dir string) bool {
			return opens(dir+"/release_agent") == nil || opens(dir+"/cgroup.subtree_control") == nil ||
				opens(dir+"/cgroup.procs") == nil
		}
		if opened("/sys/fs/cgroup") {
			return nil
		}
		var err error // the machine's own may be mounted read-only: a new mount is not
		for _, m := range [][2]string{{"cgroup2"}, {"cgroup", "none,name=" + t.Shared}} {
			failed := unix.Mount("none", t.Work, m[0], 0, m[1])
			if failed == nil {
				worked := opened(t.Work)
				if failed = unix.Unmount(t.Work, unix.MNT_DETACH); worked {
					return failed
				}
				failed = errors.New("none can be opened")
			}
			err = errors.Join(err, failed)
		}
		return err
	}},
	{
		name: "set the core dump program", root: true,
		run: func(target) error { return opens("/proc/sys/kernel/core_pattern") },
	},
	{name: "press the magic key", run: func(target) error { return opens("/proc/sysrq-trigger") }},
	{
		name: "set a kernel variable in /sys", root: true,
		run: func(target) error { return opens("/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run") },
	},
	{name: "change the host's name", root: true, run: func(target) error {
		var u unix.Utsname
		_ = unix.Uname(&u)
		return unix.Sethostname([]byte(unix.ByteSliceToString(u.Nodename[:])))
	}},
	{name: "set the clock", run: func(target) error {
		var ts unix.Timespec // what it is, so that the test moves nothing by much if this should work
		_ = unix.ClockGettime(unix.CLOCK_REALTIME, &ts)
		return unix.ClockSettime(unix.CLOCK_REALTIME, &ts)
	}},
}

// attackMain runs one attack, if this process was started for it, and reports by exit code: 0 it worked, 1 it was
// refused.
func attackMain() {
	name, ok := strings.CutPrefix(os.Getenv("LATHE_TEST_ATTACK"), "run ")
	if !ok {
		return
	}
	var t target
	if err := json.Unmarshal([]byte(os.Args[1]), &t); err != nil {
		fmt.Println(err)
		unix.Exit(2)
	}
	for _, a := range attacks {
		if a.name == name {
			if err := a.run(t); err != nil {
				fmt.Println("refused:", err)
				unix.Exit(1)
			}
			fmt.Println("it worked")
			unix.Exit(0)
		}
	}
	unix.Exit(2)
}

func create(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		f.Close()
	}
	return err
}

// createGone makes a file in a place that is not the test's, and removes it.
func createGone(name string) error {
	err := create(name)
	if err == nil {
		os.Remove(name)
	}
	return err
}

// opens reports whether one of the files that are there can be opened for writing. It writes nothing.
func opens(names ...string) error {
	err := errors.New("none is there")
	for _, name := range names {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			return f.Close()
		}
	}
	return err
}

func dial(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte("ping")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 4))
	return err
}

func socket(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind, proto)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// rawClone forks a process with the flags that ends at once.
func rawClone(flags uintptr) error {
	p, err := os.StartProcess("/proc/self/exe", []string{"true"},
		&os.ProcAttr{Env: []string{"LATHE_TEST_ATTACK=run nothing"}, Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	if err == nil {
		_, err = p.Wait()
	}
	return err
}

// rawClone3 asks for a process by clone3(2); the child does nothing but end.
func rawClone3(flags uint64) error {
	args := struct{ flags, pidfd, childTid, parentTid, exitSignal, stack, stackSize, tls uint64 }{
		flags:      flags,
		exitSignal: uint64(unix.SIGCHLD),
	}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

// freeDescriptor is a number that a child would inherit a file by.
func freeDescriptor(name string) (int, error) {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT, 0o600)
	if err != nil {
		return 0, err
	}
	return fd, nil
}

// mapped returns the first address in a process's memory.
func mapped(pid int) (uintptr, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(maps), "-")
	address, err := strconv.ParseUint(first, 16, 64)
	return uintptr(address), err
}

func sysvSegment() (int, error) {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600|unix.IPC_CREAT)
	if err != nil {
		return 0, fmt.Errorf("no shared memory segment: %w", err)
	}
	return id, nil
}

var worlds atomic.Int32

// uniqueName is one for an object that all of the machine sees.
func uniqueName() string { return fmt.Sprintf("lathe-attack-%d-%d", os.Getpid(), worlds.Add(1)) }

func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}
