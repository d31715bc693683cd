package tool_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBlobsWithoutASessionGoToATemporaryFolder(t *testing.T) {
	b := newBench(t)
	t.Setenv("TMPDIR", t.TempDir())
	path, err := b.env.SaveBlob(t.Context(), "../out.txt", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "x" || filepath.Base(path) != "out.txt" {
		t.Errorf("%s: %q, %v", path, data, err)
	}
}

func TestSearchesAreNotStale(t *testing.T) {
	for name, change := range map[string]func(b *bench, outside string){
		"a command that writes outside its folder": func(b *bench, outside string) {
			b.must("Bash", in{"command": "echo needle > " + outside + "/new.txt"})
		},
		"a command in the background": func(b *bench, outside string) {
			r, err := b.call("Bash", in{"command": "sleep 600", "run_in_background": true})
			if err != nil {
				b.t.Fatal(err)
			}
			b.must("Grep", in{"pattern": "needle", "path": outside})
			putAt(b, outside)
			b.t.Cleanup(func() { b.must("TaskStop", in{"task_id": r.Meta["backgroundTaskId"]}) })
		},
		"the user, before a message": func(b *bench, outside string) {
			putAt(b, outside)
			b.env.Cache.InvalidateSearches()
		},
		"the user, and a Read that sees it": func(b *bench, outside string) {
			b.put("seen.txt", "one\n")
			b.must("Read", in{"file_path": "seen.txt"})
			b.must("Glob", in{"pattern": "*.txt", "path": outside})
			putAt(b, outside)
			b.put("seen.txt", "another\n")
			b.must("Read", in{"file_path": "seen.txt"})
		},
		"the user, with directoryTtlMs 0": func(b *bench, outside string) {
			b.env.Cache.Configure(true, 0, 0)
			b.must("Grep", in{"pattern": "needle", "path": outside})
			putAt(b, outside)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			outside, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			b.must("Grep", in{"pattern": "needle", "path": outside})
			b.must("Glob", in{"pattern": "*.txt", "path": outside})
			change(b, outside)
			wantIn(t, b.must("Grep", in{"pattern": "needle", "path": outside}), "new.txt")
			wantIn(t, b.must("Glob", in{"pattern": "*.txt", "path": outside}), "new.txt")
		})
	}
}

func putAt(b *bench, dir string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), []byte("needle\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
}
