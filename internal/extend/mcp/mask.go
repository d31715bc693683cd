package mcp

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// hiddenFrom is the length from which a value that was filled in counts as a secret: shorter ones occur in texts by
// chance.
const hiddenFrom = 6

// hidden are the values that an entry's variables, its headers and a login put into what is sent to a server. Texts
// about the server, which go to the user, the model and the log, name them as the entry does.
type hidden struct {
	mu    sync.Mutex
	pairs []string // value, name, and so on; longer values first
}

// add hides a value, also as a part of an address.
func (h *hidden) add(value, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
		if len(form) < hiddenFrom || h.has(form) {
			continue
		}
		at := 0
		for at < len(h.pairs) && len(h.pairs[at]) >= len(form) {
			at += 2
		}
		h.pairs = slices.Insert(slices.Clone(h.pairs), at, form, name) // a reader may have the old ones
	}
}

func (h *hidden) has(value string) bool {
	for i := 0; i < len(h.pairs); i += 2 {
		if h.pairs[i] == value {
			return true
		}
	}
	return false
}

// replace hides a value instead of those that had the name before.
func (h *hidden) replace(value, name string) {
	h.mu.Lock()
	var kept []string
	for i := 0; i < len(h.pairs); i += 2 {
		if h.pairs[i+1] != name {
			kept = append(kept, h.pairs[i], h.pairs[i+1])
		}
	}
	h.pairs = kept
	h.mu.Unlock()
	h.add(value, name)
}

// addHeaders hides the values of headers that carry credentials, without the name of the scheme.
func (h *hidden) addHeaders(headers http.Header) {
	for name := range headers {
		low := strings.ToLower(name)
		if !slices.ContainsFunc([]string{"auth", "key", "token", "secret", "cookie", "pass", "session"},
			func(word string) bool { return strings.Contains(low, word) }) {
			continue
		}
		secret := headers.Get(name)
		if _, rest, ok := strings.Cut(secret, " "); ok && strings.Contains(low, "auth") {
			secret = rest
		}
		h.replace(secret, "[the header "+name+"]")
	}
}

func (h *hidden) mask(text string) string {
	h.mu.Lock()
	pairs := h.pairs
	h.mu.Unlock()
	if len(pairs) == 0 || text == "" {
		return text
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// maskedError is an error whose text hides values.
type maskedError struct {
	error
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.error }

// plain is err without the values that were filled in.
func (h *hidden) plain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if masked := h.mask(text); masked != text {
		return &maskedError{err, masked}
	}
	return err
}
