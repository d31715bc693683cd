package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

// outcomes keeps what became of requests with an Idempotency-Key, also when the server was killed.
type outcomes struct {
	folder string
	locks  keyed
}

// outcome is what became of a request.
type outcome struct {
	Request string          `json:"request"` // a hash of what was asked
	Status  int             `json:"status"`  // 0: it was begun, and its end is not known
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// outcomesLive is how long the answer to a request is kept.
const outcomesLive = 24 * time.Hour

func (k *outcomes) path(who, key string) string {
	sum := sha256.Sum256([]byte(who + "\x00" + key))
	return filepath.Join(k.folder, "keys", hex.EncodeToString(sum[:16]))
}

// once runs an operation; one with an Idempotency-Key only if it did not run before.
func (s *Server) once(o operation, c *call) (any, int) {
	key := c.r.Header.Get("Idempotency-Key")
	if key == "" || o.secret || !o.hasBody() && o.method != http.MethodDelete {
		return s.run(o, c)
	}
	path := s.kept.path(c.who.key, key)
	defer s.kept.locks.lock(path)()
	asked, err := json.Marshal(c.in)
	if err != nil {
		return problemOf(err), http.StatusInternalServerError
	}
	sum := sha256.Sum256(append([]byte(o.id+c.r.URL.Path+"?"+c.r.URL.RawQuery+"\n"), asked...))
	now := outcome{Request: hex.EncodeToString(sum[:])}
	if b, err := os.ReadFile(path); err == nil {
		var before outcome
		if json.Unmarshal(b, &before) == nil {
			return before.again(now, c.w)
		}
	}
	if p := s.kept.write(path, now); p != nil {
		return p, p.Status
	}
	out, status := s.run(o, c)
	if now.Answer, err = json.Marshal(out); err == nil && status < http.StatusInternalServerError {
		now.Status = status
		_ = s.kept.write(path, now) // then a repetition learns that the outcome is not known
	} else {
		_ = os.Remove(path) // it may be tried again
	}
	return out, status
}

// again answers a request that came before.
func (o outcome) again(now outcome, w http.ResponseWriter) (any, int) {
	if o.Request != now.Request {
		p := problem(http.StatusUnprocessableEntity, "key-used", "The Idempotency-Key belongs to another request", "",
			"use a fresh key for each request")
		return p, p.Status
	}
	if o.Status == 0 {
		p := problem(http.StatusConflict, "outcome-unknown", "It was begun before, and the server was killed meanwhile", "",
			"look at the session; if it was not done, send it with a fresh key")
		return p, p.Status
	}
	w.Header().Set("Idempotency-Replayed", "true")
	if o.Status >= http.StatusBadRequest {
		p := &Problem{}
		if json.Unmarshal(o.Answer, p) == nil {
			return p, p.Status
		}
	}
	if string(o.Answer) == "{}" {
		return none{}, o.Status
	}
	return o.Answer, o.Status
}

func (k *outcomes) write(path string, o outcome) *Problem {
	b, err := json.Marshal(o)
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = atomicfile.Write(path, b, 0o600)
		}
	}
	if err != nil {
		return problem(http.StatusInsufficientStorage, "not-kept", "The request cannot be kept", err.Error(),
			"make room on the disk of the server")
	}
	return nil
}

// prune removes outcomes that are old.
func (k *outcomes) prune() {
	files, _ := os.ReadDir(filepath.Join(k.folder, "keys"))
	for _, f := range files {
		if st, err := f.Info(); err == nil && time.Since(st.ModTime()) > outcomesLive {
			_ = os.Remove(filepath.Join(k.folder, "keys", f.Name()))
		}
	}
}
