package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/remote"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

const helperTimeout = 10 * time.Second

// remote makes the transport to a server over HTTP.
func (v *server) remote(ctx context.Context) (jsonrpc.Transport, error) {
	o := remote.Options{URL: v.entry.URL, Headers: v.headers(), Note: v.log.note}
	if v.entry.Type == entry.SSE {
		return remote.NewSSE(ctx, o)
	}
	return remote.NewStreamable(o), nil
}

// headers returns the headers of requests. Those of the helper are kept for a connection, until the server refuses
// them; the token of a login is added where the entry gives no Authorization of its own.
func (v *server) headers() func(context.Context, *remote.AuthError) (http.Header, error) {
	fixed := http.Header{}
	for name, value := range v.entry.Headers {
		fixed.Set(name, value)
	}
	v.hidden.addHeaders(fixed)
	own := v.ownHeaders(fixed)
	auth := v.auth()
	if auth == nil {
		return own
	}
	var mu sync.Mutex
	sent := ""
	return func(ctx context.Context, refused *remote.AuthError) (http.Header, error) {
		h, err := own(ctx, refused)
		if err != nil || h.Get("Authorization") != "" {
			return h, err
		}
		mu.Lock()
		defer mu.Unlock()
		if refused != nil {
			if err := v.refused(ctx, auth, sent, refused); err != nil {
				return nil, err
			}
		}
		if sent, err = auth.Token(ctx); err != nil {
			return nil, v.needsLogin(err)
		}
		if sent != "" {
			v.hidden.replace(sent, "[the token]")
			h = h.Clone()
			h.Set("Authorization", "Bearer "+sent)
		}
		return h, nil
	}
}

// ownHeaders are those of the entry and its helper.
func (v *server) ownHeaders(fixed http.Header) func(context.Context, *remote.AuthError) (http.Header, error) {
	if v.entry.HeadersHelper == "" {
		return func(context.Context, *remote.AuthError) (http.Header, error) { return fixed, nil }
	}
	var mu sync.Mutex
	var kept http.Header
	return func(ctx context.Context, refused *remote.AuthError) (http.Header, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil && refused == nil {
			return kept, nil
		}
		h, err := v.runHelper(ctx, fixed.Clone())
		if err == nil {
			kept = h
			v.hidden.addHeaders(h)
		}
		return h, err
	}
}

// runHelper adds the headers that the helper prints as a JSON object.
func (v *server) runHelper(ctx context.Context, h http.Header) (http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helperTimeout, fmt.Errorf("it took longer than %s", helperTimeout))
	defer cancel()
	o := &v.set.o
	clean := o.Clean
	clean.Set = map[string]string{
		"CLAUDE_PROJECT_DIR": o.Root, "CLAUDE_CODE_MCP_SERVER_NAME": v.entry.Name,
		"CLAUDE_CODE_MCP_SERVER_URL": v.entry.URL,
	}
	clean.ScrubCredentials = clean.ScrubCredentials || v.entry.Foreign()
	confined, done, err := v.confine()
	if err != nil {
		return nil, err
	}
	defer done()
	var out limited
	exit, err := o.Runner.Run(ctx, sandbox.Spec{
		Confine: confined, Argv: shell(v.entry.HeadersHelper),
		Dir: cmp.Or(v.entry.Base, o.Dir), Env: sandbox.CleanEnv(o.Environ(), clean), Stdout: &out, Stderr: v.log,
	})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("it ended with exit code %d", exit.Code)
	}
	var more map[string]string
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &more)
	}
	if err != nil {
		return nil, fmt.Errorf("the headersHelper of %s: %w; it must print a JSON object of headers", v.entry.Name, err)
	}
	for name, value := range more {
		h.Set(name, value)
	}
	return h, nil
}

// shell runs a command line of the user's.
func shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", line}
	}
	return []string{"/bin/sh", "-c", line}
}

// limited keeps the first 64 kB.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	_, err := l.Buffer.Write(p[:min(len(p), max(0, 64<<10-l.Len()))])
	return len(p), err
}
