package shell

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// secret reports whether a path names something that holds secrets, on this machine or behind the colon of another.
func secret(a *analysis, p string) bool {
	if permission.SecretRead(p, a.world.Roots()) || agentSecret(a, p) {
		return true
	}
	i := strings.LastIndexByte(p, ':')
	return i >= 0 && permission.SecretRead(p[i+1:], nil)
}

// secretSamples stand for secret files when a pattern is tried.
var secretSamples = []string{
	".env", ".env.local", ".env.production", "id_rsa", "id_ed25519", "server.pem",
	"server.key", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", "credentials", ".ssh", ".aws", ".gnupg",
}

// secretWord finds secrets among the words of a command that reads, patterns included.
func secretWord(a *analysis, c *call) string {
	if len(c.words) == 0 || c.name == "echo" || c.name == "ls" || c.name == "printf" || c.name == "git" &&
		c.use.Class.ReadOnly() {
		return ""
	}
	for i, w := range c.words[1:] {
		text := w.text
		if at := strings.IndexByte(text, '='); at > 0 && strings.HasPrefix(text, "-") {
			text = text[at+1:]
		}
		text = strings.TrimPrefix(text, "@")
		if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\n ") {
			continue
		}
		if w.glob && secretPattern(text) {
			return "the pattern covers secrets: " + w.show
		}
		if strings.ContainsAny(text, "/.") && !(i == 0 && patternFirst.has(c.name)) && secret(a, from(text, first(c.dirs))) {
			return "it reads secrets: " + w.show
		}
	}
	return ""
}

// patternFirst are programs whose first operand is a pattern and no file.
var patternFirst = set{
	"grep", "egrep", "fgrep", "rg", "sed", "awk", "jq", "fd", "ag",
}

// secretPattern reports whether a pattern was made to reach secret files: it says more than a bare *.
func secretPattern(pattern string) bool {
	for part := range strings.SplitSeq(pattern, "/") {
		letters := strings.Trim(part, "*?[]!^")
		if len(letters) == 0 || !hasMeta(part) {
			continue
		}
		for _, sample := range secretSamples {
			if sample[0] == '.' && part[0] != '.' {
				continue
			}
			if ok, err := path.Match(part, sample); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// agentFolders hold lathe's own state, below the home folder.
var agentFolders = []string{
	".lathe", ".config/lathe", ".local/share/lathe", ".local/state/lathe",
	"Library/Application Support/lathe",
}

// agentState reports whether a path lies in lathe's own state.
func agentState(a *analysis, p string) bool {
	if !containsFold(p, "lathe") {
		return false
	}
	for _, folder := range agentFolders {
		if below(strings.ToLower(p), strings.ToLower(filepath.Join(a.world.Home(), folder))) {
			return true
		}
	}
	return false
}

// containsFold is strings.Contains for a text in small letters, ignoring the case of the other one.
func containsFold(text, small string) bool {
	for i := 0; i+len(small) <= len(text); i++ {
		if c := text[i]; c < 0x80 && c|0x20 != small[0]|0x20 { // no letter beyond ASCII has the length of one within
			continue
		}
		if strings.EqualFold(text[i:i+len(small)], small) {
			return true
		}
	}
	return false
}

// agentSecret reports whether a path holds lathe's keys, or is a folder above them.
func agentSecret(a *analysis, p string) bool {
	if !agentState(a, p) {
		return false
	}
	base := strings.ToLower(path.Base(filepath.ToSlash(p)))
	for _, folder := range agentFolders {
		if strings.EqualFold(p, filepath.Join(a.world.Home(), folder)) {
			return true
		}
	}
	for _, word := range []string{"auth", "cred", "token", "key", "secret", "*", "?"} {
		if strings.Contains(base, word) {
			return true
		}
	}
	return false
}

// protectedFolders are folders that nothing but their own program should write.
var protectedFolders = []string{
	".git", ".lathe", ".idea", ".ssh", ".gnupg", ".vscode", ".claude", ".codex", ".cursor",
	".gemini", ".opencode", ".crush",
}

// protectedFiles are such files: start-up files of shells, lists of servers and settings of agents, keys.
var protectedFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout", ".profile", ".zshrc", ".zprofile",
	".zshenv", ".zlogin", ".zlogout",
	".cshrc", ".tcshrc", ".login", ".kshrc", ".mkshrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
	".pam_environment", ".inputrc", ".bash_env",
	".mcp.json", ".claude.json", ".netrc", "_netrc", ".git-credentials", ".pgpass", "authorized_keys", ".rhosts",
}

// protectedHome are paths below the home folder, protectedSystem absolute ones.
var (
	protectedHome = []string{
		".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/lathe",
		".config/zsh", ".gitconfig",
		".local/share/lathe", ".local/state/lathe", "Library/LaunchAgents", "Library/Application Support/lathe", ".aws",
		".kube", ".docker", ".npmrc", ".vimrc",
	}
	protectedSystem = []string{
		"/etc", "/boot", "/proc", "/sys", "/var/spool", "/Library/LaunchDaemons",
		"/Library/LaunchAgents",
	}
)

// settingsFiles choose programs or options of programs; settingsFolders hold such files.
var (
	settingsFiles = []string{
		".gitmodules", ".gitattributes", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs",
		".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml",
		".bazelrc", ".bazelversion", ".bazeliskrc", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
		".lefthook.yml", ".lefthook.yaml",
		"gradle-wrapper.properties", "maven-wrapper.properties", ".devcontainer.json", ".ripgreprc", "pyrightconfig.json",
		".vimrc", ".exrc", ".nvimrc", ".tmux.conf",
		".screenrc", ".curlrc", ".wgetrc", ".gdbinit", ".lldbinit", ".psqlrc", ".irbrc", ".pryrc", ".pythonrc", ".pypirc",
		".forward",
	}
	settingsFolders = []string{
		".husky", ".githooks", ".cargo", ".devcontainer", ".yarn", ".mvn", ".circleci",
		".buildkite", ".direnv",
	}
)

// fromRoot is the path below the innermost working root, or the whole path, in small letters: a root inside
// a protected folder can be worked in.
func fromRoot(a *analysis, p string) (rel string, mine bool) {
	p = strings.ToLower(filepath.ToSlash(p))
	rel = p
	for _, root := range a.world.Roots() {
		root = strings.ToLower(filepath.ToSlash(root))
		if below(p, root) && len(p)-len(root) < len(rel) {
			rel, mine = strings.TrimPrefix(p[len(root):], "/"), true
		}
	}
	return rel, mine || below(p, strings.ToLower(filepath.ToSlash(a.world.Home())))
}

// protected reports whether a path is one that other programs run or obey. Names are compared without case
// and without the dots and blanks that some file systems drop.
func protected(a *analysis, p string) bool {
	rel, mine := fromRoot(a, p)
	home := strings.ToLower(filepath.ToSlash(a.world.Home()))
	full := strings.ToLower(filepath.ToSlash(p))
	if inHome, ok := strings.CutPrefix(full, home+"/"); ok && rel == full {
		for _, name := range protectedHome {
			if below(inHome, strings.ToLower(name)) {
				return true
			}
		}
	}
	for _, abs := range protectedSystem {
		if below(p, abs) {
			return true
		}
	}
	if rel == "" {
		return false
	}
	var few [16]string
	parts := split(few[:0], rel)
	for i, part := range parts {
		part = strings.TrimRight(part, ". ")
		if mine && i == len(parts)-1 && has(protectedFiles, part) {
			return true
		}
		if has(protectedFolders, part) && !exempt(part, parts[i+1:]) {
			return true
		}
	}
	return false
}

// split appends the names of a path to parts, as strings.Split does.
func split(parts []string, path string) []string {
	for {
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return append(parts, path)
		}
		parts, path = append(parts, path[:i]), path[i+1:]
	}
}

// exempt are files in protected folders that nothing runs.
func exempt(folder string, rest []string) bool {
	if len(rest) == 0 {
		return false
	}
	last := rest[len(rest)-1]
	switch folder {
	case ".git":
		return strings.HasSuffix(last, ".lock") || strings.HasSuffix(last, "_msg") || strings.HasSuffix(last, "_editmsg") ||
			last == "description" || last == "exclude" || rest[0] == "logs"
	case ".lathe", ".idea", ".ssh", ".gnupg":
		return false
	}
	return rest[0] == "worktrees" || strings.HasSuffix(last, ".md") || strings.HasSuffix(last, ".mdc") ||
		strings.HasSuffix(last, ".txt")
}

// settings reports whether a path is one that chooses programs or options for them.
func settings(a *analysis, p string) bool {
	rel, _ := fromRoot(a, p)
	var few [16]string
	parts := split(few[:0], rel)
	for i, part := range parts {
		if has(settingsFolders, part) || i == len(parts)-1 && has(settingsFiles, part) {
			return true
		}
	}
	return false
}

// writers are programs whose operands, or whose last one, are written.
var writers = set{
	"tee", "cp", "mv", "ln", "install", "touch", "chmod", "chown", "truncate", "rm", "mkdir", "sed", "dd", "rsync",
	"sponge", "patch",
	"unlink", "shred", "chattr", "setfacl", "link", "symlink", "mkfifo", "ed", "ex", "vim", "vi", "nvim", "nano", "perl",
	"rmdir",
}

// protectedWord finds protected paths among the words of a program that writes.
func protectedWord(a *analysis, c *call) string {
	if len(c.words) < 2 || c.use.Class.ReadOnly() || !writers.has(c.name) {
		return ""
	}
	words := c.words[1:]
	switch c.name {
	case "cp", "rsync", "scp", "install", "ln":
		words = words[len(words)-1:]
		for _, w := range c.words[1:] {
			if target, ok := strings.CutPrefix(w.text, "--target-directory="); ok {
				words = append(words[:1:1], word{text: target})
			}
		}
	}
	for _, w := range words {
		text := strings.TrimPrefix(w.text, "of=")
		if text == "" || w.guessed && filepath.IsAbs(text) || strings.HasPrefix(text, "-") || strings.Contains(text, "\n") {
			continue
		}
		for _, dir := range dirsOrRoot(c.dirs) {
			if protected(a, from(text, dir)) && filepath.Clean(from(text, dir)) != dir {
				return "it writes a protected path: " + w.text
			}
		}
	}
	return ""
}

func dirsOrRoot(dirs []string) []string {
	if len(dirs) == 0 {
		return []string{"/"}
	}
	return dirs
}

// deviceFile reports whether a path is a device that is not meant to be written by everybody.
func deviceFile(p string) bool {
	rest, ok := strings.CutPrefix(p, "/dev/")
	if !ok {
		return false
	}
	switch {
	case rest == "null", rest == "stdout", rest == "stderr", rest == "tty", rest == "zero", rest == "full",
		strings.HasPrefix(rest, "fd/"), strings.HasPrefix(rest, "shm/"), strings.HasPrefix(rest, "tcp/"),
		strings.HasPrefix(rest, "udp/"):
		return false
	}
	return true
}
