package config_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
)

// An orgServer serves one document with an ETag and records the requests.
type orgServer struct {
	*httptest.Server
	mu     sync.Mutex
	body   string
	status int
	full   int
	same   int
}

func newOrgServer(t *testing.T, body string) *orgServer {
	t.Helper()
	s := &orgServer{body: body, status: http.StatusOK}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *orgServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tag := fmt.Sprintf(`"%d"`, len(s.body))
	if r.Header.Get("If-None-Match") == tag {
		s.same++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.full++
	w.Header().Set("ETag", tag)
	w.WriteHeader(s.status)
	fmt.Fprint(w, s.body)
}

func (s *orgServer) serve(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, body
}

func (s *orgServer) counts() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []int{s.full, s.same}
}

// age makes the cached copy old enough to be refreshed.
func (m *machine) age() {
	m.t.Helper()
	files, _ := filepath.Glob(m.path("home/.cache/lathe/organization/*.json"))
	if len(files) != 1 {
		m.t.Fatalf("%d copies in the cache", len(files))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		m.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), fmt.Sprint(time.Now().Year())+"-", "2001-")
	if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func TestTheOrganisationsDefaultsStandBelowTheUsers(t *testing.T) {
	s := newOrgServer(t, "{\n\"language\": \"org\", \"theme\": \"dark\", // house style\n\"permissions\": {\"deny\": "+
		"[\"WebFetch\"]}}")
	m := newMachine(t)
	m.write(userFile, `{"organizationUrl": "`+s.URL+`/lathe.json", "language": "mine", "permissions": {"deny": ["Bash"]}}`)
	c := m.load()
	diff(t, "settings", []string{c.Settings.Language, c.Settings.Theme}, []string{"mine", "dark"})
	diff(t, "deny", c.Settings.Permissions.Deny, []string{"WebFetch", "Bash"})
	diff(t, "origin", c.Origin("theme").String(), s.URL+"/lathe.json:2:29")
	diff(t, "layer", c.Origin("theme").Layer, config.Organization)
}

func TestTheCopyWorksOfflineAndIsRefreshedWithItsETag(t *testing.T) {
	s := newOrgServer(t, `{"theme": "dark"}`)
	m := newMachine(t)
	m.env("LATHE_ORG_URL=" + s.URL)
	m.load()
	m.load()
	diff(t, "a fresh copy is not asked for again", s.counts(), []int{1, 0})
	refresh := func(want bool) {
		t.Helper()
		changed, err := m.load().Refresh(context.Background())
		if err != nil || changed != want {
			t.Errorf("Refresh = %v, %v; want %v", changed, err, want)
		}
	}
	refresh(false)
	diff(t, "fresh", s.counts(), []int{1, 0})
	m.age()
	refresh(false)
	diff(t, "unchanged", s.counts(), []int{1, 1})
	m.age()
	s.serve(200, `{"theme": "light"}`)
	refresh(true)
	diff(t, "new one", m.load().Settings.Theme, "light")
	s.Close()
	m.age()
	if _, err := m.load().Refresh(context.Background()); err == nil || !strings.HasPrefix(err.Error(),
		s.URL+": cannot refresh the organisation's settings: ") {
		t.Errorf("offline: %v", err)
	}
	c := m.load()
	diff(t, "offline", c.Settings.Theme, "light")
	diff(t, "no word of it", c.Warnings, []config.Warning(nil))
}

func TestABadDocumentDoesNotReplaceAGoodOne(t *testing.T) {
	s := newOrgServer(t, `{"theme": "dark"}`)
	m := newMachine(t)
	m.env("LATHE_ORG_URL=" + s.URL)
	m.load()
	for _, bad := range []string{`<html>login</html>`, `{"theme": 7}`, `{"version": 99}`, strings.Repeat(" ", 3<<20) +
		"{}"} {
		m.age()
		s.serve(200, bad)
		if _, err := m.load().Refresh(context.Background()); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
		diff(t, "theme", m.load().Settings.Theme, "dark")
	}
	m.age()
	s.serve(500, "oops")
	_, err := m.load().Refresh(context.Background())
	diff(t, "error", fmt.Sprint(err), s.URL+": cannot refresh the organisation's settings: "+s.URL+
		" answered 500 Internal Server Error")
}

func TestAServerThatDoesNotAnswerHoldsUpOneStartAndBriefly(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	m := newMachine(t)
	m.env("LATHE_ORG_URL=" + s.URL)
	m.opts.OrganizationWait = 300 * time.Millisecond
	c := m.load()
	if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0].String(),
		"environment LATHE_ORG_URL: organizationUrl: the organisation's settings are missing for now: ") {
		t.Errorf("warnings: %v", c.Warnings)
	}
	diff(t, "asked", len(asked), 1)
	m.load()
	diff(t, "not waited for again", len(asked), 1)
}

func TestTheOrganisationsURLMustBeSafeAndTheDocumentModest(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"organizationUrl": "http://me:pw@intranet.example/x"}`)
	diff(t, "plain http", m.fail(), userFile+
		`:1:21: organizationUrl: found http://me:***@intranet.example/x, allowed: a URL that begins with https://`)
	s := newOrgServer(t,
		`{"organizationUrl": "https://other.example", "language": "{file:/etc/hostname}", "permissions": {"defaultMode": "bypassPermissions"}}`)
	m = newMachine(t)
	m.env("LATHE_ORG_URL=" + s.URL)
	c := m.load()
	diff(t, "files are not read", c.Settings.Language, "")
	s.serve(200,
		`{"organizationUrl": "https://other.example", "theme": "dark", "permissions": {"defaultMode": "bypassPermissions"}}`)
	m = newMachine(t)
	m.env("LATHE_ORG_URL=" + s.URL)
	c = m.load()
	diff(t, "settings", []string{c.Settings.Theme, c.Settings.OrganizationURL, c.Settings.Permissions.DefaultMode},
		[]string{"dark", s.URL, "default"})
	diff(t, "warnings", len(c.Warnings), 2)
}

func TestTheCallersClientFetchesTheDocument(t *testing.T) {
	s := newOrgServer(t, `{"theme": "dark"}`)
	m := newMachine(t)
	m.write(userFile, `{"organizationUrl": "`+s.URL+`", "network": {"proxy": "proxy.example:80"}}`)
	m.write(projFile, `{"network": {"proxy": "evil.example:80"}}`)
	var saw config.Network
	m.opts.HTTPClient = func(n config.Network) (*http.Client, error) {
		saw = n
		return s.Client(), nil
	}
	diff(t, "theme", m.load().Settings.Theme, "dark")
	diff(t, "network", saw, config.Network{Proxy: "proxy.example:80"})
}

// A list of the organisation that refuses is not lost because one entry is broken.
func TestTheOrganisationsRulesThatCannotBeReadAreAnError(t *testing.T) {
	s := newOrgServer(t, `{"permissions": {"deny": ["WebFetch", "Bash(rm *"]}}`)
	m := newMachine(t)
	m.write(userFile, `{"organizationUrl": "`+s.URL+`/lathe.json"}`)
	for range 2 { // the second start does not ask again
		got := m.fail()
		if !strings.Contains(got, `/lathe.json:1:39: permissions.deny[1]: found "Bash(rm *"`) || !strings.HasSuffix(got,
			"tell the administrators of the organisation's settings") {
			t.Error(got)
		}
	}
	diff(t, "requests", s.counts(), []int{1, 0})
	s = newOrgServer(t, `{"permissions": {"deny": ["WebFetch"]}}`)
	m = newMachine(t)
	m.write(userFile, `{"organizationUrl": "`+s.URL+`/lathe.json"}`)
	m.load()
	s.serve(http.StatusOK, `{"permissions": {"denny": ["WebFetch"]}}`)
	m.age()
	if _, err := m.load().Refresh(context.Background()); err == nil {
		t.Error("the broken document was taken")
	}
	diff(t, "the usable copy stays", m.load().Settings.Permissions.Deny, []string{"WebFetch"})
}
