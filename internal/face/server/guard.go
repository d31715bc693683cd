package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// Principal is who sends a request.
type Principal struct {
	Device        // zero: the user at the Unix socket
	Local  bool   // at the Unix socket: everything is allowed
	Remote bool   // on another machine, as far as is known
	Cookie bool   // known by a cookie: a browser
	key    string // for limits
}

// May reports whether the principal has a scope.
func (p Principal) May(s Scope) bool { return p.Local || slices.Contains(p.Scopes, s) }

// face is the principal as sessions see it.
func (p Principal) face() port.Face {
	f := port.Face{Kind: "script", Name: "lathe serve", Principal: p.Name, Remote: p.Remote, Answers: p.Answers}
	if p.Cookie {
		f.Kind = "browser"
	}
	if !p.May(Approve) {
		f.Answers = "none"
	}
	return f
}

type principalKey struct{}

// From returns the principal of a request's context; false: it has none.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

const cookieName = "lathe"

// cookie is the name of the cookie: on TLS its prefix binds it to this host (RFC 6265bis, section 4.1.3).
func cookie(e Entry) string {
	if e.TLS {
		return "__Host-" + cookieName
	}
	return cookieName
}

// entryKey is the key of the Entry of a request.
type entryKey struct{}

// guard is the way in for every request.
func (s *Server) guard(e Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.broken(w, r)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longestAnswer)) // not every writer has it
		r = r.WithContext(context.WithValue(r.Context(), entryKey{}, e))
		secure(w.Header())
		s.count.requests.Add(1)
		who, known, p := s.enter(e, r)
		if slow := s.rates.allow(w.Header(), r, who, known); slow != nil {
			p = slow
		}
		if p != nil {
			s.count.refused.Add(1)
			s.audit.write(r, who, "", p.Status)
			s.turnAway(w, r, p)
			return
		}
		if known {
			r = r.WithContext(context.WithValue(r.Context(), principalKey{}, who))
		}
		s.api.ServeHTTP(w, r)
	})
}

// longestAnswer is how long an answer may take, unless its operation says another time.
const longestAnswer = 5 * time.Minute

// broken answers a request whose operation panicked, and says so in the log.
func (s *Server) broken(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		s.Log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
		writeProblem(w, problem(http.StatusInternalServerError, "bug", "lathe failed", "",
			"report it with the log of lathe serve; the session is not touched"))
	}
}

// turnAway answers a request that is not served. The connection ends, so that its body is not read.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.Status == http.StatusUnauthorized {
		if s.Login != "" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, s.Login, http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="lathe"`)
	}
	w.Header().Set("Connection", "close")
	writeProblem(w, p)
}

// secure sets the headers that every answer has.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
}

// enter checks where a request comes from and who sends it. Known is false for a page that needs no principal.
func (s *Server) enter(e Entry, r *http.Request) (who Principal, known bool, _ *Problem) {
	if err, _ := r.Context().Value(admitted{}).(error); err != nil {
		return who, false, forbidden(err.Error(), "run it outside of a session")
	}
	if p := fromHere(e, r); p != nil {
		return who, false, p
	}
	who, known = s.principal(e, r)
	if known {
		if p := ownOrigin(e, r, who); p != nil {
			return who, false, p
		}
		return who, true, nil
	}
	if who.key = address(r); s.open(r) {
		return who, false, ownOrigin(e, r, who)
	}
	return who, false, problem(http.StatusUnauthorized, "unauthorized", "This needs a token", "",
		"get a token with: lathe serve token, or pair this device with: lathe serve pair")
}

func (s *Server) open(r *http.Request) bool {
	if r.Method == http.MethodPost && r.URL.Path == pairPath {
		return true
	}
	if r.Method == http.MethodGet && r.URL.Path == authorityPath {
		return true
	}
	return !apiPath(r.URL.Path) && s.Pages != nil && s.Open != nil && s.Open(r.URL.Path) &&
		(r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// apiPath reports whether a path is the API's.
func apiPath(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/openapi.json" || path == "/metrics"
}

// fromHere checks Host and Sec-Fetch-Site. A name of another host in Host is how DNS rebinding looks.
func fromHere(e Entry, r *http.Request) *Problem {
	if !slices.Contains(e.Hosts, strings.ToLower(r.Host)) {
		return problem(http.StatusMisdirectedRequest, "host", "This host is not served here", "Host: "+r.Host,
			"use one of the addresses that lathe serve prints, or start it with --host")
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document" && !apiPath(r.URL.Path) {
		return nil // a link to a page; the cookie does not come along
	}
	return forbidden("another site sent this request", "send it from lathe's own page")
}

// ownOrigin checks Origin: a browser may only come from the page of this server, and has to say so where it writes.
func ownOrigin(e Entry, r *http.Request, who Principal) *Problem {
	origin := r.Header.Get("Origin")
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	if origin == "" && (safe || !who.Cookie) {
		return nil
	}
	scheme := "http"
	if e.TLS {
		scheme = "https"
	}
	if u, err := url.Parse(origin); !e.Socket && err == nil && u.Scheme == scheme && strings.EqualFold(u.Host, r.Host) &&
		u.Path == "" && u.RawQuery == "" {
		return nil
	}
	return forbidden("the request comes from another site: Origin: "+origin, "send it from lathe's own page")
}

// principal finds out who sends a request.
func (s *Server) principal(e Entry, r *http.Request) (Principal, bool) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	fromCookie := false
	if !bearer {
		if e.Socket && r.Header.Get("Authorization") == "" {
			return Principal{Local: true, key: "user"}, true
		}
		c, err := r.Cookie(cookie(e))
		if err != nil {
			return Principal{}, false
		}
		token, fromCookie = c.Value, true
	}
	d, ok := s.devices.byToken(token)
	if !ok {
		return Principal{}, false
	}
	s.devices.saw(d.ID, address(r))
	return Principal{Device: d, Remote: remote(e, r), Cookie: fromCookie, key: d.ID}, true
}

// remote reports whether a request may come from another machine: by its address, or because a proxy says so.
func remote(e Entry, r *http.Request) bool {
	if e.Socket {
		return false
	}
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(h) != "" {
			return true
		}
	}
	ip := net.ParseIP(address(r))
	return ip == nil || !ip.IsLoopback()
}

// address is the address of the peer, without its port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "socket"
	}
	return host
}

// HostsOf are the values of Host for a listener's address and more names of this machine.
func HostsOf(addr net.Addr, names ...string) []string {
	t, ok := addr.(*net.TCPAddr)
	if !ok {
		return []string{"lathe", "localhost"}
	}
	if t.IP.IsLoopback() {
		names = append(names, "localhost", "127.0.0.1", "::1")
	}
	if !t.IP.IsUnspecified() {
		names = append(names, t.IP.String())
	}
	var out []string
	for _, n := range names {
		if strings.Contains(n, ":") {
			n = "[" + strings.Trim(n, "[]") + "]"
		}
		n = strings.ToLower(n)
		if out = append(out, fmt.Sprintf("%s:%d", n, t.Port)); t.Port == 443 || t.Port == 80 {
			out = append(out, n)
		}
	}
	return out
}
