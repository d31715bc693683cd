package llm

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHeadersOfAContextGoOutExceptThoseOfCredentialsAndTheWire(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer srv.Close()
	ctx := WithHeaders(context.Background(), http.Header{
		"X-Team": {"red"}, "Authorization": {"Bearer evil"}, "X-Api-Key": {"evil"}, "Host": {"evil"}, "X-Mine": {"theirs"},
		"Bad\nName": {"x"},
	})
	ctx = WithHeaders(ctx, http.Header{"X-More": {"blue"}})
	c := &Caller{Provider: "test"}
	reply, err := c.Post(ctx, 1, &Outgoing{URL: srv.URL, Header: http.Header{"X-Mine": {"mine"}}, Body: body(`{}`)}, nil)
	if err == nil {
		reply.Close()
	}
	for name, want := range map[string]string{
		"X-Team": "red", "X-More": "blue", "X-Mine": "mine", "Authorization": "",
		"X-Api-Key": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q (%v)", name, got.Get(name), want, err)
		}
	}
}
