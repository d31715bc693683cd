package web

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestThePageAllowsNothingButItsOwnFiles(t *testing.T) {
	p := New(Options{})
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "require-trusted-types-for 'script'", "trusted-types lathe;", "frame-ancestors 'none'", "base-uri 'none'",
	} {
		if !strings.Contains(policy+";", want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy has %s", policy)
	}
	for _, m := range regexp.MustCompile(`<(?:style|script)>([\s\S]*?)</`).FindAllStringSubmatch(w.Body.String(), -1) {
		if !strings.Contains(policy, hash(m[1])) {
			t.Errorf("the policy forbids %.40s", m[1])
		}
	}
}

// Every string that becomes HTML in a browser goes through one function.
func TestOnlyOnePlaceOfThePageMakesHTML(t *testing.T) {
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|eval\(|new Function|setHTML`)
	for name, a := range assets() {
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		for i, line := range strings.Split(string(a.plain), "\n") {
			if sinks.MatchString(line) && !strings.Contains(line, "rendered(") {
				t.Errorf("%s:%d: %s", name, i+1, line)
			}
		}
	}
}

func TestStaticFilesNeedNoLoginAndOthersDo(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/app.js": true, "/icon.svg": true, "/page/stream": false, "/page/push": false, "/x": false, "/../web.go": false,
	} {
		if got := Open(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	p := New(Options{})
	r := httptest.NewRequest(http.MethodGet, "/app.js", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	etag := w.Header().Get("ETag")
	if w.Header().Get("Content-Encoding") != "gzip" || etag == "" {
		t.Errorf("%v", w.Header())
	}
	r.Header.Set("If-None-Match", etag)
	w = httptest.NewRecorder()
	if p.ServeHTTP(w, r); w.Code != http.StatusNotModified {
		t.Errorf("%d", w.Code)
	}
}

func TestACodeIsPicturedAndNotWritten(t *testing.T) {
	w := httptest.NewRecorder()
	New(Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/page/qr?text=%3Cscript%3E", nil))
	if got := w.Body.String(); !strings.HasPrefix(got, "<svg ") || strings.Contains(got, "script") || w.Code != http.StatusOK {
		t.Errorf("%d %.200s", w.Code, got)
	}
}
