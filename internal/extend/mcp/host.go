package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// hostTransport reaches a server in the process of the host that drives lathe.
type hostTransport struct {
	name string
	send func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)
	in   chan json.RawMessage
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
	gate sync.Mutex
}

// host makes the transport to a server of the host.
func (v *server) host() (jsonrpc.Transport, error) {
	if v.set.o.Host == nil {
		return nil, fmt.Errorf("a server of an SDK needs the host that declares it, with --input-format stream-json")
	}
	t := &hostTransport{name: v.entry.Name, send: v.set.o.Host, in: make(chan json.RawMessage)}
	t.life, t.end = context.WithCancel(v.set.life)
	v.mu.Lock()
	v.inbox = t
	v.mu.Unlock()
	return t, nil
}

// Send hands a message to the host. The answer to a request comes by Receive.
func (t *hostTransport) Send(_ context.Context, message []byte) error {
	t.gate.Lock()
	defer t.gate.Unlock()
	if t.life.Err() != nil {
		return jsonrpc.ErrClosed
	}
	message = bytes.Clone(message)
	t.work.Go(func() {
		answer, err := t.send(t.life, t.name, message)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(message, &m) != nil || len(m.ID) == 0 || m.Method == "" {
			return // a notification has no answer
		}
		if err != nil {
			// plain values
			answer, _ = json.Marshal(map[string]any{
				"jsonrpc": "2.0", "id": m.ID,
				"error": map[string]any{"code": jsonrpc.Internal, "message": err.Error()},
			})
		}
		t.put(answer)
	})
	return nil
}

func (t *hostTransport) put(message json.RawMessage) {
	select {
	case t.in <- message:
	case <-t.life.Done():
	}
}

// Receive returns the next message of the host.
func (t *hostTransport) Receive() ([]byte, error) {
	select {
	case m := <-t.in:
		return m, nil
	case <-t.life.Done():
		return nil, jsonrpc.ErrClosed
	}
}

// Close ends the transport.
func (t *hostTransport) Close() error {
	t.gate.Lock()
	t.end()
	t.gate.Unlock()
	t.work.Wait()
	return nil
}

// HostMessage takes a message that a server of the host sends by itself.
func (s *Set) HostMessage(name string, message json.RawMessage) error {
	v := s.find(name)
	if v == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	v.mu.Lock()
	t := v.inbox
	v.mu.Unlock()
	if t == nil {
		return fmt.Errorf("the MCP server %q is not connected", name)
	}
	t.put(message)
	return nil
}

// SetServers replaces the servers that an earlier call of it added, and those in the host's process, by those of an
// object by name, and starts them. A server of another origin with the same name makes room.
func (s *Set) SetServers(ctx context.Context, servers map[string]json.RawMessage) (added, removed []string,
	faults map[string]string,
) {
	_ = s.Load() // reported before the first step
	faults = map[string]string{}
	places := s.o.Places()
	var next []entry.Entry
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		e, err := places.Parse(name, servers[name], entry.Flag)
		if err != nil {
			faults[name] = err.Error()
			continue
		}
		next = append(next, e)
	}
	allowed, refused, _ := places.Policy.Apply(next, nil)
	for _, why := range refused {
		faults[""] = why
	}
	gone := s.replace(allowed, &added)
	for _, v := range gone {
		v.shut()
		if !slices.Contains(added, v.entry.Name) {
			removed = append(removed, v.entry.Name)
		}
	}
	s.version.Add(1)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, name := range added {
		v := s.find(name)
		wg.Go(func() {
			if _, err := v.connect(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults[v.entry.Name] = err.Error()
			}
		})
	}
	wg.Wait()
	return added, removed, faults
}

// replace puts the entries in the place of those that were set before, and returns the servers that are gone.
func (s *Set) replace(entries []entry.Entry, added *[]string) (gone []*server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[string]string{}
	for _, e := range entries {
		wanted[e.Name] = e.Sum()
	}
	s.servers = slices.DeleteFunc(s.servers, func(v *server) bool {
		sum, named := wanted[v.entry.Name]
		if named && (v.dynamic || v.entry.Type == entry.SDK) && sum == v.entry.Sum() {
			v.dynamic = true
			delete(wanted, v.entry.Name) // it stays
			return false
		}
		if v.dynamic || named || v.entry.Type == entry.SDK {
			gone = append(gone, v)
			return true
		}
		return false
	})
	for _, e := range entries {
		if _, ok := wanted[e.Name]; ok {
			v := s.newServer(e)
			v.dynamic = true
			s.servers = append(s.servers, v)
			*added = append(*added, e.Name)
		}
	}
	slices.SortFunc(s.servers, func(a, b *server) int { return strings.Compare(a.entry.Name, b.entry.Name) })
	return gone
}

// Resource reads a resource of a server for the host, which shows it to people.
func (s *Set) Resource(ctx context.Context, name, uri string) ([]client.ResourceContent, error) {
	v := s.find(name)
	if v == nil {
		return nil, fmt.Errorf("there is no MCP server %q", name)
	}
	c, err := v.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.ReadResource(ctx, uri)
}

// StartAll starts the servers that wait for their first use, beside the caller: a host that looks at their state wants
// to see them connected.
func (s *Set) StartAll() {
	_ = s.Load() // reported before the first step
	for _, v := range s.list() {
		if v.status().State == Pending {
			s.spawn(func() { s.start(v) })
		}
	}
}

// CallRaw calls a tool by its full name without asking anybody, and returns the text of its result. It is for tools
// that the user appointed, such as the one that decides on permissions.
func (s *Set) CallRaw(ctx context.Context, name string, input json.RawMessage) (string, error) {
	_ = s.Load() // reported before the first step
	rest := strings.TrimPrefix(name, Prefix)
	server, _, _ := strings.Cut(rest, "__")
	v := s.find(server)
	if v == nil {
		return "", fmt.Errorf("there is no MCP server %q", server)
	}
	if _, err := v.connect(ctx); err != nil {
		return "", err
	}
	v.mu.Lock()
	at := slices.IndexFunc(v.listed, func(l *listed) bool { return l.spec.Name == name })
	tool := ""
	if at >= 0 {
		tool = v.listed[at].tool.Name
	}
	v.mu.Unlock()
	if at < 0 {
		return "", fmt.Errorf("the MCP server %s has no tool %s", server, name)
	}
	r, err := v.call(ctx, tool, input, func(jsonrpc.Progress) {})
	if err != nil {
		return "", err
	}
	var text []string
	for _, c := range r.Content {
		text = append(text, c.Text)
	}
	if r.IsError {
		return "", fmt.Errorf("the tool %s failed: %s", name, strings.Join(text, "\n"))
	}
	return strings.Join(text, "\n"), nil
}
