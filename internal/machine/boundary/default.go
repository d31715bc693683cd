package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// The default boundary is on without a request, so it must not stand in the way of everyday work. It differs from a
// requested one: programs that cannot work inside run outside, where the permissions let nothing run unasked (Outside);
// a command makes Unix sockets of its own; package registries are open; and where nobody can be asked, an approved
// command has the machine's network, as it had before.

// mostProcesses is a limit for runaways: builds on large machines stay below.
const mostProcesses = 8192

// abstractABI is the first version of Landlock that closes abstract Unix sockets, which no mount hides, on the
// machine's network.
const abstractABI = 6

// needOutside are commands, as patterns of rules on Bash, that speak to a daemon or an agent of the user, use keys that
// are masked inside, install for the whole user or machine, or write next to the project.
var needOutside = []string{
	"docker", "docker-compose", "podman", "podman-compose", "buildah", "nerdctl", "kubectl", "helm", "minikube", "kind",
	"colima", "vagrant",
	"tmux", "screen", "ssh", "scp", "sftp", "mosh", "ssh-add", "ssh-keygen", "gpg", "rsync",
	"gh", "glab", "hub", "aws", "gcloud", "gsutil", "az", "terraform", "tofu", "pulumi", "vercel", "netlify", "flyctl",
	"fly", "heroku", "wrangler", "firebase",
	"sudo", "doas", "su", "apt", "apt-get", "dnf", "yum", "pacman", "apk", "zypper", "brew", "snap", "flatpak", "nix",
	"systemctl", "service", "journalctl",
	"code", "xdg-open", "open", "adb", "psql", "mysql", "mariadb", "redis-cli", "mongosh", "rustup", "pyenv", "nvm",
	"asdf", "mise", "pipx",
	"git push:*", "git fetch:*", "git pull:*", "git clone:*", "git ls-remote:*", "git remote update:*", "git submodule:*",
	"git worktree:*", "git lfs:*",
	"npm install -g:*", "npm i -g:*", "npm install --global:*", "npm link:*", "npm login:*", "npm publish:*",
	"npm whoami:*", "yarn global:*", "pnpm add -g:*",
	"go install:*", "go telemetry:*", "go env -w:*", "cargo install:*", "cargo publish:*", "cargo login:*",
	"gem install:*", "uv tool:*", "dotnet tool install -g:*",
}

// inside are the commands among them that look at files of the project only.
var inside = []string{
	"git submodule status:*", "git submodule summary:*", "git worktree list:*", "terraform fmt:*", "tofu fmt:*",
}

// daemons are those of needOutside that speak to a daemon whatever they do. The others only look inside.
var daemons = []string{
	"docker", "docker-compose", "podman", "podman-compose", "nerdctl", "minikube", "kind", "colima", "vagrant", "tmux",
	"screen", "systemctl", "service", "adb",
}

// Plain are programs that do nothing but what their words say. One that only looks may stand in a line outside without
// a rule of its own.
var Plain = []string{
	"cd", "echo", "printf", "true", "false", "test", "[", "pwd", "sleep", "date", "cat", "head", "tail", "wc", "sort",
	"uniq", "cut", "tr", "grep", "sed", "ls", "git",
}

// alongside are commands that may stand in one line with one of needOutside.
var alongside = []string{
	"git add:*", "git commit:*", "git checkout:*", "git switch:*", "git branch:*", "git config:*", "git remote:*",
	"git tag:*", "git stash:*", "git merge:*", "git rebase:*",
	"git cherry-pick:*", "git revert:*", "git reset:*", "git restore:*", "git rm:*", "git mv:*", "git init:*", "sleep:*",
	"echo:*", "true", "cd:*", "export:*",
	"cat:*", "head:*", "tail:*", "grep:*", "wc:*", "ls:*", "git status:*", "git log:*", "git diff:*", "git show:*",
	"git rev-parse:*",
}

// filing are commands that only move, make and remove the files that they name. With a file outside of the working
// folders, which the permissions decide on by its path, they run outside.
var filing = []string{
	"cp:*", "mv:*", "mkdir:*", "touch:*", "rm:*", "rmdir:*", "ln:*", "install:*", "tee:*", "cat:*", "echo:*", "printf:*",
	"tar:*", "unzip:*", "chmod:*", "cd:*",
}

// configuring are git's commands that write a repository's configuration.
var configuring = []string{"git config:*", "git remote:*", "git branch:*", "git checkout:*", "git switch:*"}

// signing are git's commands that make a signature, where the user wants one: the keys are masked inside.
var signing = []string{
	"git commit:*", "git merge:*", "git rebase:*", "git cherry-pick:*", "git revert:*", "git am:*",
	"git tag:*",
}

// Standard reports whether the boundary is the default one.
func (b *Boundary) Standard() bool { return b != nil && b.standard }

// Line is a command line, as far as the boundary needs it.
type Line struct {
	// Covered reports whether the patterns, of rules on Bash, cover all parts of the line that are not read-only.
	Covered func(patterns []string) bool
	// Covered for the patterns of the settings: nor may the line write outside of the working folders
	Excluded func(patterns []string) bool
	Programs []string    // base names of its parts, but for those that only say something of themselves, as with --version
	ReadOnly bool        // it changes nothing
	Foreign  func() bool // a program of it lies in a folder of the project
	Writes   []string    // paths that it names and writes
}

// Outside reports whether a command runs outside of the sandbox, once it is approved: the permissions let none run
// there unasked. dir is the working folder, folders are those that commands write.
func (b *Boundary) Outside(l Line, dir string, folders []string) bool {
	if !b.Confined() {
		return false
	}
	if len(b.s.Excluded) > 0 && l.Excluded(b.s.Excluded) {
		return true
	}
	return b.standard && b.away(l, dir, folders) && !l.Foreign()
}

// away is Outside in the default boundary, wherever the programs lie. A line that changes nothing stays inside, unless
// it asks a daemon.
func (b *Boundary) away(l Line, dir string, folders []string) bool {
	if l.ReadOnly {
		return b.needs(l, daemons)
	}
	if l.Covered(inside) {
		return false
	}
	beyond := slices.ContainsFunc(l.Writes, func(path string) bool {
		return !slices.ContainsFunc(folders, func(f string) bool { return within(path, f) }) && !within(path, "/tmp") &&
			!within(path, "/dev")
	})
	if beyond && l.Covered(filing) {
		return true
	}
	out := slices.Concat(needOutside, pip(dir))
	if slices.Contains(l.Programs, "git") && b.signs(dir) {
		out = append(out, signing...)
	}
	return b.needs(l, out) && l.Covered(slices.Concat(out, alongside)) && !l.Covered(without(alongside, out))
}

// needs is a quick answer to most lines: none of their programs is in the list.
func (b *Boundary) needs(l Line, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		name, _, _ := strings.Cut(strings.TrimSuffix(pattern, ":*"), " ")
		return slices.Contains(l.Programs, name)
	})
}

// without returns the patterns that are not among others.
func without(patterns, others []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return slices.Contains(others, p) })
}

// pip is outside unless a virtual environment takes the packages: they go to the user's folder.
func pip(dir string) []string {
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		return nil
	}
	return []string{
		"pip install:*", "pip3 install:*", "python -m pip install:*", "python3 -m pip install:*",
		"pip uninstall:*", "pip3 uninstall:*",
	}
}

// signs reports whether git signs commits here.
func (b *Boundary) signs(dir string) bool {
	for _, file := range []string{
		filepath.Join(b.o.Home, ".gitconfig"), filepath.Join(b.o.Home, ".config/git/config"),
		filepath.Join(dir, ".git/config"),
	} {
		for line := range strings.Lines(strings.ToLower(smallText(file))) {
			key, value, _ := strings.Cut(line, "=")
			if strings.TrimSpace(key) == "gpgsign" && strings.TrimSpace(value) == "true" {
				return true
			}
		}
	}
	return false
}

// remoteFailures are what git says where it cannot reach or use a remote.
var remoteFailures = []string{
	"resolve host", "Could not read from remote repository", "could not read Username", "could not read Password",
	"Authentication failed", "unable to access '", "Host key verification failed",
	"insufficient permission for adding an object",
	"remote unpack failed", "unable to create temporary object directory",
}

// Hint tells the model how a program that needs the outside runs there, for a failed line of which it was a part. ""
// for other lines.
func (b *Boundary) Hint(l Line, output string) string {
	if b == nil || !b.standard {
		return ""
	}
	for _, pattern := range needOutside {
		name, rest, _ := strings.Cut(strings.TrimSuffix(pattern, ":*"), " ")
		if rest == "" && slices.Contains(l.Programs, name) {
			return "The command ran in lathe's sandbox, where " + name +
				" may not work. Run it as a command of its own, without other programs: once approved, it runs outside."
		}
	}
	if slices.Contains(l.Programs, "git") && slices.ContainsFunc(remoteFailures,
		func(text string) bool { return strings.Contains(output, text) }) {
		return "The command ran in lathe's sandbox, where git has no keys and may not reach its remote. Run the git " +
			"commands as a command of their own, without other programs: once approved, they run outside."
	}
	return ""
}

// strictNetwork reports whether the settings say something about hosts, which then holds in any case.
func (b *Boundary) strictNetwork() bool {
	n := &b.s.Network
	return n.StrictAllowlist || len(n.DeniedDomains) > 0 || len(n.AllowedDomains) > 0 || n.HTTPProxyPort > 0 ||
		n.SOCKSProxyPort > 0
}

// opensNetwork reports whether a command has the machine's network.
func (b *Boundary) opensNetwork(reach permission.Reach) bool {
	return b.standard && reach == permission.ReachOpen && !b.strictNetwork()
}
