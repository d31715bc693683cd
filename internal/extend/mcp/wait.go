package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/remote"
)

const (
	knowTimeout = 5 * time.Second // of the wait for a server that is not known; MCP_TIMEOUT
	sayAfter    = time.Second     // that a run waits
)

// Wait starts the servers whose tools are not known and waits for them, in the first call of it. It gives each 5
// seconds, or what startupTimeout and MCP_TIMEOUT say; where MCP_CONNECTION_NONBLOCKING is 0, until its start ends. say
// is told whom a long wait is for, from another goroutine, and warn of each server that is left out. Both are told
// foreign text.
func (s *Set) Wait(ctx context.Context, say, warn func(text string)) {
	if s == nil || s.Load() != nil {
		return
	}
	s.waited.Do(func() {
		var unknown []*server
		for _, v := range s.list() {
			if !v.isKnown() {
				unknown = append(unknown, v)
			}
		}
		timer := time.AfterFunc(sayAfter, func() { say(waitingFor(unknown)) })
		defer timer.Stop()
		for _, text := range awaitAll(ctx, unknown) {
			if text != "" && ctx.Err() == nil {
				warn(text)
			}
		}
	})
}

func waitingFor(servers []*server) string {
	var names []string
	for _, v := range servers {
		v.mu.Lock()
		if v.starting != nil {
			names = append(names, v.entry.Name)
		}
		v.mu.Unlock()
	}
	return "waiting for " + strings.Join(names, ", ") + " (MCP: their tools are not known yet)"
}

// awaitAll returns why servers are left out; empty texts are of those that answered.
func awaitAll(ctx context.Context, servers []*server) []string {
	left := make([]string, len(servers))
	var wg sync.WaitGroup
	for i, v := range servers {
		wg.Go(func() { left[i] = v.await(ctx) })
	}
	wg.Wait()
	return left
}

func (v *server) await(ctx context.Context) string {
	patient := v.set.variable("MCP_CONNECTION_NONBLOCKING") == "0"
	if limit := v.limit(knowTimeout); !patient && limit < v.limit(startTimeout) {
		late := fmt.Errorf("the MCP server %s did not answer within %s; MCP_TIMEOUT sets the time in milliseconds",
			v.entry.Name, limit)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
	}
	_, err := v.connect(ctx)
	if err == nil || errors.Is(err, errDisabled) {
		return ""
	}
	text := err.Error() + "; the run goes on without it"
	if _, ok := errors.AsType[*remote.AuthError](err); ok {
		return text // which says what the user can do
	}
	return text + ". To see why: lathe mcp test " + v.entry.ID()
}

// limit is the time that the entry or MCP_TIMEOUT give the server for its start.
func (v *server) limit(otherwise time.Duration) time.Duration {
	if ms, err := strconv.Atoi(v.set.variable("MCP_TIMEOUT")); err == nil && ms > 0 {
		otherwise = time.Duration(ms) * time.Millisecond
	}
	return entry.Timeout(v.entry.StartMs, otherwise)
}
