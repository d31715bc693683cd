package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestOldBlobsAreRemovedAndLogsStay(t *testing.T) {
	store := session.NewStore(t.TempDir())
	make := func(open bool) (*session.Session, string) {
		s, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddUser(t.Context(), llm.UserText("hi"), false, false); err != nil {
			t.Fatal(err)
		}
		path, err := s.Blob(t.Context(), "out.txt", []byte("output"))
		if err != nil {
			t.Fatal(err)
		}
		if !open {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return s, path
	}
	old, oldBlob := make(false)
	_, freshBlob := make(false)
	used, usedBlob := make(true)
	defer used.Close()
	month := time.Now().AddDate(0, -1, 0)
	for _, s := range []*session.Session{old, used} {
		if err := os.Chtimes(s.Path(), month, month); err != nil {
			t.Fatal(err)
		}
	}
	n, err := store.PruneBlobs(time.Now().AddDate(0, 0, -7))
	if err != nil || n != 1 {
		t.Fatalf("%d files removed, %v; want 1", n, err)
	}
	for path, want := range map[string]bool{
		oldBlob: false, freshBlob: true, usedBlob: true,
		filepath.Join(old.Folder(), "log.jsonl"): true,
	} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", path, err == nil, want)
		}
	}
	r, err := store.Verify(old.ID())
	if err != nil || !r.Pruned || len(r.Missing) > 0 {
		t.Errorf("%+v, %v: blobs that were removed on purpose are no damage", r, err)
	}
}
