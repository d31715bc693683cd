package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/server"
	"github.com/lathe-dev/lathe/internal/face/web"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/console"
)

// serveFlags are those of lathe serve.
type serveFlags struct {
	listen    []string
	hosts     []string
	cert, key string
	ownTLS    bool
	metrics   bool
	// ready is called once it listens, with what makes links for a new device; nil: nothing is
	ready func(ctx context.Context, pair pairing)
}

func serveCommand(p *program, o *Options) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "serve", Short: "Serve all sessions by HTTP", Args: noArgs,
		Long: "Serve all sessions of this user by HTTP: at a Unix socket that only this user can reach, and at the " +
			"addresses that --listen gives. Every request needs a token there (lathe serve token). An address beyond this " +
			"machine needs TLS. See docs/server.md.",
		RunE: func(c *cobra.Command, _ []string) error { return p.serve(c.Context(), o, f) },
	}
	f.add(c.Flags())
	c.AddCommand(serveTokenCommand(p), servePairCommand(p), serveDevicesCommand(p), serveInstallCommand(p))
	return c
}

// add declares the flags.
func (f *serveFlags) add(to *pflag.FlagSet) {
	to.StringArrayVar(&f.listen, "listen", nil, "serve at `host:port` too; port 0 takes a free one")
	to.StringArrayVar(&f.hosts, "host", nil, "a `name` by which this machine is reached, beside its address")
	to.StringVar(&f.cert, "tls-cert", "", "the `file` with the certificate, PEM")
	to.StringVar(&f.key, "tls-key", "", "the `file` with its key, PEM")
	to.BoolVar(&f.ownTLS, "tls", false, "TLS with a certificate that lathe makes")
	to.BoolVar(&f.metrics, "metrics", false, "serve /metrics in Prometheus' form")
}

// serveFolder is where the server keeps devices, its audit log and certificates.
func serveFolder() string {
	return filepath.Join(config.ResolvePaths(os.Environ(), "").StateHome, "serve")
}

func serveSocket() string { return filepath.Join(jobPlace().Sockets, "serve.sock") }

func (p *program) serve(ctx context.Context, _ *Options, f serveFlags) error {
	paths := config.ResolvePaths(os.Environ(), "")
	if paths.DataHome == "" {
		return usage("set HOME or XDG_DATA_HOME", "there is no home folder, so no place for sessions")
	}
	version, _ := currentVersion()
	log, pages := slog.New(slog.NewTextHandler(p.err, nil)), newPages()
	s, err := server.New(server.Options{
		Place: jobPlace(), Store: session.NewStore(paths.DataHome), Folder: serveFolder(), Lathe: version,
		Log: log, Modes: permission.ModeNames(), History: console.History,
		Metrics: f.metrics, Diff: p.servedDiff, Models: p.servedModels,
		Pages: pages.handler(), Open: web.Open, Login: web.Login,
	})
	if err != nil {
		return err
	}
	entries, authority, err := f.entries(ctx)
	defer func() {
		for _, e := range entries {
			_ = e.Close()
		}
	}()
	if err != nil {
		return err
	}
	s.Authority, pages.server = authority, s
	go pages.notify(ctx, log)
	if f.ready != nil {
		go f.ready(ctx, func(_ context.Context, scopes ...server.Scope) (urls []string, _ error) {
			code := s.Code(scopes...)
			for _, e := range entries {
				if !e.Socket {
					urls = append(urls, e.URL()+web.Login+"#code="+code)
				}
			}
			return urls, nil
		})
	}
	for _, e := range entries {
		where := "unix:" + serveSocket()
		if !e.Socket {
			where = e.URL()
		}
		fmt.Fprintf(p.out, "listening on %s\n", where)
	}
	if err := s.Serve(ctx, entries...); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// entries opens the ways in.
func (f serveFlags) entries(ctx context.Context) (out []server.Entry, authority []byte, err error) {
	cert, authority, err := f.certificate()
	if err != nil {
		return nil, nil, err
	}
	if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", serveSocket()); err == nil {
		_ = conn.Close()
		return nil, nil, usage("end it first; lathe serve token prints a token for it", "lathe serve runs already")
	}
	l, err := port.Listen(serveSocket())
	if err != nil {
		return nil, nil, err
	}
	out = append(out, server.Entry{Listener: l, Socket: true, Hosts: server.HostsOf(l.Addr())})
	for _, at := range f.listen {
		e, err := f.entry(ctx, at, cert)
		if err != nil {
			return out, nil, err
		}
		out = append(out, e)
	}
	return out, authority, nil
}

// entry opens one address. One that other machines reach needs TLS.
func (f serveFlags) entry(ctx context.Context, at string, cert *tls.Certificate) (server.Entry, error) {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return server.Entry{}, usage("as in --listen 127.0.0.1:7000", "--listen %s: %v", at, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return server.Entry{}, usage("give an address of this machine and a free port", "--listen %s: %v", at, err)
	}
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() && cert == nil {
		return server.Entry{}, errors.Join(l.Close(), usage("add --tls, or --tls-cert and --tls-key; or listen on 127.0.0.1",
			"--listen %s: others could read along and take the token", at))
	}
	names := f.hosts
	if net.ParseIP(host) == nil && host != "" {
		names = append([]string{host}, names...)
	}
	if tcp.IP.IsUnspecified() {
		names = append(names, addressesOfThisMachine()...)
	}
	e := server.Entry{Listener: l, Hosts: server.HostsOf(l.Addr(), names...), TLS: cert != nil}
	if cert != nil {
		e.Listener = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12})
	}
	return e, nil
}

// addressesOfThisMachine are those by which others may reach it. The first is that of the way to the network, which a
// phone can most likely use.
func addressesOfThisMachine() (out []string) {
	if c, err := net.Dial("udp", "192.0.2.1:9"); err == nil { // nothing is sent: it only finds the way (RFC 5737)
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			out = append(out, a.IP.String())
		}
		_ = c.Close()
	}
	if name, err := os.Hostname(); err == nil {
		out = append(out, name)
	}
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			out = append(out, n.IP.String())
		}
	}
	return append(out, "localhost")
}

// certificate is the one of the flags, and the authority of one that lathe makes; nil: there is none.
func (f serveFlags) certificate() (_ *tls.Certificate, authority []byte, _ error) {
	if (f.cert == "") != (f.key == "") || f.cert != "" && f.ownTLS {
		return nil, nil, usage("give --tls-cert and --tls-key, or --tls", "the flags for TLS do not fit together")
	}
	if f.ownTLS {
		return server.OwnCertificate(serveFolder(), append(addressesOfThisMachine(), f.names()...))
	}
	if f.cert == "" {
		return nil, nil, nil
	}
	c, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, nil, usage("both are PEM files, the chain with the host's certificate first", "the certificate: %v", err)
	}
	return &c, nil, nil
}

// names are those that the flags give this machine.
func (f serveFlags) names() []string {
	out := f.hosts
	for _, l := range f.listen {
		if host, _, err := net.SplitHostPort(l); err == nil && host != "" {
			out = append(out[:len(out):len(out)], host)
		}
	}
	return out
}

// scopes reads a list of scopes.
func scopesOf(text string) (out []server.Scope) {
	for s := range strings.SplitSeq(text, ",") {
		out = append(out, server.Scope(strings.TrimSpace(s)))
	}
	return out
}

func serveTokenCommand(p *program) *cobra.Command {
	var name, scopes string
	var days int
	c := &cobra.Command{
		Use: "token", Short: "Print a token for scripts on this machine", Args: noArgs,
		Long: "Make a token for the server and print it. It is kept nowhere: lathe serve devices lists it by its name and " +
			"revokes it.",
		RunE: func(*cobra.Command, []string) error {
			if err := jobPlace().Refuse(os.Getppid()); err != nil {
				return &Error{Code: exitFailed, Err: err, Hint: "run it outside of a session"}
			}
			d := server.Device{Name: name, Scopes: scopesOf(scopes)}
			if days > 0 {
				d.Expires = time.Now().UTC().AddDate(0, 0, days)
			}
			_, token, err := server.DevicesIn(serveFolder()).Add(d)
			if err != nil {
				return usage("see docs/server.md", "%v", err)
			}
			_, err = fmt.Fprintln(p.out, token)
			return err
		},
	}
	c.Flags().StringVarP(&name, "name", "n", "token", "the `name` of who uses it: sessions see it beside prompts and answers")
	c.Flags().StringVar(&scopes, "scopes", "read,prompt,approve,admin", "a `list` of what it may do")
	c.Flags().IntVar(&days, "days", 0, "it lives so many `days`; 0: until it is revoked")
	return c
}
