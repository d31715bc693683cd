package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

var defaults = config.Snapshots{Enabled: true, MaxMB: 100, MaxFileMB: 16, MaxFiles: 1000}

// seat is a session at a store, in a project of its own.
func seat(t *testing.T, set config.Snapshots) (*checkpoint.Folder, *checkpoint.Saver, *session.Session, string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	store := session.NewStore(filepath.Join(home, "data"))
	log, err := store.Create(t.Context(), session.Meta{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.AddUser(t.Context(), llm.UserText("go"), false, false); err != nil {
		t.Fatal(err)
	}
	f := checkpoint.New(set, store.ProjectDir(dir), git.New(sandbox.New()))
	t.Cleanup(func() { _, _ = f.Close(), log.Close() })
	s := f.Join(checkpoint.Saver{
		Dirs: func() []string { return []string{dir} }, Background: func() int { return 0 }, Publish: func(event.Body) {},
		Main: func() *session.Session { return log },
	})
	return f, s, log, dir
}

func TestAnEditSavesItsFileAndACommandAllFiles(t *testing.T) {
	for name, accesses := range map[string]func(dir string) []permission.Access{
		"edit": func(dir string) []permission.Access {
			return []permission.Access{{Kind: permission.Read, Target: dir + "/a"}, {
				Kind: permission.Write, Target: dir + "/a",
				Node: permission.File,
			}}
		},
		"command": func(string) []permission.Access { return []permission.Access{{Kind: permission.Exec, Target: "make"}} },
		"unknown": func(string) []permission.Access { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f, s, log, dir := seat(t, defaults)
			for _, name := range []string{"a", "b"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("before"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			after, err := s.Before(context.Background(), &agent.Plan{Title: "change", Accesses: accesses(dir)})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("changed"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			after()
			list, err := snapshot.History{Store: f.Store(), Sessions: []string{log.ID()}}.Steps()
			if err != nil || len(list) != 1 || list[0].Message != log.LastUser() || list[0].Title != "change" {
				t.Fatalf("%+v %v", list, err)
			}
			want := 2
			if name == "edit" {
				want = 1
			}
			if got := list[0].Changes(); len(got) != want {
				t.Errorf("changes: %+v", got)
			}
		})
	}
}

func TestNothingIsKeptWhereTheSettingsSaySo(t *testing.T) {
	set := defaults
	set.Enabled = false
	f, s, _, dir := seat(t, set)
	if after, err := s.Before(context.Background(), &agent.Plan{}); after != nil || err != nil || f.Store() != nil {
		t.Errorf("%v %v", after != nil, err)
	}
	if _, err := os.Stat(checkpoint.StoreDir(filepath.Dir(dir))); err == nil {
		t.Error("a store was made")
	}
}

func TestUndoBringsBackTheFilesOfACall(t *testing.T) {
	f, s, log, dir := seat(t, defaults)
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := s.Before(context.Background(), &agent.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	after()
	plan, err := snapshot.History{Store: f.Store(), Sessions: []string{log.ID()}}.Undo(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(nil); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "before" {
		t.Errorf("%q %v", b, err)
	}
}
