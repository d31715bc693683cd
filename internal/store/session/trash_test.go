package session_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func keptSession(t *testing.T, store *session.Store, dir, text string) string {
	t.Helper()
	s, err := store.Create(t.Context(), session.Meta{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.AddUser(t.Context(), llm.UserText(text), false, false), s.Close()); err != nil {
		t.Fatal(err)
	}
	return s.ID()
}

func listed(t *testing.T, store *session.Store, dir string) (ids []string) {
	t.Helper()
	for info, err := range store.List(dir) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

func TestATrashedSessionComesBack(t *testing.T) {
	dir := t.TempDir()
	store := session.NewStore(t.TempDir())
	id := keptSession(t, store, dir, "keep me")
	if err := store.Trash(id); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, store, dir); len(got) != 0 {
		t.Errorf("still listed: %v", got)
	}
	if n, err := store.EmptyTrash(time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("emptied %d, %v", n, err)
	}
	if err := store.Restore(id); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, store, dir); len(got) != 1 || got[0] != id {
		t.Errorf("listed: %v", got)
	}
	if err := store.Restore(id); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("restored twice: %v", err)
	}
}

func TestTheTrashIsEmptiedByAge(t *testing.T) {
	store := session.NewStore(t.TempDir())
	id := keptSession(t, store, t.TempDir(), "old")
	if err := store.Trash(id); err != nil {
		t.Fatal(err)
	}
	if n, err := store.EmptyTrash(time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("emptied %d, %v", n, err)
	}
	if err := store.Restore(id); err == nil {
		t.Error("it came back")
	}
}

func TestAnOpenSessionIsNotTrashed(t *testing.T) {
	store := session.NewStore(t.TempDir())
	s, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var held *session.LockedError
	if err := store.Trash(s.ID()); !errors.As(err, &held) {
		t.Errorf("%v", err)
	}
}
