package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// github plays the parts of GitHub that a login needs: it wants one more try before the code was typed.
func github(t *testing.T, exchanges *int) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	polls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = r.ParseForm()
		switch {
		case r.URL.Path == "/login/device/code" && r.Form.Get("client_id") != "":
			fmt.Fprint(w,
				`{"device_code":"dev","user_code":"AB-12","verification_uri":"https://github.com/login/device","expires_in":900,"interval":0}`)
		case r.URL.Path == "/login/oauth/access_token" && r.Form.Get("device_code") == "dev":
			if polls++; polls == 1 {
				fmt.Fprint(w, `{"error":"authorization_pending"}`)
				return
			}
			fmt.Fprint(w, `{"access_token":"gho_user","token_type":"bearer"}`)
		case r.URL.Path == "/copilot_internal/v2/token" && r.Header.Get("Authorization") == "token gho_user":
			*exchanges++
			fmt.Fprintf(w, `{"token":"tid=%d","expires_at":%d,"endpoints":{"api":"https://api.business.githubcopilot.com"}}`,
				*exchanges, time.Now().Add(25*time.Minute).Unix())
		default:
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// shelf keeps a secret in memory, as a keyring that several processes share.
type shelf struct {
	mu     sync.Mutex
	lock   sync.Mutex
	locked bool
	secret string
	apart  int // times that it was read or changed without the lock
}

func (s *shelf) Get() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	return s.secret, nil
}

func (s *shelf) Set(secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	s.secret = secret
	return nil
}

func (s *shelf) check() {
	if !s.locked {
		s.apart++
	}
}

func (s *shelf) Lock(context.Context) (func(), error) {
	s.lock.Lock()
	s.hold(true)
	return func() { s.hold(false); s.lock.Unlock() }, nil
}

func (s *shelf) hold(locked bool) {
	s.mu.Lock()
	s.locked = locked
	s.mu.Unlock()
}

func TestCopilotsTokenIsMadeOnceForAllProcessesAndRenewed(t *testing.T) {
	exchanges := 0
	o := Options{Getenv: func(string) string { return "" }, Login: github(t, &exchanges).URL}
	shown := ""
	secret, err := LoginCopilot(t.Context(), o, func(address, code string) { shown = address + " " + code })
	if err != nil || shown != "https://github.com/login/device AB-12" {
		t.Fatalf("%q %v", shown, err)
	}
	store := &shelf{secret: secret}
	var wg sync.WaitGroup
	for range 4 { // each Prepare is a process
		p := Copilot(o, store)
		wg.Go(func() {
			out := &llm.Outgoing{URL: "https://api.githubcopilot.com/chat/completions", Header: http.Header{}}
			if err := p(context.Background(), out); err != nil || out.Header.Get("Authorization") != "Bearer tid=1" ||
				out.URL != "https://api.business.githubcopilot.com/chat/completions" {
				t.Errorf("%v %v", out, err)
			}
		})
	}
	wg.Wait()
	if exchanges != 1 || store.apart != 0 {
		t.Errorf("%d exchanges, want 1; the login was read or changed %d times without the lock", exchanges, store.apart)
	}
	p := Copilot(o, store)
	out := &llm.Outgoing{
		URL: "https://api.githubcopilot.com/chat/completions", Header: http.Header{},
		Refused: &llm.Refusal{Header: http.Header{"Authorization": {"Bearer tid=1"}}, Err: &llm.Error{}},
	}
	if err := p(context.Background(), out); err != nil || out.Header.Get("Authorization") != "Bearer tid=2" ||
		out.Header.Get("Copilot-Integration-Id") == "" {
		t.Errorf("%v %v", out.Header, err)
	}
	now := time.Now().Add(24 * time.Minute)
	o.Now = func() time.Time { return now }
	out = &llm.Outgoing{URL: "http://proxy/chat/completions", Header: http.Header{}}
	if err := Copilot(o, store)(context.Background(), out); err != nil ||
		out.Header.Get("Authorization") != "Bearer tid=3" || out.URL != "http://proxy/chat/completions" {
		t.Errorf("a token that ends soon: %v %v", out, err)
	}
	var kept copilotSecret
	if err := json.Unmarshal([]byte(store.secret), &kept); err != nil || kept.User != "gho_user" || kept.Token != "tid=3" {
		t.Errorf("%+v %v", kept, err)
	}
}

func TestALoginThatGitHubRefusesSaysSo(t *testing.T) {
	exchanges := 0
	o := Options{Getenv: func(string) string { return "" }, Login: github(t, &exchanges).URL}
	err := Copilot(o, &shelf{secret: `{"user":"gho_other"}`})(t.Context(), &llm.Outgoing{Header: http.Header{}})
	if e := llm.AsError(err); e == nil || e.Kind != llm.KindAuth || !strings.Contains(e.Hint,
		"lathe auth login github-copilot") || strings.Contains(err.Error(), "gho_other") {
		t.Errorf("%v", err)
	}
}
