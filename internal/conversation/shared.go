package conversation

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/transcript"
)

// The transcripts that other programs read, where Claude Code keeps its own: they are made from the log, which stays
// the truth. A name given there, a copy made there and a deletion there count when a session is opened.

// shares reports whether sessions have shared transcripts.
func (i *Instance) shares() bool {
	return (i.opts.Share || i.settings().ClaudeTranscripts) && !i.opts.NoPersistence
}

func (i *Instance) sharedPath(dir, main, agent string) string {
	return transcript.SharedPath(filepath.Join(i.paths.ClaudeHome, "projects"), dir, main, agent)
}

// share begins the shared transcript of the session.
func (s *Session) share(ctx context.Context) error {
	log := s.Log()
	if log == nil || log.Temporary() || !s.inst.shares() {
		return nil
	}
	main, agent, dir := s.outermost().Log(), "", log.Dir()
	if s.parent != nil {
		if main == nil {
			return nil
		}
		agent, dir = log.ID(), main.Dir()
	} else {
		main = log
	}
	shared, err := transcript.NewShared(log, main.ID(), s.inst.sharedPath(dir, main.ID(), agent))
	if err != nil {
		return err
	}
	shared.Wrote = s.inst.opts.Shared
	s.mirror = shared
	if title := shared.Title(); title != "" {
		return log.SetTitle(ctx, title)
	}
	return nil
}

// UpdateShared brings the shared transcript up to date, if there is one.
func (s *Session) UpdateShared() {
	if s.mirror == nil {
		return
	}
	if err := s.mirror.Update(); err != nil {
		s.mirrorFault.Do(func() { s.warn("the transcript for other programs is not up to date: " + err.Error()) })
	}
}

// Adopt makes what other programs did to the shared transcript of a session count: one that is only there becomes a
// session, and one that was deleted there goes to the trash.
func (i *Instance) Adopt(ctx context.Context, id string) error {
	if _, err := uuid.Parse(id); err != nil || !i.shares() {
		return nil
	}
	path := i.sharedPath(i.opts.Dir, id, "")
	log, err := i.Store().OpenReadOnly(id)
	if err == nil {
		folder := log.Folder()
		if err := log.Close(); err != nil || !transcript.Deleted(folder, path) {
			return err
		}
		return i.Store().Trash(id)
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return transcript.Import(ctx, i.Store(), session.Meta{Dir: i.opts.Dir, Version: i.opts.Version, ID: id}, path)
}
