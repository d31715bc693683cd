package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// longestSocket is how many bytes the path of a Unix socket may have: 104 on macOS with its ending zero (sys/un.h), 108
// on Linux (unix(7)).
const longestSocket = 103

// Listen opens a socket that only this user can reach. The folder is made if need be, and has to be the user's own.
func Listen(path string) (net.Listener, error) {
	if len(path) > longestSocket {
		return nil, fmt.Errorf("the path of the socket is too long (%d bytes, at most %d): %s; set XDG_RUNTIME_DIR to a "+
			"short folder", len(path), longestSocket, path)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for sockets cannot be made: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	_ = os.Remove(path) // of a process that is gone: a live one has the lock
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("the socket cannot be made: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// private makes sure that a folder is the user's own and closed to others.
func private(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || !ours(st) {
		return fmt.Errorf("the folder for sockets is not yours: %s; set XDG_RUNTIME_DIR to a folder that is", dir)
	}
	return os.Chmod(dir, 0o700)
}

// Accept serves faces at a socket until ctx ends. Peers that refuse says an error about, or that are of another user,
// are turned away.
func (s *Server) Accept(ctx context.Context, l net.Listener, refuse func(pid int) error) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the socket takes no more faces: %w", err)
		}
		go func() {
			err := Admit(conn, refuse)
			if errors.Is(err, ErrPeer) && s.Peer != nil {
				only := &Server{Lathe: s.Lathe, Other: s.Peer}
				only.Serve(ctx, jsonrpc.NewLines(conn, conn, conn.Close))
				return
			}
			if err != nil {
				turnAway(ctx, conn, err)
				return
			}
			s.Serve(ctx, jsonrpc.NewLines(conn, conn, conn.Close))
		}()
	}
}

// ErrPeer is the process of another session, which may call the methods of Server.Peer and nothing else.
var ErrPeer = fmt.Errorf("%w: it runs a session", ErrRefused)

// Admit checks who is at the other end of a connection.
func Admit(conn net.Conn, refuse func(pid int) error) error {
	uid, pid, err := peer(conn)
	switch {
	case err != nil:
		return fmt.Errorf("who connects cannot be found out: %w", err)
	case uid != os.Getuid():
		return fmt.Errorf("%w: it runs as another user", ErrRefused)
	case refuse != nil && pid > 0:
		return refuse(pid)
	}
	return nil
}

// turnAway tells a peer why it is not served, whatever it asks, and ends the connection.
func turnAway(ctx context.Context, conn net.Conn, why error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := jsonrpc.New(jsonrpc.NewLines(conn, conn, conn.Close), jsonrpc.Handler{
		Request: func(context.Context, string, json.RawMessage) (any, *jsonrpc.Error) { return nil, wireError(why) },
	})
	select {
	case <-ctx.Done():
	case <-c.Done():
	}
	_ = c.Close()
}

// patience is how long a peer that is not served may stay.
const patience = 2 * time.Second

// Dial connects a face to the session at a socket.
func Dial(ctx context.Context, path string, f Face) (*Client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, jsonrpc.NewLines(conn, conn, conn.Close), f)
}
