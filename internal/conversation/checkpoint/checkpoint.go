// Package checkpoint has the loop save files before each call that may change them: it decides from a call's accesses
// what to save, and says where in the conversation the call belongs.
//
// A [Folder] is an instance's, with the store of its project; [Saver] is a session's, and its Before is
// agent.Config.Snapshot.
//
// Promise: nothing is read or written before the first such call.
package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// Folder joins the sessions of one instance with the store of its project.
type Folder struct {
	store    *snapshot.Store // nil: nothing is kept
	journals string          // of changes of several files; empty: none are kept

	mu     sync.Mutex
	savers []*Saver
	unsaid []string // notes from before anybody listened
}

// StoreDir is the folder of a project's snapshots, below the project's folder of sessions.
func StoreDir(project string) string { return filepath.Join(project, "snapshots") }

// JournalDir is the folder of the journals of changes of several files, below the project's folder of sessions; empty
// where nothing is kept.
func JournalDir(project string) string {
	if project == "" {
		return ""
	}
	return filepath.Join(project, "changes")
}

// Options are those of a project's store, from the settings.
func Options(set config.Snapshots, project string) snapshot.Options {
	return snapshot.Options{
		Dir: StoreDir(project), Limit: int64(set.MaxMB) << 20, MaxFile: int64(set.MaxFileMB) << 20, MaxFiles: set.MaxFiles,
		Include:  set.Include,
		Patience: time.Duration(set.MaxWaitSeconds) * time.Second,
	}
}

// New makes the folder of an instance; project is the project's folder of sessions, empty when nothing is kept.
// g reads what git keeps of files, so that it is not copied.
func New(set config.Snapshots, project string, g *git.Git) *Folder {
	f := &Folder{journals: JournalDir(project)}
	if set.Enabled && project != "" {
		o := Options(set, project)
		o.Roots, o.Background, o.Note, o.Wait, o.Git = f.roots, f.background, f.note, f.announce, g
		f.store = snapshot.New(o)
	}
	return f
}

// Store is the store of the project; nil when nothing is kept.
func (f *Folder) Store() *snapshot.Store { return f.store }

// Close lets go of the store's files.
func (f *Folder) Close() error {
	if f.store == nil {
		return nil
	}
	return f.store.Close()
}

func (f *Folder) each() []*Saver {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.savers)
}

func (f *Folder) roots() []string {
	var out []string
	for _, s := range f.each() {
		for _, dir := range s.Dirs() {
			if !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}

func (f *Folder) background() bool {
	return slices.ContainsFunc(f.each(), func(s *Saver) bool { return s.Background() > 0 })
}

// note keeps a text for the user until a step begins, since nobody listens before.
func (f *Folder) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsaid = append(f.unsaid, text)
}

// announce shows a text in every session at once.
func (f *Folder) announce(text string) {
	for _, s := range f.each() {
		s.Publish(event.Notice{Level: "info", Text: text})
	}
}

func (f *Folder) takeNotes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.unsaid
	f.unsaid = nil
	return out
}

// Saver saves the files of one session.
type Saver struct {
	Dirs       func() []string // the working roots
	Background func() int      // commands that run beside the conversation
	Publish    func(event.Body)
	Main       func() *session.Session // the log of the main agent's session; nil: none is kept
	Chain      []string                // of the agent

	folder *Folder
}

// Join adds a session. An undo or a patch that was cut off is finished now; the next call that may change files
// announces it.
func (f *Folder) Join(s Saver) *Saver {
	s.folder = f
	if len(s.Chain) == 0 && f.journals != "" {
		note, err := transact.Recover(f.journals)
		if err != nil {
			note = fmt.Sprintf("A patch that was cut off could not be finished: %v", err)
		}
		if note != "" {
			f.note(note)
		}
	}
	// a subagent works in its parent's folders
	if log := s.Main(); f.store != nil && log != nil && !log.Temporary() && len(s.Chain) == 0 {
		f.mu.Lock()
		f.savers = append(f.savers, &s)
		f.mu.Unlock()
		if err := f.store.Recover(); err != nil {
			f.note(fmt.Sprintf("An undo that was cut off could not be finished: %v", err))
		}
	}
	return &s
}

// Before saves the files that a call may change; it is agent.Config.Snapshot. A full disk is a session.WriteError.
// Nothing is saved for a session that is not kept, as where the home folder cannot be written.
func (s *Saver) Before(ctx context.Context, plan *agent.Plan) (func(), error) {
	for _, text := range s.folder.takeNotes() {
		s.Publish(event.Notice{Level: "info", Text: text})
	}
	log := s.Main()
	if s.folder.store == nil || log == nil || log.Temporary() {
		return nil, nil
	}
	paths := named(plan)
	after, err := s.folder.store.Begin(ctx, snapshot.Where{
		Session: log.ID(), Message: log.LastUser(), Group: fmt.Sprintf("%d.%d", log.Revision(), log.Exchange()),
		Call: agent.CallID(ctx), Agent: strings.Join(s.Chain, " "), Title: plan.Title,
		Named: targets(plan.Accesses),
	}, paths)
	for _, text := range s.folder.takeNotes() {
		s.Publish(event.Notice{Level: "info", Text: text})
	}
	if full := (&session.WriteError{ID: log.ID(), Path: log.Path(), Err: err}); err != nil && full.Full() {
		return nil, full
	}
	if end := after; paths != nil && end != nil {
		after = func() { // a command is likely to follow an edit
			end()
			s.folder.store.Ahead()
		}
	}
	return after, err
}

// targets are the files and folders that accesses write.
func targets(list []permission.Access) []string {
	var out []string
	for _, a := range list {
		if a.Kind == permission.Write && filepath.IsAbs(a.Target) && a.Target != os.DevNull {
			out = append(out, a.Target)
		}
	}
	return out
}

// named lists the files that a call changes, when it changes no others; nil: it may change any.
func named(plan *agent.Plan) []string {
	var out []string
	for _, a := range plan.Accesses {
		switch {
		case a.Kind == permission.Read || a.Kind == permission.Tool && a.Safe:
		case a.Kind == permission.Write && filepath.IsAbs(a.Target) && a.Node != permission.Folder:
			out = append(out, a.Target)
		default:
			return nil
		}
	}
	return out
}
