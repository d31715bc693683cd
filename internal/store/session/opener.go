package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// Opener opens sessions of a store. Where the store cannot be written, and where nothing is to be kept, a session is
// in memory and gone when the opener is closed.
type Opener struct {
	Store       *Store
	KeepNothing bool

	mu        sync.Mutex
	temporary *Store // once there is one
}

// Wanted is the session to open.
type Wanted struct {
	New    Meta   // of a new one; its ID is also that of a copy
	Resume string // the id of an old one; empty: a new one
	Fork   bool   // a copy of the old one
}

// Open opens a session. The note is for the user: the session is not kept, against the settings.
func (o *Opener) Open(ctx context.Context, w Wanted) (s *Session, note string, err error) {
	if !o.KeepNothing {
		s, err = w.in(ctx, o.Store)
		var path *fs.PathError
		if err == nil || !errors.As(err, &path) || errors.Is(err, fs.ErrExist) {
			return s, "", err
		}
		note = fmt.Sprintf("this session is not kept: %v", err)
	}
	store, failed := o.inMemory(w.Resume)
	if failed != nil {
		return nil, "", errors.Join(err, failed)
	}
	s, failed = w.in(ctx, store)
	if failed != nil {
		return nil, "", errors.Join(err, failed)
	}
	return s, note, nil
}

// KindOf returns the kind of a subagent that another session started. The error says that there is no such agent.
func (o *Opener) KindOf(id, parent string) (string, error) {
	info, err := o.info(id)
	switch {
	case err != nil:
		return "", fmt.Errorf("there is no agent %q: %w", id, err)
	case info.Agent == "" || info.Parent != parent:
		return "", fmt.Errorf("%q is no agent that this session started", id)
	}
	return info.Agent, nil
}

// info describes a session that this opener can open.
func (o *Opener) info(id string) (Info, error) {
	o.mu.Lock()
	store := o.temporary
	o.mu.Unlock()
	if store != nil {
		if s, err := store.OpenReadOnly(id); err == nil {
			return s.Info(), s.Close()
		}
	}
	s, err := o.Store.OpenReadOnly(id)
	if err != nil {
		return Info{}, err
	}
	return s.Info(), s.Close()
}

// in opens the session in a store.
func (w Wanted) in(ctx context.Context, store *Store) (*Session, error) {
	switch {
	case w.Resume == "":
		return store.Create(ctx, w.New)
	case w.Fork:
		return store.ForkAs(ctx, w.Resume, "", w.New.ID)
	}
	return store.Open(ctx, w.Resume)
}

// inMemory is the store of sessions that are not kept, with a copy of the session to resume, if one is named.
func (o *Opener) inMemory(resume string) (*Store, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.temporary == nil {
		store, err := Temporary()
		if err != nil {
			return nil, fmt.Errorf("there is no place for a session that is not kept: %w", err)
		}
		o.temporary = store
	}
	if resume != "" {
		if err := o.temporary.Borrow(o.Store, resume); err != nil {
			return nil, err
		}
	}
	return o.temporary, nil
}

// Close removes the sessions that are not kept.
func (o *Opener) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.temporary == nil {
		return nil
	}
	store := o.temporary
	o.temporary = nil
	return store.Discard()
}
