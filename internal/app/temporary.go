package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/lathe-dev/lathe/internal/session"
)

// openLog opens the record of a conversation. Where the data folder cannot be written, and where the user wants
// nothing kept, the record is in memory and gone when the instance is closed. The note reports the former case.
func (i *Instance) openLog(ctx context.Context, o SessionOptions) (log *session.Session, note string, err error) {
	if !i.opts.NoPersistence {
		log, err = openIn(ctx, i.store, i, o)
		var path *fs.PathError
		if err == nil || !errors.As(err, &path) || errors.Is(err, fs.ErrExist) {
			return log, "", err
		}
		note = fmt.Sprintf("this session is not kept: %v", err)
	}
	store, failed := i.temporaryStore(o.Resume)
	if failed != nil {
		return nil, "", errors.Join(err, failed)
	}
	log, failed = openIn(ctx, store, i, o)
	if failed != nil {
		return nil, "", errors.Join(err, failed)
	}
	return log, note, nil
}

// openIn opens a new session of a store, an old one, or a copy of an old one.
func openIn(ctx context.Context, store *session.Store, i *Instance, o SessionOptions) (*session.Session, error) {
	switch {
	case o.Resume == "":
		return store.Create(ctx, o.meta(i))
	case o.Fork:
		return store.ForkAs(ctx, o.Resume, "", o.ID)
	}
	return store.Open(ctx, o.Resume)
}

// temporaryStore is the store of sessions that are not kept, with a copy of the session to resume, if one is named.
func (i *Instance) temporaryStore(resume string) (*session.Store, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.temporary == nil {
		store, err := session.Temporary()
		if err != nil {
			return nil, fmt.Errorf("there is no place for a session that is not kept: %w", err)
		}
		i.temporary = store
	}
	if resume != "" {
		if err := i.temporary.Borrow(i.store, resume); err != nil {
			return nil, err
		}
	}
	return i.temporary, nil
}

// discardTemporary removes the temporary store.
func (i *Instance) discardTemporary() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.temporary == nil {
		return nil
	}
	store := i.temporary
	i.temporary = nil
	return store.Discard()
}
