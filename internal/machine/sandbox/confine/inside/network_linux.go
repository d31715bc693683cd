//go:build amd64 || arm64

package inside

import "golang.org/x/sys/unix"

// ProxyPort is the port of the proxy's listener, above the ephemeral ports.
const ProxyPort = 61017

// localSockets is how many sockets of the inner network lathe gets: so many connections to servers inside are there at
// once.
const localSockets = 64

// MostSockets is how many descriptors come with MsgPid.
const MostSockets = localSockets + 1

// nets are network namespaces of commands that may have ended, by number. To make one takes half a millisecond, and no
// command can leave anything in it.
var nets [256]int

// loopback makes 127.0.0.1 and ::1 work in the new network namespace.
func (s *space) loopback() {
	const step = "bring up the loopback interface"
	fd := s.socket(step, unix.SOCK_DGRAM)
	request, err := unix.NewIfreq("lo")
	must(step, err)
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	must(step, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request))
}

// sockets opens those that lathe gets: the proxy's address inside, on which it accepts from outside without a socket
// file and a process in between, and sockets that connect to the loopback inside, wherever their process is.
func (s *space) sockets(p *Plan) (fds []int) {
	if p.Proxy {
		const step = "open the proxy's address"
		fd := s.socket(step, unix.SOCK_STREAM)
		must(step, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)) // connections before may be closing yet
		must(step, unix.Bind(fd, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}}))
		must(step, unix.Listen(fd, 128))
		fds = append(fds, fd)
	}
	for i := 0; p.Local && i < localSockets; i++ {
		fds = append(fds, s.socket("make sockets for connections from outside", unix.SOCK_STREAM))
	}
	return fds
}

func (s *space) socket(step string, kind int) int {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	return s.keep(step, fd, err)
}
