package llm

import (
	"context"
	"net/http"
	"strings"
)

type headersKey struct{}

// WithHeaders returns a context whose requests have more headers, in addition to those of the contexts above it.
// Headers that a wire sets stay as they are, and those that carry credentials or belong to the connection are left out.
func WithHeaders(ctx context.Context, h http.Header) context.Context {
	all, _ := ctx.Value(headersKey{}).(http.Header)
	all = all.Clone()
	if all == nil {
		all = http.Header{}
	}
	for name, values := range h {
		if !reserved(name) {
			all[http.CanonicalHeaderKey(name)] = values
		}
	}
	return context.WithValue(ctx, headersKey{}, all)
}

// addHeaders adds the headers of a context to those of a request.
func addHeaders(ctx context.Context, to http.Header) {
	h, _ := ctx.Value(headersKey{}).(http.Header)
	for name, values := range h {
		if _, taken := to[name]; !taken {
			to[name] = values
		}
	}
}

// reserved reports headers of credentials and of the connection, and names or values that are none.
func reserved(name string) bool {
	lower := strings.ToLower(name)
	for _, r := range lower {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_", r) {
			return true
		}
	}
	switch lower {
	case "", "host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te",
		"trailer", "upgrade",
		"accept-encoding", "cookie", "expect", "proxy-authorization", "proxy-connection":
		return true
	}
	for _, part := range []string{"authorization", "api-key", "apikey", "token", "x-amz-"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}
