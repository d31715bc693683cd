// Package cloud authorizes requests to the model services of Amazon, Google and Microsoft: signatures of Amazon's
// version 4, and tokens of OAuth. Credentials are found as the vendors' own programs find them, when the first request
// needs them, and are renewed before they expire and when they are refused.
//
// [AWS], [Google] and [Entra] each make a [llm.Prepare].
package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Options are what the search for credentials needs.
type Options struct {
	Getenv func(string) string
	HTTP   *http.Client
	Now    func() time.Time // nil means time.Now
	// Run runs a command line that the user's files of credentials name, and returns its output. nil: none is run.
	Run func(ctx context.Context, line string) ([]byte, error)

	// For tests: addresses that take the place of the vendors' own.
	STS, SSO, Metadata, Login string
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// home returns a file below the home folder.
func (o *Options) home(parts ...string) string {
	dir := o.Getenv("HOME")
	if dir == "" {
		dir = o.Getenv("USERPROFILE")
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}

// early is how long before their end credentials are renewed.
const early = 2 * time.Minute

// cached keeps a value until shortly before it expires. Concurrent callers share one search.
type cached[T any] struct {
	mu      sync.Mutex
	value   T
	until   time.Time // zero: it does not expire
	present bool
}

func (c *cached[T]) get(now time.Time, refused bool, find func() (T, time.Time, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present && !refused && (c.until.IsZero() || now.Before(c.until.Add(-early))) {
		return c.value, nil
	}
	v, until, err := find()
	if err != nil {
		return v, err
	}
	c.value, c.until, c.present = v, until, true
	return v, nil
}

// mostAnswer bounds the answers of token services.
const mostAnswer = 1 << 20

// fetch sends a request of a token service and returns the body of its answer.
func (o *Options) fetch(ctx context.Context, method, address string, header map[string]string, body string) ([]byte,
	error,
) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	client := o.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d: %s", req.URL.Host, resp.StatusCode, llm.Clean(string(b)))
	}
	return b, nil
}

// token is an answer of an OAuth token endpoint.
type token struct {
	Access  string      `json:"access_token"`
	Expires json.Number `json:"expires_in"`
}

// oauth requests a token with a form.
func (o *Options) oauth(ctx context.Context, address string, form url.Values) (string, time.Time, error) {
	b, err := o.fetch(ctx, http.MethodPost, address,
		map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode())
	if err != nil {
		return "", time.Time{}, err
	}
	return o.token(b)
}

func (o *Options) token(b []byte) (string, time.Time, error) {
	var t token
	if err := json.Unmarshal(b, &t); err != nil || t.Access == "" {
		return "", time.Time{}, fmt.Errorf("the answer has no access token: %s", llm.Clean(string(b)))
	}
	seconds, err := t.Expires.Int64()
	if err != nil {
		seconds = 600
	}
	return t.Access, o.now().Add(time.Duration(seconds) * time.Second), nil
}

// bearer makes a Prepare that sets a token.
func bearer(o Options, find func(context.Context) (string, time.Time, error)) llm.Prepare {
	var c cached[string]
	return func(ctx context.Context, out *llm.Outgoing) error {
		t, err := c.get(o.now(), out.Refused != nil, func() (string, time.Time, error) { return find(ctx) })
		if err != nil {
			return err
		}
		out.Header.Set("Authorization", "Bearer "+t)
		return nil
	}
}
