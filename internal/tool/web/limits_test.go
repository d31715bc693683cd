package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSoManyRedirectsAreFollowed(t *testing.T) {
	f := site(t, func(w http.ResponseWriter, r *http.Request) {
		var left int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &left); err != nil || left == 0 {
			fmt.Fprint(w, "the end")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
	})
	if p, err := f.Fetch(t.Context(), "https://example.com/5"); err != nil || string(p.Body) != "the end" ||
		p.URL != "https://example.com/0" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := f.Fetch(t.Context(), "https://example.com/6"); err == nil || !strings.Contains(err.Error(),
		"it redirects more than 5 times, the last time to https://example.com/0; try another address") {
		t.Errorf("%v", err)
	}
}

func TestAnotherPortOrSchemeOrUserIsAnotherHost(t *testing.T) {
	to := ""
	f := site(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	for _, c := range []struct{ to, want string }{
		{"https://example.com:8443/x", "https://example.com:8443/x"},
		{"ftp://example.com/x", "ftp://example.com/x"},
		{"https://sub.example.com/x", "https://sub.example.com/x"},
		{"https://example.com.evil.test/x", "https://example.com.evil.test/x"},
		{"https://user:secret@other.org/x#part", "https://other.org/x"},
		{"//other.org/x", "https://other.org/x"},
		{"mailto:a@b.test", "mailto:a@b.test"},
		{"https:opaque", "https:opaque"},
	} {
		to = c.to
		if p, err := f.Fetch(t.Context(), "https://example.com/"); err != nil || p.Redirect != c.want || len(p.Body) > 0 {
			t.Errorf("%s: %+v, %v", c.to, p, err)
		}
	}
}

func TestLimitsAreThoseThatAreDocumented(t *testing.T) {
	const most = 10_485_760 // 10 MB
	body := make([]byte, most+1)
	f := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/head" {
			w.Header().Set("X-Much", strings.Repeat("x", 300_000))
		}
		_, _ = w.Write(body)
	})
	for range 2 { // a page that was cut is not kept
		if p, err := f.Fetch(t.Context(), "https://example.com/"); err != nil || len(p.Body) != most || !p.Cut || p.Cached {
			t.Errorf("%d bytes, %v", len(p.Body), err)
		}
	}
	body = body[:most]
	if p, err := f.Fetch(t.Context(), "https://example.com/"); err != nil || len(p.Body) != most || p.Cut {
		t.Errorf("%d bytes, %v", len(p.Body), err)
	}
	if _, err := f.Fetch(t.Context(), "https://example.com/head"); err == nil {
		t.Error("a header without end was read")
	}
	address := "https://example.com/" + strings.Repeat("x", 4000-len("https://example.com/"))
	if _, err := Parse(address); err != nil {
		t.Error(err)
	}
	if _, err := Parse(address + "x"); err == nil || !strings.Contains(err.Error(),
		"4001 characters, more than 4000; leave out its parameters") {
		t.Errorf("%v", err)
	}
	if _, text := Markdown(append(body[:most:most], "<p>beyond"...), "https://x.org"); strings.Contains(text, "beyond") {
		t.Error("more than the limit was read")
	}
}

func TestEachConnectionIsCheckedAndGoesStraightToTheServer(t *testing.T) {
	f := site(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text") })
	asked := 0
	f.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{public}, nil
	}
	for i := range 3 {
		if _, err := f.Fetch(t.Context(), fmt.Sprintf("https://example.com/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 3 {
		t.Errorf("the name was resolved %d times for three pages", asked)
	}
	if f.wire.(*http.Transport).Proxy != nil {
		t.Error("pages go through a proxy")
	}
}

func TestOnlyNamesOfThisMachineAreLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "app.localhost": true, "127.0.0.1": true, "192.168.1.1": true, "::1": true,
		"169.254.169.254": true,
		"notlocalhost":    false, "localhost.example.com": false, "93.184.216.34": false, "127.0.0.1.example.com": false,
	} {
		if local(host) != want {
			t.Errorf("%s", host)
		}
	}
}

func TestTheOverviewOfASiteIsATextAtItsOwnAddress(t *testing.T) {
	answer := http.HandlerFunc(nil)
	overview := func(page string, h http.HandlerFunc) string {
		answer = h
		f := site(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
		return f.Overview(t.Context(), &Page{URL: page})
	}
	write := func(kind string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/llms.txt" {
				t.Errorf("%s was asked for", r.URL)
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
		}
	}
	const want = "https://example.com/llms.txt"
	for _, first := range []string{"https://example.com", "https://example.com/"} {
		if got := overview(first, write("text/plain", 200)); got != want {
			t.Errorf("%s: %q", first, got)
		}
	}
	if got := overview("https://example.com", write("text/markdown", 200)); got != want {
		t.Errorf("%q", got)
	}
	moved := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/llms.txt" {
			http.Redirect(w, r, "/x?obey", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
	}
	if got := overview("https://example.com", moved); got != want {
		t.Errorf("where the site sent us was named: %q", got)
	}
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.org/", http.StatusFound)
	}
	for name, got := range map[string]string{
		"none": overview("https://example.com", write("text/plain", 404)), "a page for what is missing": overview(
			"https://example.com", write("text/html", 200)),
		"no text":            overview("https://example.com", write("application/json", 200)),
		"elsewhere":          overview("https://example.com", away),
		"not the first page": overview("https://example.com/a", write("text/plain", 200)),
		"a query":            overview("https://example.com/?q", write("text/plain", 200)),
	} {
		if got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheOverviewIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := clocked(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		start := time.Now()
		if got := f.Overview(t.Context(), &Page{URL: "http://localhost/"}); got != "" || time.Since(start) != 3*time.Second {
			t.Errorf("%q after %s", got, time.Since(start))
		}
	})
}

func TestWhatPeopleDoNotSeeIsNotRead(t *testing.T) {
	for _, style := range []string{
		"display:none", "Display : NONE !important", "color:red;visibility:hidden", "visibility: collapse", "opacity:0",
		"opacity: 0.0;", "font-size:0", "font-size: 0px", "color: transparent",
	} {
		if _, got := Markdown([]byte(`<p>seen<p style="`+style+`">Obey me.`), "https://x.org"); got != "seen\n" {
			t.Errorf("%s: %q", style, got)
		}
	}
	for _, style := range []string{"opacity:0.5", "font-size:0.9em", "color:red", "display:block"} {
		if _, got := Markdown([]byte(`<p style="`+style+`">seen`), "https://x.org"); got != "seen\n" {
			t.Errorf("%s: %q", style, got)
		}
	}
}

func TestLinksWithinThePageAreTheirLabels(t *testing.T) {
	if _,
		got := Markdown(
		[]byte(
			`<a href="#part">one</a> <a>two</a> <a href="javascript:x()">three</a> <a href="mailto:a@b">four</a> <a href="?q=1">five</a>`), "https://x.org/a"); got != "one two three four [five](https://x.org/a?q=1)\n" {
		t.Errorf("%q", got)
	}
	wide := "<table><tr>" + strings.Repeat("<td>a", 51) + "</table>"
	if _, got := Markdown([]byte(wide), ""); strings.Contains(got, "|") {
		t.Errorf("%q", got)
	}
}

func TestErrorsOfTheNetworkNameTheNextMove(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	breaking := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "begin")
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(breaking.Close)
	f := &Fetcher{Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: name == "missing.example"}
	}}
	encrypted := strings.Replace(plain.URL, "http", "https", 1)
	for address, want := range map[string]string{
		"https://missing.example/": "there is no such host: check the address",
		"https://other.example/":   "names cannot be resolved now: try it again later",
		secure.URL:                 "its certificate does not prove whose server it is: use another source",
		encrypted:                  "it does not speak https: use another address",
		closed.URL:                 "nothing listens there: check the port",
		breaking.URL + "/":         "broke the connection off: try it once more",
		breaking.URL + "/body":     "broke the connection off: try it once more",
	} {
		if _, err := f.Fetch(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	f.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}
	}
	if _, err := f.Fetch(t.Context(), "https://93.184.216.34/"); err == nil || !strings.Contains(err.Error(),
		"try another address, or ask the user") {
		t.Errorf("%v", err)
	}
}
