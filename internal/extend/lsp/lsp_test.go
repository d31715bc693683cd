package lsp_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// gopls is the path of the server that tools/gopls builds.
var gopls = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-modfile="+filepath.Join("..", "..", "..", "tools", "gopls", "go.mod"), "-n",
		"gopls").Output()
	return strings.TrimSpace(string(out)), err
})

type option func(*lsp.Options, *lsp.Settings)

// newPool makes a pool whose servers are not confined.
func newPool(t testing.TB, more ...option) *lsp.Pool {
	t.Helper()
	runner := sandbox.New()
	set := lsp.Settings{
		Enabled: true, WaitMs: 20_000, StartMs: 60_000, RequestMs: 30_000, MaxMemoryMB: 4096,
		IdleMinutes: 10,
	}
	o := lsp.Options{
		Environ: os.Environ, Trusted: func() bool { return true }, Confined: func() bool { return false },
		Notice: func(text string) { t.Log("notice: " + text) },
		Launch: func(ctx context.Context, argv []string, dir string, env map[string]string, stderr *lsp.Log) (*sandbox.Piped,
			func(), error,
		) {
			p, err := runner.StartPiped(ctx, sandbox.Spec{Argv: argv, Dir: dir, Env: sandbox.CleanEnv(os.Environ(),
				sandbox.Options{Set: env}), Stderr: stderr})
			return p, func() {}, err
		},
	}
	for _, m := range more {
		m(&o, &set)
	}
	if o.Settings == nil {
		o.Settings = func() lsp.Settings { return set }
	}
	p := lsp.New(o)
	t.Cleanup(func() { p.Close(); runner.Close() })
	return p
}

// with defines a server's program.
func with(name, program string) option {
	return func(_ *lsp.Options, s *lsp.Settings) {
		if s.Servers == nil {
			s.Servers = map[string]lsp.Definition{}
		}
		s.Servers[name] = lsp.Definition{Command: []string{program}}
	}
}

// project writes files below a new folder: "name" and content alternate.
func project(t testing.TB, list ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(list); i += 2 {
		write(t, filepath.Join(dir, list[i]), list[i+1])
	}
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func needGopls(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("building gopls takes a minute; not with -short")
	}
	path, err := gopls()
	if err != nil {
		t.Skipf("gopls cannot be built: %v", err)
	}
	return path
}

func TestABrokenEditIsReportedAndItsMendingIsNot(t *testing.T) {
	p := newPool(t, with("gopls", needGopls(t)))
	dir := project(t, "go.mod", "module example.com/x\n\ngo 1.24\n",
		"a.go", "package x\n\nfunc Sum(a, b int) int { return a + b }\n",
		"b.go", "package x\n\nvar three = Sum(1, 2)\n",
		"sub/c.go", "package sub\n\nimport \"example.com/x\"\n\nvar Four = x.Sum(2, 2)\n")
	seat := p.Seat(filepath.Clean)
	a := lsp.File{Path: filepath.Join(dir, "a.go"), Root: dir}
	if got := seat.Edited(t.Context(), []lsp.File{a}); got != "" {
		t.Fatalf("a file without errors: %s", got)
	}
	write(t, a.Path, "package x\n\nfunc Sum(a, b string) int { return a + b }\n")
	got := seat.Edited(t.Context(), []lsp.File{a})
	t.Log(got)
	for _, want := range []string{"a.go:3:", "b.go:3:", filepath.Join("sub", "c.go") + ":5:"} {
		if !strings.Contains(got, want) {
			t.Errorf("no diagnostic at %s in:\n%s", want, got)
		}
	}
	if got := seat.Edited(t.Context(), []lsp.File{a}); got != "" {
		t.Errorf("diagnostics were repeated: %s", got)
	}
	write(t, a.Path, "package x\n\nfunc Sum(a, b int) int { return a + b }\n")
	if got := seat.Edited(t.Context(), []lsp.File{a}); got != "" {
		t.Errorf("mended, and yet: %s", got)
	}
}

func TestAFileThatACommandMakesIsKnownToTheServer(t *testing.T) {
	p := newPool(t, with("gopls", needGopls(t)))
	dir := project(t, "go.mod", "module example.com/x\n\ngo 1.24\n", "a.go", "package x\n\nvar three = Sum(1, 2)\n")
	seat := p.Seat(filepath.Clean)
	a := lsp.File{Path: filepath.Join(dir, "a.go"), Root: dir}
	if got := seat.Edited(t.Context(), []lsp.File{a}); !strings.Contains(got, "undefined: Sum") {
		t.Fatalf("without Sum: %q", got)
	}
	write(t, filepath.Join(dir, "b.go"), "package x\n\nfunc Sum(a, b int) int { return a + b }\n")
	p.CommandRan()
	q := lsp.Query{Operation: lsp.GoToDefinition, File: a, Line: 3, Column: 13}
	if got, err := p.Ask(t.Context(), q); err != nil || len(got.Places) != 1 ||
		filepath.Base(got.Places[0].Path) != "b.go" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFilesThatOthersChangeAreKnownToTheServer(t *testing.T) {
	p := newPool(t, with("gopls", needGopls(t)))
	dir := project(t, "go.mod", "module example.com/x\n\ngo 1.24\n", "a.go", "package x\n\nvar Three = Sum(1, 2)\n")
	seat := p.Seat(filepath.Clean)
	a, b := lsp.File{Path: filepath.Join(dir, "a.go"), Root: dir}, filepath.Join(dir, "b.go")
	if got := seat.Edited(t.Context(), []lsp.File{a}); !strings.Contains(got, "undefined: Sum") {
		t.Fatalf("without Sum: %q", got)
	}
	diagnosed := func(want string) {
		t.Helper()
		said := ""
		if !await.Until(func() bool { // gopls may publish what it found before, first
			found, _, err := p.Diagnose(t.Context(), []lsp.File{a})
			said = fmt.Sprint(found, err)
			return err == nil && (want == "") == (len(found) == 0) && (want == "" || strings.Contains(found[0].Message, want))
		}) {
			t.Errorf("%s, want %q", said, want)
		}
	}
	write(t, b, "package x\n\nfunc Sum(a, b int) int { return a + b }\n")
	p.FilesChanged([]string{b})
	diagnosed("")
	write(t, b, "package x\n\nfunc Sum(a, b string) string { return a + b }\n")
	p.FilesChanged([]string{b})
	diagnosed("constant")
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	p.FilesChanged([]string{b})
	diagnosed("undefined")
	write(t, a.Path, "package x\n")
	p.FilesChanged([]string{a.Path})
	diagnosed("")
}

func BenchmarkEditWithGopls(b *testing.B) {
	p := newPool(b, with("gopls", needGopls(b)))
	dir := project(b, "go.mod", "module example.com/x\n\ngo 1.24\n", "a.go",
		"package x\n\nfunc Sum(a, b int) int { return a + b }\n", "b.go", "package x\n\nvar three = Sum(1, 2)\n")
	seat := p.Seat(filepath.Clean)
	a := lsp.File{Path: filepath.Join(dir, "a.go"), Root: dir}
	seat.Edited(b.Context(), []lsp.File{a})
	texts := []string{
		"package x\n\nfunc Sum(a, b string) int { return a + b }\n",
		"package x\n\nfunc Sum(a, b int) int { return a + b }\n",
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		write(b, a.Path, texts[i%2])
		began := time.Now()
		got := seat.Edited(b.Context(), []lsp.File{a})
		took = append(took, time.Since(began))
		if (got == "") != (i%2 == 1) {
			b.Fatalf("edit %d: %q", i, got)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
}

// BenchmarkEditWithoutServers is the cost of an edit where no server is installed for the file.
func BenchmarkEditWithoutServers(b *testing.B) {
	p := newPool(b, with("gopls", "no-such-program"))
	dir := project(b, "go.mod", "module example.com/x\n", "a.go", "package x\n")
	seat := p.Seat(filepath.Clean)
	for b.Loop() {
		if got := seat.Edited(b.Context(), []lsp.File{{Path: filepath.Join(dir, "a.go"), Root: dir}}); got != "" {
			b.Fatal(got)
		}
	}
}
