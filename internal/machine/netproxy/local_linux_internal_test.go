package netproxy

import (
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// A server inside that never answers a client who has said all does not hold up the end.
func TestTheEndHangsUpOnASilentServer(t *testing.T) {
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	l := NewLocal(0)
	l.stock = make(chan int, 1)
	l.stock <- fd
	door, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.all.Go(func() { l.accept(door, server.Addr().(*net.TCPAddr).Port) })
	client, err := net.Dial("tcp4", door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	silent, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	door.Close()
	l.hangUp()
	l.all.Wait()
}
