package cli_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
)

var update = flag.Bool("update", false, "write what was found into the expected files")

// updating reports whether tests rewrite their golden files (-update).
func updating() bool { return *update }

var built struct {
	once sync.Once
	path string
	err  error
	out  []byte
}

// buildLathe builds the real binary once per test run and returns its path.
func buildLathe(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		var dir string
		if dir, built.err = os.MkdirTemp("", "lathe-build-"); built.err != nil {
			return
		}
		built.path = filepath.Join(dir, "lathe")
		if runtime.GOOS == "windows" {
			built.path += ".exe"
		}
		c := exec.Command("go", "build", "-o", built.path, "../../cmd/lathe")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		built.out, built.err = c.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("%v\n%s", built.err, built.out)
	}
	return built.path
}

// npmFolder is the folder that a test made for modules of npm; empty: none.
var npmFolder string

// TestMain is also a language server with fixed answers.
func TestMain(m *testing.M) {
	if lsptest.Serve() {
		return
	}
	code := m.Run()
	if npmFolder != "" {
		_ = os.RemoveAll(npmFolder)
	}
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}
