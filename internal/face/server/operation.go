package server

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// operation is a row of the API: its route, and how it is documented.
type operation struct {
	id, method, path string
	scope            Scope
	says             string
	in, out          reflect.Type // in has fields with the tags path and query, and those of the JSON body
	body             int64        // the most bytes of a body; 0: mostBody
	made             int          // the status of success; 0: 200, or 204 without output
	secret           bool         // the answer has a token or a code, which is kept nowhere
	do               func(s *Server, c *call) (any, error)

	raw  func(*Server, http.ResponseWriter, *http.Request) // serves it in the place of do
	mime string                                            // of what raw answers
}

// call is one request for an operation.
type call struct {
	context.Context
	who Principal
	r   *http.Request
	w   http.ResponseWriter
	in  any
}

// op makes an operation of a function.
func op[In, Out any](id, route string, scope Scope, says string, f func(*Server, *call, In) (Out, error)) operation {
	method, path, _ := strings.Cut(route, " ")
	return operation{
		id: id, method: method, path: path, scope: scope, says: says, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		do: func(s *Server, c *call) (any, error) { return f(s, c, *c.in.(*In)) },
	}
}

// none is the input or output of an operation that has none.
type none struct{}

// authorityPath is where a device gets the certificate to trust. It is public, and needs no principal.
const authorityPath = "/lathe-authority.crt"

// routes is the API and the pages.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, o := range operations() {
		h := s.serve(o)
		if o.raw != nil {
			h = s.needs(o.scope, func(w http.ResponseWriter, r *http.Request) { o.raw(s, w, r) })
		}
		mux.Handle(o.method+" "+o.path, h)
	}
	if s.Metrics {
		mux.HandleFunc("GET /metrics", s.needs(Read, s.metrics))
	}
	mux.HandleFunc("GET /openapi.json", s.needs(Read, func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, r, http.StatusOK, json.RawMessage(s.openapi))
	}))
	mux.HandleFunc("GET "+authorityPath, func(w http.ResponseWriter, r *http.Request) {
		if s.Authority == nil {
			writeProblem(w, notFound("the certificate is not lathe's own", "trust who signed it"))
			return
		}
		writeBytes(w, r, http.StatusOK, "application/x-x509-ca-cert", s.Authority)
	})
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, notFound("this path and method are no operation", "/openapi.json lists the operations"))
	})
	if s.Pages != nil {
		mux.Handle("/", s.Pages)
	}
	return mux
}

// needs serves to those who have a scope.
func (s *Server) needs(scope Scope, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if who, _ := From(r.Context()); !who.May(scope) {
			writeProblem(w, lacks(scope))
			return
		}
		h(w, r)
	}
}

func lacks(scope Scope) *Problem {
	return problem(http.StatusForbidden, "scope", "The device may not do that", fmt.Sprintf("it needs the scope %s", scope),
		fmt.Sprintf("pair it again with that scope: lathe serve pair --scopes read,%s", scope))
}

// serve runs an operation.
func (s *Server) serve(o operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, _ := From(r.Context())
		if o.scope != "" && !who.May(o.scope) {
			s.audit.write(r, who, o.id, http.StatusForbidden)
			writeProblem(w, lacks(o.scope))
			return
		}
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(bodyWait)) // not every writer has it
		c := &call{Context: r.Context(), who: who, r: r, w: w}
		in, err := o.read(w, r)
		if err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		_ = rc.SetReadDeadline(time.Time{})
		c.in = in
		out, status := s.once(o, c)
		if o.method != http.MethodGet {
			s.audit.write(r, who, o.id, status)
		}
		switch v := out.(type) {
		case nil: // it is written already
		case *Problem:
			writeProblem(w, v)
		default:
			s.reply(w, r, status, out)
		}
	}
}

// run calls an operation and returns what to answer.
func (s *Server) run(o operation, c *call) (any, int) {
	out, err := o.do(s, c)
	if err != nil {
		p := problemOf(err)
		return p, p.Status
	}
	return out, cmp.Or(o.made, http.StatusOK)
}

// read decodes what an operation takes: its path, query and body.
func (o operation) read(w http.ResponseWriter, r *http.Request) (any, error) {
	in := reflect.New(o.in)
	most := o.body
	if most == 0 {
		most = mostBody
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, problem(http.StatusUnsupportedMediaType, "encoding", "Compressed bodies are not taken", "",
			"send the body as it is")
	}
	if o.hasBody() {
		w.Header().Set("Body-Limit", strconv.FormatInt(most, 10))
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, problem(http.StatusRequestEntityTooLarge, "too-large", "The body is too large",
				fmt.Sprintf("it may have %d bytes", most), "send less, or attach files of the session by @path")
		}
		if err != nil {
			return nil, badRequest("its body did not come: "+err.Error(), "send it again")
		}
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if len(b) > 0 && kind != "application/json" {
			return nil, problem(http.StatusUnsupportedMediaType, "type", "The body has to be JSON", "Content-Type: "+kind,
				"send it with Content-Type: application/json")
		}
		if len(b) > 0 {
			if err := json.Unmarshal(b, in.Interface()); err != nil {
				return nil, badRequest("its body is not as described: "+err.Error(), "compare it with /openapi.json")
			}
		}
	}
	return in.Interface(), fill(in.Elem(), r)
}

func (o operation) hasBody() bool {
	return o.method == http.MethodPost || o.method == http.MethodPut || o.method == http.MethodPatch
}

// fill sets the fields with the tags path and query.
func fill(in reflect.Value, r *http.Request) error {
	query := r.URL.Query()
	for i := range in.NumField() {
		f := in.Type().Field(i)
		if f.Anonymous {
			if err := fill(in.Field(i), r); err != nil {
				return err
			}
			continue
		}
		var values []string
		if name := f.Tag.Get("path"); name != "" {
			values = []string{r.PathValue(name)}
		} else if name := f.Tag.Get("query"); name != "" {
			values = query[name]
		}
		if len(values) == 0 {
			continue
		}
		if err := set(in.Field(i), values); err != nil {
			return badRequest(fmt.Sprintf("%s%s cannot be %q", f.Tag.Get("path"), f.Tag.Get("query"), values[0]),
				"compare it with /openapi.json")
		}
	}
	return nil
}

func set(v reflect.Value, values []string) (err error) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(values[0])
	case reflect.Int:
		var n int64
		if n, err = strconv.ParseInt(values[0], 10, 32); err == nil && n < 0 {
			err = strconv.ErrRange
		}
		v.SetInt(n)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(values[0])
		v.SetBool(b)
	case reflect.Slice:
		v.Set(reflect.ValueOf(values))
	default:
		err = fmt.Errorf("a parameter cannot be a %s", v.Kind())
	}
	return err
}

// compressFrom is the size from which an answer is compressed.
const compressFrom = 1 << 10

// reply sends a value as JSON, with an ETag; nothing if the other side has it already.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	if v == (none{}) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeBytes(w, r, status, "application/json", b)
}

// writeBytes sends bytes, compressed if the other side takes that.
func writeBytes(w http.ResponseWriter, r *http.Request, status int, kind string, b []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Authorization, Cookie")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		sum := sha256.Sum256(b)
		tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		if h.Set("ETag", tag); has(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(b) >= compressFrom && has(r.Header.Get("Accept-Encoding"), "gzip") && strings.HasPrefix(kind, "application/json") {
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed) // the level is valid
		if _, err := z.Write(b); err == nil && z.Close() == nil {
			b = small.Bytes()
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait))
		_, _ = w.Write(b) // the peer may have gone
	}
}

// has reports whether a list in a header has a value.
func has(list, value string) bool {
	for v := range strings.SplitSeq(list, ",") {
		v, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(v), "W/"), ";")
		if v == value || v == "*" && value != "gzip" {
			return true
		}
	}
	return false
}
