package web

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/permission"
)

var url64 = base64.RawURLEncoding

// pushService is a push service with one browser, whose messages it decrypts.
type pushService struct {
	*httptest.Server
	t    *testing.T
	key  *ecdh.PrivateKey
	auth []byte
	got  chan message
	gone bool
}

func newPushService(t *testing.T) *pushService {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &pushService{t: t, key: key, auth: make([]byte, 16), got: make(chan message, 10)}
	_, _ = rand.Read(s.auth)
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *pushService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.gone {
		w.WriteHeader(http.StatusGone)
		return
	}
	s.vapid(r)
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Content-Encoding") != "aes128gcm" || r.Header.Get("TTL") == "" {
		s.t.Errorf("%v %v", r.Header, err)
	}
	var m message
	if err := json.Unmarshal(s.decrypt(body), &m); err != nil {
		s.t.Error(err)
	}
	s.got <- m
	w.WriteHeader(http.StatusCreated)
}

// decrypt is RFC 8291, section 3.4, and RFC 8188, section 2.
func (s *pushService) decrypt(body []byte) []byte {
	salt, size, body := body[:16], binary.BigEndian.Uint32(body[16:20]), body[20:]
	from, text := body[1:1+body[0]], body[1+int(body[0]):]
	sender, err := ecdh.P256().NewPublicKey(from)
	if err != nil || int(size) < len(text) {
		s.t.Fatalf("a record of %d bytes in one of %d: %v", len(text), size, err)
	}
	shared, err := s.key.ECDH(sender)
	if err != nil {
		s.t.Fatal(err)
	}
	expand := func(secret, salt []byte, info string, n int) []byte {
		out, err := hkdf.Key(sha256.New, secret, salt, info, n)
		if err != nil {
			s.t.Fatal(err)
		}
		return out
	}
	secret := expand(shared, s.auth, "WebPush: info\x00"+string(s.key.PublicKey().Bytes())+string(from), 32)
	block, err := aes.NewCipher(expand(secret, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		s.t.Fatal(err)
	}
	open, err := cipher.NewGCM(block)
	if err != nil {
		s.t.Fatal(err)
	}
	plain, err := open.Open(nil, expand(secret, salt, "Content-Encoding: nonce\x00", 12), text, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	plain = bytes.TrimRight(plain, "\x00")
	return plain[:len(plain)-1] // behind the message comes the byte 2
}

// vapid checks who sends (RFC 8292).
func (s *pushService) vapid(r *http.Request) {
	fields := map[string]string{}
	for f := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[name] = value
	}
	parts := strings.Split(fields["t"], ".")
	if len(parts) != 3 {
		s.t.Fatalf("no token in %q", r.Header.Get("Authorization"))
	}
	raw, _ := url64.DecodeString(strings.TrimRight(fields["k"], "="))
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	sign, _ := url64.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	number := func(b []byte) *big.Int { return new(big.Int).SetBytes(b) }
	if err != nil || len(sign) != 64 || !ecdsa.Verify(key, sum[:], number(sign[:32]), number(sign[32:])) {
		s.t.Errorf("the token is not signed by the key: %v", fields)
	}
	var claims struct {
		Aud string `json:"aud"`
		Exp int64  `json:"exp"`
	}
	claim, _ := url64.DecodeString(parts[1])
	err = json.Unmarshal(claim, &claims)
	if err != nil || claims.Aud != s.URL || time.Until(time.Unix(claims.Exp, 0)) > 24*time.Hour {
		s.t.Errorf("claims %s for %s", claim, s.URL)
	}
}

// asks is a session with open questions.
type asks struct {
	port.Session
	open []event.Event
}

func (a asks) Read(context.Context, port.ReadRequest) (port.Content, error) {
	return port.Content{Questions: a.open}, nil
}

func newPush(t *testing.T, s *pushService) (*Push, func(method string, body any) *httptest.ResponseRecorder) {
	p := &Push{
		File: filepath.Join(t.TempDir(), "push.json"), Client: s.Client(),
		Device: func(context.Context) (string, bool) { return "phone", true },
		Alive:  func(device string) bool { return device == "phone" },
	}
	mux := http.NewServeMux()
	p.routes(mux)
	return p, func(method string, body any) *httptest.ResponseRecorder {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, "/page/push", strings.NewReader(string(b))))
		return w
	}
}

func (s *pushService) subscription() map[string]any {
	return map[string]any{"endpoint": s.URL + "/x", "keys": map[string]string{
		"p256dh": url64.EncodeToString(s.key.PublicKey().Bytes()), "auth": url64.EncodeToString(s.auth),
	}}
}

func TestAQuestionIsPushedOnceAndCanBeAnswered(t *testing.T) {
	s := newPushService(t)
	p, do := newPush(t, s)
	if w := do("GET", nil); !strings.Contains(w.Body.String(), `"key":"B`) {
		t.Fatalf("the key: %s", w.Body)
	}
	if w := do("POST", s.subscription()); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	question := event.Asked{ID: "q1", Question: event.Question{
		Title: "Bash", Permission: &permission.Request{}, Preview: event.Command{Command: "make test\n# more"},
		Options: []event.Option{{ID: event.ChoiceOnce}, {ID: event.ChoiceAlways}, {ID: event.ChoiceNo}},
	}}
	session := asks{open: []event.Event{{Session: "s1", Body: question}}}
	for range 2 {
		if err := p.Blocked(t.Context(), "Fix it", session); err != nil {
			t.Fatal(err)
		}
	}
	m := <-s.got
	if m.Title != "Fix it" || m.Body != "make test↵# more" || m.Session != "s1" || m.Question != "q1" || len(m.Actions) != 2 ||
		m.Actions[0] != (action{"once", "Allow"}) || m.Actions[1] != (action{"no", "Deny"}) {
		t.Errorf("%+v", m)
	}
	if len(s.got) > 0 {
		t.Errorf("it came again: %+v", <-s.got)
	}
	if err := p.Done(t.Context(), "s1", "Fix it", "done"); err != nil {
		t.Fatal(err)
	}
	if m := <-s.got; m.Question != "" || m.Body != "The turn is done" {
		t.Errorf("%+v", m)
	}
	s.gone = true
	if err := p.Done(t.Context(), "s1", "", "done"); err != nil || p.Wanted() {
		t.Errorf("a subscription that is over is kept: %v", err)
	}
}

func TestNoEndpointWithinTheNetworkIsReached(t *testing.T) {
	s := newPushService(t)
	p, do := newPush(t, s)
	for _, endpoint := range []string{"http://push.example/x", "https://user@push.example/", "file:///etc/passwd", ""} {
		if w := do("POST", map[string]any{"endpoint": endpoint}); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", endpoint, w.Code)
		}
	}
	p.Client = nil
	do("POST", s.subscription())
	if err := p.Done(t.Context(), "s1", "", "done"); err == nil || !strings.Contains(err.Error(), "private address") {
		t.Errorf("loopback was reached: %v", err)
	}
}

func TestADeviceThatWasRevokedGetsNothing(t *testing.T) {
	s := newPushService(t)
	p, do := newPush(t, s)
	do("POST", s.subscription())
	p.Alive = func(string) bool { return false }
	if err := p.Done(t.Context(), "s1", "", "done"); err != nil || len(s.got) > 0 || p.Wanted() {
		t.Errorf("%v, %d messages", err, len(s.got))
	}
}
