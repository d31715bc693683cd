package sandbox_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func TestToolsAreNotTakenFromWhereTheProjectCouldPutThem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of folders say nothing on Windows")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := func(name string, mode os.FileMode) string {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, second, open, sticky := dir("good", 0o755), dir("second", 0o700), dir("open", 0o777),
		dir("sticky", 0o1777|os.ModeSticky)
	work := dir("work", 0o755)
	inside := dir("work/bin", 0o755)
	link, hop := filepath.Join(base, "link"), filepath.Join(base, "hop")
	for name, target := range map[string]string{link: good, hop: inside} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{
		"", ".", "bin", "../x", open, sticky, inside, hop, work, link, good, file,
		base + "/none", second, good,
	}, ":")
	if d := cmp.Diff([]string{good, second}, sandbox.ToolDirs(path, []string{work})); d != "" {
		t.Error(d)
	}
	if os.Geteuid() == 0 { // who may write everywhere may also plant programs everywhere
		if got := sandbox.ToolDirs("/usr/bin", []string{"/"}); len(got) != 0 {
			t.Errorf("working in /: %v", got)
		}
	}
	if got := sandbox.ToolDirs("/usr/bin", []string{"/us", "/usr/binary"}); len(got) != 1 {
		t.Errorf("a folder with a name that only begins the same: %v", got)
	}
}

func TestAReadOnlyCommandGetsNothingThatSteersIt(t *testing.T) {
	var bad []string
	for _, name := range []string{
		"LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS",
		"CDPATH", "GLOBIGNORE",
		"LESSOPEN", "LESSCLOSE", "GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_GLOBAL", "NODE_OPTIONS", "PYTHONSTARTUP",
		"PERL5OPT", "RUBYOPT",
		"RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "JAVA_TOOL_OPTIONS", "BASH_FUNC_ls%%", "TAR_OPTIONS", "POSIXLY_CORRECT",
		"GOENV",
		"MY_API_KEY", "github_token", "DB_PASSWORD", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "CREDFILE",
		"ANTHROPIC_API_KEY", "monkey",
	} {
		bad = append(bad, name+"=x")
	}
	good := []string{"HOME=/home/u", "LANG=de_DE.UTF-8", "TZ=UTC", "GOPATH=/go", "USER=u", "LS_COLORS=x"}
	env := sandbox.ReadOnlyEnv(append(append(bad, good...), "PATH=.:/evil", "GOFLAGS=-toolexec=/evil", "GIT_PAGER=evil",
		"EDITOR=evil", "VISUAL=evil"),
		[]string{"/usr/bin", "/bin"}, []string{"GIT_CONFIG_COUNT=0"})
	for _, kv := range env {
		if strings.Contains(kv, "evil") || slices.Contains(bad, kv) {
			t.Errorf("%s came through", kv)
		}
	}
	for _, want := range append(good, "PATH=/usr/bin:/bin", "GOTOOLCHAIN=local", "GOPROXY=off",
		"GOFLAGS=-mod=readonly -buildvcs=false", "PAGER=cat", "GIT_CONFIG_COUNT=0") {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
	seen := map[string]bool{}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
}
