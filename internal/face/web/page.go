package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

//go:embed page
var files embed.FS

// Options connect the page with the server that it is served by.
type Options struct {
	// Session connects to a session as the principal of ctx; the function ends the connection.
	Session func(ctx context.Context, id string) (port.Session, func(), error)
	// Follow calls changed with each session that changes, as JSON for the page, until ctx ends.
	Follow func(ctx context.Context, changed func(session any))
	// Push takes the subscription of a browser; nil: there is no push.
	Push *Push
}

// policy is the page's Content-Security-Policy: its own files and nothing else, no inline script or style, and HTML
// only by the one policy of Trusted Types. The two hashes are those of the style and the script that are written into
// the page, so that it is painted without another request.
const policy = "default-src 'none'; script-src 'self' %s; style-src 'self' %s; img-src 'self' data: blob:; " +
	"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types lathe"

// Page serves the page.
type Page struct {
	o       Options
	watches watches
	mux     *http.ServeMux
}

// New returns the page.
func New(o Options) *Page {
	p := &Page{o: o, mux: http.NewServeMux()}
	p.mux.HandleFunc("GET /page/stream", p.stream)
	p.mux.HandleFunc("GET /page/history", p.history)
	p.mux.HandleFunc("POST /page/render", render)
	p.mux.HandleFunc("GET /page/qr", picturedCode)
	if o.Push != nil {
		o.Push.routes(p.mux)
	}
	p.mux.HandleFunc("GET /", static)
	return p
}

// Open reports whether a path is one of the static files, which hold no secret and need no login.
func Open(path string) bool { return path == "/" || assets()[path] != nil }

// Login is the page where a code is entered.
const Login = "/"

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", assets()["/index.html"].policy)
	w.Header().Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	p.mux.ServeHTTP(w, r)
}

// asset is a static file, ready to be sent.
type asset struct {
	mime, etag   string
	plain, small []byte // small: by gzip
	policy       string // of the page
}

var assets = sync.OnceValue(func() map[string]*asset {
	out := map[string]*asset{}
	_ = fs.WalkDir(files, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		out[strings.TrimPrefix(name, "page")] = newAsset(name, b)
		return nil
	})
	style, script := string(out["/app.css"].plain)+palette(), string(out["/theme.js"].plain)
	page := strings.NewReplacer(
		`<link rel="stylesheet" href="/app.css">`, "<style>"+style+"</style>",
		`<script src="/theme.js"></script>`, "<script>"+script+"</script>",
	).Replace(string(out["/index.html"].plain))
	index := newAsset("page/index.html", []byte(page))
	index.policy = fmt.Sprintf(policy, hash(script), hash(style))
	out["/index.html"] = index
	return out
})

// hash is a text as a source of a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func newAsset(name string, b []byte) *asset {
	sum := sha256.Sum256(b)
	a := &asset{mime: mime.TypeByExtension(path.Ext(name)), plain: b, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	switch path.Ext(name) {
	case ".webmanifest":
		a.mime = "application/manifest+json"
	case ".js":
		a.mime = "text/javascript; charset=utf-8"
	}
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // the level is valid
	_, _ = z.Write(b)
	_ = z.Close()
	if buf.Len() < len(b) {
		a.small = buf.Bytes()
	}
	return a
}

// static sends a file of the page. Browsers ask whether it changed, so that a new version of lathe shows its own page.
func static(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	a := assets()[name]
	if a == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("ETag", a.etag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.mime)
	body := a.plain
	if a.small != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.small
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // a browser that is gone needs none
}

const (
	beat      = 15 * time.Second
	writeWait = 30 * time.Second // for a page that does not read
)

// stream sends the changes of the list, and those of one session, as server-sent events.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	rows := make(chan any)
	if p.o.Follow != nil {
		go p.o.Follow(ctx, func(session any) {
			select {
			case rows <- session:
			case <-ctx.Done():
			}
		})
	}
	out := &sender{w: w, rc: http.NewResponseController(w)}
	out.event("", []byte(`{"op":"hello"}`))
	if id := r.URL.Query().Get("session"); id != "" {
		reach := func(ctx context.Context) (port.Session, func(), error) { return p.o.Session(ctx, id) }
		watch, leave := p.watches.join(ctx, id, reach)
		defer leave()
		out.watch, out.at, out.known = watch, 0, false
		if out.at, out.known = watch.position(r.Header.Get("Last-Event-ID")); !out.known {
			out.at, out.known = watch.position(r.URL.Query().Get("last"))
		}
	}
	out.run(ctx, rows)
}

// sender writes a stream.
type sender struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	buf   bytes.Buffer
	watch *watch
	at    int
	known bool
}

func (s *sender) run(ctx context.Context, rows chan any) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		wait, err := s.changes()
		if s.flush() != nil || err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-wait:
		case row := <-rows:
			if b, err := json.Marshal(change{Op: "session", Data: row}); err == nil {
				s.event("", b)
			}
		case <-tick.C:
			s.event("", []byte(`{"op":"beat"}`))
		}
	}
}

// changes writes what the session has brought.
func (s *sender) changes() (<-chan struct{}, error) {
	if s.watch == nil {
		return nil, nil
	}
	list, next, wait, err := s.watch.take(s.at, s.known)
	if err != nil {
		b, _ := json.Marshal(change{Op: "gone", Data: err.Error()})
		s.event("", b)
		return nil, err
	}
	if next < 0 {
		return wait, nil
	}
	for i, b := range list {
		id := ""
		if i == len(list)-1 {
			id = fmt.Sprintf("%s-%d", s.watch.id, next)
		}
		s.event(id, b)
	}
	s.at, s.known = next, true
	return wait, nil
}

// event adds an event. JSON has no newlines of its own.
func (s *sender) event(id string, data []byte) {
	if id != "" {
		s.buf.WriteString("id: " + id + "\n")
	}
	s.buf.WriteString("data: ")
	s.buf.Write(data)
	s.buf.WriteString("\n\n")
}

func (s *sender) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeWait))
	_, err := s.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if err != nil {
		return err
	}
	return s.rc.Flush()
}

// history sends an earlier part of a transcript: its items, and where the part before it ends.
func (p *Page) history(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s, end, err := p.o.Session(r.Context(), q.Get("session"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer end()
	before := q.Get("before")
	got, err := s.Read(r.Context(), port.ReadRequest{What: "history", Before: event.Cursor(before), Limit: earlier})
	if err != nil || got.History == nil {
		http.Error(w, "this part of the history cannot be read: load the page again", http.StatusNotFound)
		return
	}
	f := newFeed(func(change) {})
	f.prefix = before + "/"
	f.past(got.History.History)
	answer(w, map[string]any{"items": f.snapshot(), "more": got.History.More})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // a browser that is gone needs none
}

const mostRendered = 4 << 20

// render turns Markdown, a file or a view of the API into HTML.
func render(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Markdown string          `json:"markdown"`
		Path     string          `json:"path"`
		Text     string          `json:"text"`
		View     json.RawMessage `json:"view"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRendered))
	if err != nil || json.Unmarshal(body, &in) != nil {
		http.Error(w, "this cannot be shown", http.StatusBadRequest)
		return
	}
	var out writer
	v, err := event.UnmarshalView(in.View)
	switch {
	case err == nil && v != nil:
		view(&out, v, true)
	case in.Path != "":
		numbered(&out, in.Text, in.Path)
	default:
		markdown(&out, in.Markdown)
	}
	answer(w, map[string]string{"html": out.String()})
}
