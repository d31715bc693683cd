package snapshot_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// fill makes a project of n small files in folders of 20.
func (p *place) fill(n int) {
	p.t.Helper()
	for i := range n {
		dir := fmt.Sprintf("d%d/e%d/f%d", i/20%20, i/400%25, i/20)
		if i%20 == 0 {
			p.must(os.MkdirAll(p.path(dir), 0o755))
		}
		p.must(os.WriteFile(p.path(fmt.Sprintf("%s/file%d.go", dir, i%20)), fmt.Appendf(nil, "package x%d\n", i), 0o644))
	}
}

// BenchmarkBegin measures how long a step waits for its snapshot, in projects of several sizes in which one file
// changed since, beside git add -A with an index and objects of its own. LATHE_BENCH_FILES=200000 measures one more
// size.
func BenchmarkBegin(b *testing.B) {
	sizes := []int{1_000, 50_000}
	if os.Getenv("LATHE_BENCH_FILES") != "" {
		sizes = append(sizes, 200_000)
	}
	for _, n := range sizes {
		p := newPlace(b)
		p.open(snapshot.Options{MaxFiles: 300_000})
		p.fill(n)
		p.step(func() {})
		p.open(snapshot.Options{MaxFiles: 300_000})
		p.step(func() {})
		b.Run(fmt.Sprintf("command/%d", n), func(b *testing.B) {
			for i := range b.N {
				b.StopTimer()
				p.write("d0/e0/f0/file0.go", fmt.Sprintf("package y%d\n", i))
				_, err := p.history().Steps() // waits for the look after the step before
				p.must(err)
				b.StartTimer()
				end, err := p.s.Begin(b.Context(), snapshot.Where{Session: sessionID}, nil)
				p.must(err)
				b.StopTimer()
				end()
			}
		})
		b.Run(fmt.Sprintf("first-command/%d", n), func(b *testing.B) { // of a new process in a known project
			for b.Loop() {
				b.StopTimer()
				p.open(snapshot.Options{MaxFiles: 300_000})
				b.StartTimer()
				end, err := p.s.Begin(b.Context(), snapshot.Where{Session: sessionID}, nil)
				p.must(err)
				b.StopTimer()
				end()
				b.StartTimer()
			}
		})
		// of a file, with the write itself; the next line is the share of the disk
		b.Run(fmt.Sprintf("edit/%d", n), func(b *testing.B) {
			for i := range b.N {
				p.edit(func() { p.write("d0/e0/f0/file1.go", fmt.Sprintf("package y%d\n", i)) }, "d0/e0/f0/file1.go")
			}
		})
		b.Run(fmt.Sprintf("write-and-sync/%d", n), func(b *testing.B) {
			f, err := os.Create(filepath.Join(p.store, "plain"))
			p.must(err)
			defer f.Close()
			for i := range b.N {
				p.write("d0/e0/f0/file1.go", fmt.Sprintf("package z%d\n", i))
				_, err := f.Write(make([]byte, 600))
				p.must(err)
				p.must(f.Sync())
			}
		})
		b.Run(fmt.Sprintf("git-add/%d", n), func(b *testing.B) {
			gitDir := filepath.Join(p.store, "git")
			add := func() {
				cmd := exec.Command("git", "add", "-A")
				cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "GIT_DIR="+gitDir, "GIT_WORK_TREE="+p.dir)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
			if out, err := exec.Command("git", "init", "-q", "--bare", gitDir).CombinedOutput(); err != nil {
				b.Skipf("no git: %v %s", err, out)
			}
			cmd := exec.Command("git", "config", "core.bare", "false")
			cmd.Env = append(os.Environ(), "GIT_DIR="+gitDir)
			p.must(cmd.Run())
			add()
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				p.write("d0/e0/f0/file0.go", fmt.Sprintf("package z%d\n", i))
				b.StartTimer()
				add()
			}
		})
	}
}
