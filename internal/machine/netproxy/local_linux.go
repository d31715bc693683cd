package netproxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lookEvery is how often Local looks for new servers.
const lookEvery = 200 * time.Millisecond

// mostPorts is how many ports of servers inside are opened at once.
const mostPorts = 100

// Local makes the servers of one command reachable on this machine's loopback, under the ports that they listen on
// inside.
type Local struct {
	stock chan int // sockets of the inner network that are free
	skip  int
	stop  chan struct{}
	once  sync.Once
	gone  chan struct{}
	all   sync.WaitGroup
	mu    sync.Mutex
	links map[net.Conn]bool
	over  bool // those that come yet are closed
}

// NewLocal returns a Local. The port skip is not opened.
func NewLocal(skip int) *Local {
	return &Local{skip: skip, stop: make(chan struct{}), gone: make(chan struct{}), links: map[net.Conn]bool{}}
}

// Serve opens the ports on which processes in the network of pid listen, until Close or the end of pid. Connections
// inside are made with the sockets, which belong to that network and are closed in the end. A port that another program
// of this machine has stays that program's.
func (l *Local) Serve(sockets []int, pid int) {
	defer close(l.gone)
	l.mu.Lock()
	l.stock = make(chan int, len(sockets))
	l.mu.Unlock()
	for _, fd := range sockets {
		l.stock <- fd
	}
	open := map[int]net.Listener{}
	for {
		ports, err := listening(pid)
		if err == nil {
			l.follow(open, ports)
		}
		select {
		case <-l.stop:
		case <-time.After(lookEvery):
			if err == nil {
				continue
			}
		}
		break
	}
	l.follow(open, nil)
	l.hangUp()
	l.all.Wait()
	for range len(sockets) {
		unix.Close(<-l.stock)
	}
}

// hangUp closes all connections, also those that come yet.
func (l *Local) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for c := range l.links {
		c.Close()
	}
}

// keep lists a connection until drop is called.
func (l *Local) keep(c net.Conn) (drop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.links[c] = true; l.over {
		c.Close()
	}
	return func() {
		c.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.links, c)
	}
}

// Close ends Serve, if it runs, and waits for it.
func (l *Local) Close() {
	l.once.Do(func() { close(l.stop) })
	l.mu.Lock()
	serves := l.stock != nil
	l.mu.Unlock()
	if serves {
		<-l.gone
	}
}

// follow opens the ports that are new, and closes those that are gone.
func (l *Local) follow(open map[int]net.Listener, ports map[int]bool) {
	for port, at := range open {
		if !ports[port] {
			if at != nil {
				at.Close()
			}
			delete(open, port)
		}
	}
	for port := range ports {
		if _, known := open[port]; known || port == l.skip || len(open) >= mostPorts {
			continue
		}
		at, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			open[port] = nil // another program's; it is not tried again while the server inside runs
			continue
		}
		open[port] = at
		l.all.Go(func() { l.accept(at, port) })
	}
}

func (l *Local) accept(at net.Listener, port int) {
	for {
		c, err := at.Accept()
		if err != nil {
			return
		}
		drop := l.keep(c)
		l.all.Go(func() {
			defer drop()
			_ = l.pass(c, port) // the client sees its connection end
		})
	}
}

// pass joins a connection with the server inside.
func (l *Local) pass(c net.Conn, port int) error {
	var fd int
	select {
	case fd = <-l.stock:
	case <-time.After(lookEvery):
		return fmt.Errorf("all %d connections are in use", cap(l.stock))
	}
	defer func() { l.stock <- fd }()
	if err := connect(fd, port); err != nil {
		return err
	}
	defer disconnect(fd)
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(again), "server inside")
	to, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return err
	}
	defer l.keep(to)()
	done := make(chan struct{})
	go func() {
		defer close(done)
		half(to, c)
	}()
	half(c, to)
	<-done
	return nil
}

// half copies one direction, and passes its end on.
func half(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if t, ok := to.(*net.TCPConn); ok && err == nil {
		_ = t.CloseWrite() // the other end may be gone
		return
	}
	to.Close()
	from.Close()
}

// connect connects a socket to a port of its network's loopback.
func connect(fd, port int) error {
	const seconds = 5
	_ = unix.SetNonblock(fd, false)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: seconds})
	return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// disconnect makes a socket usable again, as connect(2) describes for AF_UNSPEC.
func disconnect(fd int) {
	var none [16]byte
	_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)), uintptr(len(none)))
}

// listening returns the ports of IPv4's loopback, or of all addresses, on which the network of a process listens.
func listening(pid int) (map[int]bool, error) {
	ports := map[int]bool{}
	for _, table := range [...]string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			if table == "tcp" {
				return nil, err
			}
			continue
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			const listen = "0A"
			fields := strings.Fields(s.Text())
			if len(fields) < 4 || fields[3] != listen {
				continue
			}
			address, hex, _ := strings.Cut(fields[1], ":")
			if port, err := strconv.ParseUint(hex, 16, 16); err == nil && (strings.Trim(address, "0") == "" ||
				address == "0100007F") {
				ports[int(port)] = true
			}
		}
		f.Close()
	}
	return ports, nil
}
