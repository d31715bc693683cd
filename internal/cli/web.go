package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/server"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/face/web"
	"github.com/lathe-dev/lathe/internal/tool"
)

// pages are the page of a server, which is made after them, and its notifications.
type pages struct {
	server *server.Server
	push   *web.Push
}

func newPages() *pages {
	p := &pages{}
	p.push = &web.Push{
		File: filepath.Join(serveFolder(), "push.json"),
		Device: func(ctx context.Context) (string, bool) {
			who, _ := server.From(ctx)
			return who.ID, who.May(server.Approve)
		},
		Alive: func(device string) bool { return p.server.Has(device) },
	}
	return p
}

func (p *pages) handler() http.Handler {
	return web.New(web.Options{
		Push: p.push, Session: p.session,
		Follow: func(ctx context.Context, changed func(any)) {
			p.server.Follow(ctx, func(x server.Session, removed bool) {
				if removed {
					changed(map[string]any{"id": x.ID, "removed": true})
				} else {
					changed(x)
				}
			})
		},
	})
}

func (p *pages) session(ctx context.Context, id string) (port.Session, func(), error) {
	stay, err := p.server.Connect(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	return stay, func() { _ = stay.Close() }, nil
}

// mostPushes is how many changes may wait until push services were told; more are not told of.
const mostPushes = 100

// notify tells browsers of questions and of what is done, until ctx ends.
func (p *pages) notify(ctx context.Context, log *slog.Logger) {
	changes := make(chan server.Session, mostPushes)
	go p.server.Follow(server.AsUser(ctx), func(x server.Session, removed bool) {
		select {
		case changes <- x:
		default:
		}
	})
	states := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case x := <-changes:
			before := states[x.ID]
			states[x.ID] = x.State
			if !p.push.Wanted() {
				continue
			}
			if err := p.tell(ctx, x, before); err != nil && ctx.Err() == nil {
				log.Warn("no notification", "err", err)
			}
		}
	}
}

func (p *pages) tell(ctx context.Context, x server.Session, before string) error {
	title := cmp.Or(x.Title, x.FirstPrompt)
	switch {
	case x.State == string(supervisor.Blocked):
		s, end, err := p.session(server.AsUser(ctx), x.ID)
		if err != nil {
			return err
		}
		defer end()
		return p.push.Blocked(ctx, title, s)
	case before != string(supervisor.Working):
	case x.State == string(supervisor.Done), x.State == string(supervisor.Failed):
		return p.push.Done(ctx, x.ID, title, x.State)
	}
	return nil
}

// webListen is where the page is unless --listen says more: a fixed port, so that the browser stays paired.
const webListen = "127.0.0.1:7420"

func webCommand(p *program, o *Options) *cobra.Command {
	var f serveFlags
	var quiet bool
	c := &cobra.Command{
		Use: "web", Short: "Open your sessions in the browser", Args: noArgs,
		Long: "Open the page of all sessions in the browser, and print a QR code for a phone. Without a running server " +
			"(lathe serve) one is started, until ctrl+c; sessions go on. A phone needs an address that it reaches and a " +
			"certificate that it trusts: see docs/web.md.",
		RunE: func(c *cobra.Command, _ []string) error {
			if !runsServer(c.Context()) {
				f.listen = append([]string{freeAddress(c.Context())}, f.listen...)
				f.ready = func(ctx context.Context, pair pairing) {
					if err := p.openPage(ctx, pair, quiet); err != nil && ctx.Err() == nil {
						fmt.Fprintln(p.err, err)
					}
				}
				return p.serve(c.Context(), o, f)
			}
			return p.openPage(c.Context(), pairThere, quiet)
		},
	}
	c.Flags().BoolVar(&quiet, "no-open", false, "open no browser: print the link")
	f.add(c.Flags())
	return c
}

// freeAddress is the usual address of the page, or one with a free port where another program has that.
func freeAddress(ctx context.Context) string {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", webListen)
	if err != nil {
		return "127.0.0.1:0"
	}
	_ = l.Close()
	return webListen
}

// runsServer reports whether a server runs for this user.
func runsServer(ctx context.Context) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", serveSocket())
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// pairing makes links by which a new device gets scopes.
type pairing func(ctx context.Context, scopes ...server.Scope) (urls []string, err error)

// pairThere asks the server that runs.
func pairThere(ctx context.Context, scopes ...server.Scope) ([]string, error) {
	var n client.NewPairing
	for _, s := range scopes {
		n.Scopes = append(n.Scopes, string(s))
	}
	made, err := serverHere().BeginPairing(ctx, n)
	return made.URLs, err
}

// openPage opens the page in this machine's browser, and prints the ways to it for others.
func (p *program) openPage(ctx context.Context, pair pairing, quiet bool) error {
	mine, err := pair(ctx, server.Scopes...)
	if err != nil {
		return err
	}
	if len(mine) == 0 {
		return usage("end it, and start it with an address: lathe serve --listen "+webListen,
			"the server that runs has no address for a browser")
	}
	fmt.Fprintf(p.out, "open %s\n", mine[0])
	if !quiet {
		if err := openInBrowser(ctx, mine[0]); err != nil {
			fmt.Fprintf(p.err, "no browser was opened (%v): open the link yourself\n", err)
		}
	}
	return p.pairPhone(ctx, pair)
}

// pairPhone prints a QR code for a phone, where the server has an address that a phone reaches.
func (p *program) pairPhone(ctx context.Context, pair pairing) error {
	made, err := pair(ctx, server.Read, server.Prompt, server.Approve)
	if err != nil {
		return err
	}
	for _, at := range made {
		if u, err := url.Parse(at); err != nil || loopback(u.Hostname()) {
			continue
		}
		fmt.Fprintf(p.out, "for a phone: %s\n", at)
		if p.outTTY {
			return printQR(p.out, at)
		}
		return nil
	}
	_, err = fmt.Fprintln(p.out, "for a phone: end this, then lathe web --listen 0.0.0.0:7421 --tls (docs/web.md)")
	return err
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// openInBrowser opens a link with the user's browser, which goes on when lathe ends.
func openInBrowser(ctx context.Context, link string) error {
	argv := append(tool.Opener(runtime.GOOS), link)
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Run()
}
