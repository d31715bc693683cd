package server

import (
	"cmp"
	"context"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// Connect connects the principal of a page's request to a session, whose process is started if it has none.
func (s *Server) Connect(ctx context.Context, id string) (*port.Stay, error) {
	who, ok := From(ctx)
	if !ok || !who.May(Read) {
		return nil, lacks(Read)
	}
	return s.reach(ctx, who, id)
}

// AsUser is the context of the user at the machine itself, for what the server does by itself.
func AsUser(ctx context.Context) context.Context {
	return context.WithValue(ctx, principalKey{}, Principal{Local: true, key: "user"})
}

// Follow calls changed with each session that has a process, and then with each that changes, until ctx ends or the
// principal of ctx is revoked.
func (s *Server) Follow(ctx context.Context, changed func(x Session, removed bool)) {
	who, ok := From(ctx)
	if !ok || !who.May(Read) {
		return
	}
	c, leave := s.hub.join()
	defer leave()
	for _, j := range c.jobs {
		if j.Live() {
			changed(fromJob(j), false)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		if !who.Local && !s.devices.has(who.ID) {
			return
		}
		for _, j := range c.take() {
			if j.CWD == "" {
				changed(Session{ID: cmp.Or(j.SessionID, j.ID)}, true)
			} else {
				changed(fromJob(j), false)
			}
		}
	}
}

// Has reports whether a device was not revoked.
func (s *Server) Has(device string) bool { return device == "" || s.devices.has(device) }

// Code begins a pairing of a device with these scopes, for the process of the server itself.
func (s *Server) Code(scopes ...Scope) string { return s.pairings.begin(Device{Scopes: scopes}).Code }
