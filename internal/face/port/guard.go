package port

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
)

// guarded is the session as one face may use it: what it sends carries its principal, and its answers are limited.
type guarded struct {
	Session
	server *Server
	face   Face
}

// For returns the session as a face may use it.
func (s *Server) For(f Face) Session { return &guarded{s.Session, s, f} }

// Prompt notes who sent it.
func (g *guarded) Prompt(ctx context.Context, p Prompt) (Receipt, error) {
	if p.From = g.face.Principal; p.ID == "" {
		p.ID = uuid.NewString()
	}
	g.server.author(p)
	return g.Session.Prompt(ctx, p)
}

// author notes who sent a prompt first.
func (s *Server) author(p Prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.authors == nil {
		s.authors = map[string]string{}
	}
	if _, known := s.authors[p.ID]; !known {
		s.authors[p.ID] = p.From
	}
}

// Command notes who gave it.
func (g *guarded) Command(ctx context.Context, c Command) (event.Output, error) {
	c.From = g.face.Principal
	return g.Session.Command(ctx, c)
}

// Answer answers a question if the face may.
func (g *guarded) Answer(ctx context.Context, a Answer) error {
	a.From = g.face.Principal
	if g.face.Answers == "" && !g.face.Remote {
		return g.Session.Answer(ctx, a)
	}
	now, err := g.Read(ctx, ReadRequest{What: "questions"})
	if err != nil {
		return err
	}
	for _, e := range now.Questions {
		if asked, ok := e.Body.(event.Asked); ok && asked.ID == a.ID && e.Session == a.Session {
			if err := g.may(asked.Question, now.State); err != nil {
				return err
			}
			return g.Session.Answer(ctx, a)
		}
	}
	return event.ErrNoQuestion
}

// may says why the face may not answer a question.
func (g *guarded) may(q event.Question, now *event.State) error {
	turn := ""
	if now != nil {
		turn = now.Turn
	}
	g.server.mu.Lock()
	author, known := g.server.authors[turn]
	g.server.mu.Unlock()
	switch {
	case g.face.Remote && q.Trust:
		return fmt.Errorf("%w: only a face on the machine itself trusts a folder", ErrRefused)
	case g.face.Answers == "none", g.face.Answers == "author" && (!known || author != g.face.Principal):
		return fmt.Errorf("%w: its answers are limited to %q", ErrRefused, g.face.Answers)
	case g.face.Answers == "", g.face.Answers == "author":
		return nil
	}
	return fmt.Errorf("%w: there is no policy %q for answers", ErrRefused, g.face.Answers)
}
