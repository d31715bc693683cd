package permission

import (
	"strings"
	"testing"
)

// The guards, the analysis and the boundary know the same names: what the sandbox keeps from commands, the guards ask
// about or refuse to edits.
func TestTheSandboxKeepsOnlyGuardedNames(t *testing.T) {
	for _, name := range UnaskedNames() {
		path := "/home/u/p/" + strings.TrimPrefix(name, "*")
		if NamedWrite([]string{"/home/u/p"}, "/home/u", path) == "" {
			t.Errorf("no guard objects to writing %s", path)
		}
	}
	for path, want := range map[string]Effect{
		"/home/u/p/sub/AGENTS.md": Ask, "/home/u/p/.cargo/config.toml": Ask, "/home/u/p/.github/workflows/ci.yml": Ask,
		"/home/u/p/x.code-workspace": Ask, "/home/u/p/.vscode/tasks.json": Deny, "/home/u/p/.git/hooks/pre-push": Deny,
		"/home/u/.bashrc": Deny, "/tmp/.bashrc": Ask, "/home/u/.config/git/config": Deny, "/etc/passwd": Deny,
		"/home/u/p/main.go": "", "/home/u/p/.github/CODEOWNERS": "", "/home/u/p/.yarn/cache/x.zip": Ask,
	} {
		if got := NamedWrite([]string{"/home/u/p"}, "/home/u", path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
