package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/lathe-dev/lathe/internal/session"
)

// openLog opens the record of a conversation. Where the data folder cannot be written, and where the user wants
// nothing kept, the record is in memory and gone when the instance is closed. The note tells of the former.
func (i *Instance) openLog(ctx context.Context, o SessionOptions) (log *session.Session, note string, err error) {
	if !i.opts.NoPersistence {
		log, err = openIn(ctx, i.store, i, o)
		var path *fs.PathError
		if err == nil || !errors.As(err, &path) || errors.Is(err, fs.ErrExist) {
			return log, "", err
		}
		note = fmt.Sprintf("this session is not kept: %v", err)
	}
	store, failed := i.passing(o.Resume)
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

// passing is the store for what is not kept, with a copy of an old session to go on with, if one is named.
func (i *Instance) passing(resume string) (*session.Store, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.memory == "" {
		dir, err := memoryDir()
		if err != nil {
			return nil, fmt.Errorf("there is no place for a session that is not kept: %w", err)
		}
		i.memory = dir
	}
	if resume != "" {
		if err := i.copySession(resume); err != nil {
			return nil, err
		}
	}
	return session.NewStore(i.memory), nil
}

// copySession copies a session into memory, once.
func (i *Instance) copySession(id string) error {
	old, err := i.store.OpenReadOnly(id)
	if err != nil {
		return err
	}
	from := old.Folder()
	if err := old.Close(); err != nil {
		return err
	}
	to := filepath.Join(i.memory, "projects", filepath.Base(filepath.Dir(from)), filepath.Base(from))
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// memoryDir makes a folder of lathe's own that is in memory where the system has such a place (Linux: a tmpfs at
// /dev/shm), else in the folder for temporary files.
func memoryDir() (string, error) {
	if runtime.GOOS == "linux" {
		if dir, err := os.MkdirTemp("/dev/shm", "lathe-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "lathe-")
}

// forget removes what is not kept.
func (i *Instance) forget() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.memory == "" {
		return nil
	}
	dir := i.memory
	i.memory = ""
	return os.RemoveAll(dir)
}
