// Package server is the face that speaks HTTP: one process, through which scripts, browsers and phones reach all
// sessions of a user.
//
// The words: a principal is who sends a request: the user at the Unix socket, or a device, which has a token. A
// scope is what a device may do: read, prompt, approve, admin. A pairing is a code with which a new device gets its
// token, once and within five minutes. An operation is a row of the table from which the routes and the OpenAPI
// document come.
//
// Promises:
//
//   - Nothing is served without a principal but the pairing and the pages that [Options.Open] names. Tokens are kept
//     as hashes, and compared in constant time.
//   - Host, Origin and Sec-Fetch-Site are checked before anything else. Bodies, rates, headers and connections have
//     limits.
//   - A session is its own process (package supervisor). The server holds no conversation and nothing for a session
//     that is idle: it may be killed at any moment.
//   - A stream brings the events of many sessions, each in its order; Last-Event-ID has a cursor for each. A reader
//     that is slow delays no other.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Options configure a server.
type Options struct {
	Place  supervisor.Place
	Store  *session.Store
	Folder string // for devices, the audit log and certificates: the user's alone
	Lathe  string // the version of lathe
	Log    *slog.Logger

	// History reads a part of a log, up to a cursor or, without one, to its end.
	History func(log *session.Session, before event.Cursor, n int) (*event.Opened, error)

	// Diff is what a session in a folder changed: in one turn, in all, or what others changed.
	Diff func(ctx context.Context, dir, id, turn string, theirs bool) ([]FileDiff, error)
	// Models lists the models that the settings of a folder allow.
	Models func(ctx context.Context, dir string) ([]Model, error)

	Modes   []string // the permission modes
	Metrics bool     // serve /metrics

	Authority []byte // the certificate that signed the server's own, as PEM, for devices to trust; nil: there is none

	// Pages serves every path beside the API, to principals only; nil: there are none. [From] has the principal.
	Pages http.Handler
	// Open says which of the pages need no principal: the one for pairing, and what it is made of.
	Open func(path string) bool
	// Login is the page to which a browser without a principal is sent; empty: it gets an error.
	Login string
}

// Server serves sessions by HTTP.
type Server struct {
	Options
	devices  *Devices
	pairings pairings
	audit    *audit
	rates    rates
	hub      hub
	waking   keyed
	kept     outcomes
	count    counters
	api      http.Handler
	openapi  []byte
	bases    []string // the addresses for people, as https://host:port
}

// New returns a server.
func New(o Options) (*Server, error) {
	s := &Server{Options: o, devices: DevicesIn(o.Folder)}
	var err error
	if s.audit, err = openAudit(o.Folder); err != nil {
		return nil, err
	}
	if s.openapi, err = OpenAPI(o.Lathe); err != nil {
		return nil, err
	}
	s.hub.s, s.kept.folder = s, o.Folder
	s.api = s.routes()
	return s, nil
}

// Limits of a connection.
const (
	headerWait  = 5 * time.Second
	bodyWait    = time.Minute
	idleWait    = 2 * time.Minute
	mostHeader  = 16 << 10
	mostBody    = 1 << 20
	mostPrompt  = port.MaxMessage * 3 / 4 // it has images
	mostConns   = 4096
	mostConnsIP = 1024
	writeWait   = 30 * time.Second // for a reader that does not read
)

// Entry is a way in: a listener and what is known of those who come by it.
type Entry struct {
	net.Listener
	Socket bool     // a Unix socket: who connects is the user
	Hosts  []string // the values of Host that are served: host:port
	TLS    bool
}

// URL is the address of the entry for people.
func (e Entry) URL() string {
	scheme := "http://"
	if e.TLS {
		scheme = "https://"
	}
	return scheme + e.Hosts[0]
}

// Serve serves until ctx ends.
func (s *Server) Serve(ctx context.Context, entries ...Entry) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.kept.prune()
	for _, e := range entries {
		if !e.Socket {
			s.bases = append(s.bases, e.URL())
		}
	}
	var all sync.WaitGroup
	for _, e := range entries {
		h := &http.Server{
			Handler: s.guard(e), ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: mostHeader,
			ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
			BaseContext: func(net.Listener) context.Context { return ctx },
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				if l, ok := c.(*limitedConn); ok && e.Socket {
					return context.WithValue(ctx, admitted{}, port.Admit(l.Conn, s.Place.Refuse))
				}
				return ctx
			},
		}
		all.Go(func() {
			if err := h.Serve(newLimited(e)); !errors.Is(err, http.ErrServerClosed) {
				end(err)
			}
		})
		stop := context.AfterFunc(ctx, func() { _ = h.Close() })
		defer stop()
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// admitted is the key of what port.Admit said of a connection.
type admitted struct{}
