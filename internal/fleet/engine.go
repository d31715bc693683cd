package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options says where the engine is.
type Options struct {
	Dir      string        // of the embedded engine and of keys
	URL      string        // of an external cluster: tls://host:port,tls://...; empty: the embedded engine
	Key      string        // a file with the key of this client; empty: the local one of the fleet
	CA       string        // a file with the authority that signed the servers' certificates
	Replicas int           // of an external cluster; 0: 3 if it has them
	Lease    time.Duration // how long a worker may be silent; 0: 30 s
	Listen   string        // an address for workers on other machines
	Worker   bool          // this client only works: it makes no streams
}

const defaultLease = 30 * time.Second

// Open connects to the external cluster, to the engine that runs on this machine, or starts one in this process.
func Open(ctx context.Context, o Options) (*Fleet, error) {
	if o.URL != "" {
		return openURL(ctx, o)
	}
	for end := time.Now().Add(patience); ; {
		f, err := dialLocal(ctx, o)
		if !errors.Is(err, ErrNoEngine) {
			return f, err
		}
		f, err = embed(ctx, o)
		if !errors.Is(err, errBusy) || time.Now().After(end) {
			return f, err
		}
		select { // the other process is about to listen, or to end
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// errBusy is returned where another process runs the engine.
var errBusy = errors.New("another process runs the engine")

// ErrNoEngine is returned where no engine runs on this machine.
var ErrNoEngine = errors.New("no fleet runs here; lathe fleet up starts one")

func socketOf(dir string) string { return filepath.Join(dir, "engine.sock") }

// dialLocal connects to the engine that another process of the user runs.
func dialLocal(ctx context.Context, o Options) (*Fleet, error) {
	path := socketOf(o.Dir)
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, ErrNoEngine
	}
	_ = c.Close()
	return connect(ctx, o, "nats://local", nats.SetCustomDialer(unixDialer(path)))
}

type unixDialer string

// Dial connects to the socket, whatever the address.
func (u unixDialer) Dial(string, string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 5 * time.Second}).Dial("unix", string(u))
}

// openURL connects to engines on other machines, which needs TLS.
func openURL(ctx context.Context, o Options) (*Fleet, error) {
	for s := range strings.SplitSeq(o.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("%q is not the URL of an engine: tls://host:4222 is", s)
		}
		if u.Scheme != "tls" && !loopback(u.Hostname()) {
			return nil, fmt.Errorf("%s: between machines only tls:// is allowed", s)
		}
	}
	var opts []nats.Option
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	return connect(ctx, o, o.URL, opts...)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func connect(ctx context.Context, o Options, url string, opts ...nats.Option) (*Fleet, error) {
	keys, err := keysFor(o)
	if err != nil {
		return nil, err
	}
	opts = append(opts, keys.option(), nats.Name("lathe-fleet"), nats.MaxReconnects(-1), nats.Timeout(5*time.Second),
		nats.ReconnectWait(200*time.Millisecond), nats.ReconnectJitter(200*time.Millisecond, 200*time.Millisecond),
		nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2), nats.RetryOnFailedConnect(false))
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, fmt.Errorf("the engine at %s: %w", url, err)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(10*time.Second),
		jetstream.WithPublishAsyncMaxPending(1024))
	if err != nil {
		nc.Close()
		return nil, err
	}
	f := &Fleet{nc: nc, js: js, keys: keys, lease: o.Lease}
	f.trust = f.readTrust
	if o.Worker {
		f.blobs, err = js.ObjectStore(ctx, blobBucket)
	} else {
		err = f.prepareAny(ctx, o)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// prepareAny makes the streams with as many replicas as the cluster has.
func (f *Fleet) prepareAny(ctx context.Context, o Options) error {
	if o.Replicas > 0 || o.URL == "" {
		return f.prepare(ctx, max(o.Replicas, 1))
	}
	err := f.prepare(ctx, 3)
	if err != nil && (strings.Contains(err.Error(), "replicas") || strings.Contains(err.Error(), "peers")) {
		return f.prepare(ctx, 1)
	}
	return err
}

// Embed starts the engine in this process. Clients of the same user reach it by a socket in the folder, those of other
// machines by TLS at Options.Listen.
func Embed(ctx context.Context, o Options) (*Fleet, error) {
	for end := time.Now().Add(5 * time.Second); ; { // a short command may have it
		f, err := embed(ctx, o)
		if !errors.Is(err, errBusy) || time.Now().After(end) {
			return f, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func embed(ctx context.Context, o Options) (*Fleet, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(o.Dir, "engine.lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("%w in %s", errBusy, o.Dir), err)
	}
	unlock := func() { _ = lock.Unlock() }
	s, err := startServer(o)
	if err != nil {
		unlock()
		return nil, err
	}
	stop := func() { s.Shutdown(); s.WaitForShutdown() }
	o.URL = ""
	f, err := connect(ctx, o, "", nats.InProcessServer(s))
	if err != nil {
		stop()
		unlock()
		return nil, err
	}
	f.close = append(f.close, unlock, stop)
	if err := f.Trust(ctx, o.Dir); err != nil {
		f.Close()
		return nil, err
	}
	end, err := serveSocket(s, socketOf(o.Dir))
	if err != nil {
		f.Close()
		return nil, err
	}
	f.close = append(f.close, end)
	return f, nil
}

func startServer(o Options) (*server.Server, error) {
	users, err := accounts(o.Dir)
	if err != nil {
		return nil, err
	}
	opts := &server.Options{
		ServerName: "lathe-fleet", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, Nkeys: users,
		StoreDir: filepath.Join(o.Dir, "engine"), JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 40,
	}
	if o.Listen != "" {
		if err := listenTLS(opts, o); err != nil {
			return nil, err
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("the engine: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the engine did not start within 30 s")
	}
	return s, nil
}

// listenTLS opens the engine for other machines. Its certificate is made at the first start.
func listenTLS(opts *server.Options, o Options) error {
	host, p, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if opts.Port, err = net.LookupPort("tcp", p); err != nil {
		return err
	}
	cert, err := certificate(o.Dir, host)
	if err != nil {
		return err
	}
	opts.Host, opts.DontListen = host, false
	opts.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	opts.TLSTimeout = 10
	return nil
}

// serveSocket joins connections to the socket with the server.
func serveSocket(s *server.Server, path string) (end func(), err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the listener was closed
			}
			in, err := s.InProcessConn()
			if err != nil {
				_ = c.Close()
				continue
			}
			go join(c, in)
		}
	}()
	return func() { _ = l.Close() }, nil
}

// join copies both ways until one side ends.
func join(a, b net.Conn) {
	var once sync.Once
	end := func() { _, _ = a.Close(), b.Close() }
	copyTo := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // an end or a failure of either is the end of both
		once.Do(end)
	}
	go copyTo(a, b)
	copyTo(b, a)
}
