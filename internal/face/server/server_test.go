//go:build linux || darwin

package server

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestAWriteIsDoneOnce(t *testing.T) {
	p := newPlace(t)
	token := p.token(Scopes...)
	add := func(status int, at, key string) (out Session) {
		b := p.want(status, http.MethodPost, "/v1/sessions/"+p.id+"/fork", token, `{"at":"`+at+`"}`, "Idempotency-Key", key)
		_ = json.Unmarshal(b, &out)
		return out
	}
	one, again, other := add(201, "", "k1"), add(201, "", "k1"), add(201, "", "k2")
	if one.ID == "" || one.ID != again.ID || one.ID == other.ID {
		t.Errorf("%+v %+v %+v", one, again, other)
	}
	add(http.StatusUnprocessableEntity, "b", "k1")
	who, _ := p.devices.byToken(token)
	path := p.kept.path(who.ID, "k3")
	b, err := os.ReadFile(p.kept.path(who.ID, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	var kept outcome
	if err := json.Unmarshal(b, &kept); err != nil {
		t.Fatal(err)
	}
	kept.Status, kept.Answer = 0, nil // the server was killed in between
	if p := p.kept.write(path, kept); p != nil {
		t.Fatal(p)
	}
	add(http.StatusConflict, "", "k3")
	if all, err := p.all(""); err != nil || len(all) != 3 {
		t.Errorf("%+v %v", all, err)
	}
}

func TestAnswersHaveTagsPagesAndCompression(t *testing.T) {
	p := newPlace(t)
	token := p.token(Scopes...)
	res := p.do(http.MethodGet, "/v1/sessions", token, "")
	tag := res.Header.Get("ETag")
	if res := p.do(http.MethodGet, "/v1/sessions", token, "", "If-None-Match", tag); tag == "" ||
		res.StatusCode != http.StatusNotModified {
		t.Errorf("%s %d", tag, res.StatusCode)
	}
	res = p.do(http.MethodGet, "/openapi.json", token, "", "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v", res.Header)
	}
	for range 4 {
		log, err := p.Store.Create(t.Context(), session.Meta{Dir: p.dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.SetTitle(t.Context(), "more"); err != nil || log.Close() != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for cursor := ""; ; {
		var page SessionPage
		b := p.want(http.StatusOK, http.MethodGet, "/v1/sessions?limit=2&cursor="+cursor, token, "")
		if err := json.Unmarshal(b, &page); err != nil || len(page.Sessions) > 2 {
			t.Fatalf("%s %v", b, err)
		}
		for _, x := range page.Sessions {
			if seen[x.ID] {
				t.Errorf("%s comes twice", x.ID)
			}
			seen[x.ID] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d sessions", len(seen))
	}
}

func TestAStreamWakesNoSessionAndKeepsNothing(t *testing.T) {
	p := newPlace(t)
	res := p.do(http.MethodGet, "/v1/events?session="+p.id, p.token(Read), "")
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if jobs, err := p.Place.List(); err != nil || len(jobs) != 0 {
		t.Errorf("%+v %v", jobs, err)
	}
	_ = res.Body.Close()
	if !await.Until(func() bool {
		p.hub.mu.Lock()
		defer p.hub.mu.Unlock()
		return len(p.hub.readers) == 0 && p.count.streams.Load() == 0
	}) {
		t.Error("the stream is kept")
	}
}

func TestTheCursorOfAStreamHasEachSession(t *testing.T) {
	var c cursors
	for _, at := range []event.Cursor{"a:1", "b:1", "a:2", "", "b:2.3"} {
		c.note(at)
	}
	if c.String() != "a:2,b:2.3" {
		t.Errorf("%s", c)
	}
	back := parseCursors(c.String() + ",nonsense,:,x," + strings.Repeat("z", 300) + ":1")
	if back.of("a") != "a:2" || back.of("b") != "b:2.3" || len(back) != 2 {
		t.Errorf("%v", back)
	}
	for i := range 2 * mostCursors {
		c.note(event.CursorAt(strings.Repeat("s", i+1), "1", 0))
	}
	if len(c) != mostCursors {
		t.Errorf("%d", len(c))
	}
}
