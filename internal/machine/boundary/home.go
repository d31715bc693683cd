package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// hideHome hides the home folders from a command that nobody approved: all of them but toolchains, caches, public
// configuration and what the policy shows and writes.
func (b *Boundary) hideHome(p *confine.Policy, reach permission.Reach, programs []string) {
	if b.o.Home == "" || b.support().Tier != confine.Full || !reach.Unasked() {
		return
	}
	worked := slices.Clone(p.Write)
	for _, o := range p.View {
		worked = append(worked, o.Dir)
	}
	for _, dir := range append(slices.Clone(permission.Homes()), b.home) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != "/" && !inAny(append(worked, p.Show...), real) {
			p.Empty = append(p.Empty, real)
		}
	}
	p.Empty = outermost(p.Empty)
	keys, err := git.Secrets(b.home, b.home)
	for _, name := range permission.HomeShown() {
		if (err == nil && len(keys) == 0) || !strings.Contains(name, "git") {
			p.Show = append(p.Show, filepath.Join(b.home, filepath.FromSlash(name)))
		}
	}
	p.Show = append(p.Show, b.programFolders(programs)...)
	hidden := func(path string) bool { return inAny(p.Empty, path) && !inAny(append(worked, p.Show...), path) }
	p.Mask, p.Protect = slices.DeleteFunc(p.Mask, hidden), slices.DeleteFunc(p.Protect, hidden)
}

// inAny reports whether a path is one of the folders, or in one.
func inAny(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return within(path, dir) })
}

// programFolders are the folders of programs in the home folder: those of PATH with what belongs to them, and those
// that variables name.
func (b *Boundary) programFolders(programs []string) (out []string) {
	add := func(dir string) {
		if dir != b.home && within(dir, b.home) && !slices.ContainsFunc(b.secretNames,
			func(secret string) bool { return within(secret, dir) || within(dir, secret) }) {
			out = append(out, dir)
		}
	}
	if len(programs) == 0 {
		programs = filepath.SplitList(os.Getenv("PATH"))
	}
	for _, dir := range programs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		add(real)
		if above := filepath.Dir(real); slices.Contains([]string{"bin", "shims"}, filepath.Base(real)) &&
			!strings.HasSuffix(above, "/.local") {
			add(above)
		}
	}
	for _, name := range []string{
		"GOPATH", "GOMODCACHE", "GOCACHE", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "JAVA_HOME",
		"ANDROID_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "GRADLE_USER_HOME",
	} {
		if dir := os.Getenv(name); filepath.IsAbs(dir) {
			add(filepath.Clean(dir))
		}
	}
	return out
}
