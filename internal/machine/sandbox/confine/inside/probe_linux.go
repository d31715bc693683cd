//go:build amd64 || arm64

package inside

import (
	"os"

	"golang.org/x/sys/unix"
)

// probeChild runs inside and prints each forbidden act that succeeded. It never returns.
func probeChild() {
	found := ""
	fault := func(bad bool, text string) {
		if bad {
			found += text + "; "
		}
	}
	tier, open, shut := os.Args[1], os.Args[2], os.Args[3]
	fault(touch(open+"/x", 0o600) != nil, "the writable folder cannot be written")
	for _, dir := range []string{shut, "/usr", "/etc", "/var/tmp", "/"} {
		name := dir + "/lathe-probe"
		if touch(name, 0o600) == nil {
			_ = unix.Unlink(name)
			fault(true, dir+" can be written")
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	err := unix.Capget(&hdr, &caps[0])
	fault(err != nil || caps != [2]unix.CapUserData{}, "capabilities are left")
	for _, family := range []int{unix.AF_UNIX, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG} {
		_, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
		fault(err == nil, "a socket of family "+string(rune('0'+family/10))+string(rune('0'+family%10))+" can be made")
	}
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	fault(err != nil || nnp != 1, "no_new_privs is not set")
	fault(unix.Unshare(unix.CLONE_NEWUSER) == nil, "a user namespace can be made")
	fault(unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "") == nil, "something can be mounted")
	if tier == "full" {
		fault(unix.Getppid() != 1, "processes outside can be seen")
	} else {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		fault(err == nil, "the network can be reached")
	}
	_, _ = os.Stdout.WriteString(found)
	unix.Exit(0)
}

func touch(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
