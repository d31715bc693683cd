package shell

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// reaching makes a check of the files that the line reads or writes.
func reaching(text string, kind permission.Kind, match func(a *analysis, path string) bool) func(*analysis) []string {
	return func(a *analysis) []string {
		var out []string
		for _, x := range a.accesses {
			if x.Kind != kind {
				continue
			}
			if match(a, x.Target) || (x.Named != "" && match(a, x.Named)) {
				out = append(out, text+": "+x.Target)
				if len(out) == 3 {
					break
				}
			}
		}
		return out
	}
}

var fileChecks = []check{
	{
		Name: "secret-read", Effect: permission.Ask,
		Sentence: "Reads a file that holds keys, passwords or tokens, or the history of shells.",
		Fires:    "cat ~/.ssh/id_ed25519", Spares: "cat notes.txt",
		find: func(a *analysis) []string {
			out := reaching("it reads secrets", permission.Read, secret)(a)
			return append(out, each(secretWord)(a)...)
		},
	},
	{
		Name: "agent-secret", Effect: permission.Deny,
		Sentence: "Reads the keys that lathe keeps for itself.",
		Fires:    "cat ~/.config/lathe/auth.json", Spares: "cat auth.json",
		find: func(a *analysis) []string {
			out := reaching("it reads lathe's own keys", permission.Read, agentSecret)(a)
			return append(out, each(func(a *analysis, c *call) string {
				for _, w := range c.words[min(1, len(c.words)):] {
					if !strings.HasPrefix(w.text, "-") && agentSecret(a, from(w.text, first(c.dirs))) && c.name != "ls" && c.name != "echo" {
						return "it reads lathe's own keys: " + w.text
					}
				}
				return ""
			})(a)...)
		},
	},
	{
		Name: "process-secret", Effect: permission.Ask,
		Sentence: "Reads the environment or memory of a process below /proc.",
		Fires:    "strings /proc/1/environ", Spares: "cat /proc/cpuinfo",
		find: func(a *analysis) []string {
			return each(func(_ *analysis, c *call) string {
				for _, w := range c.words {
					if strings.HasPrefix(w.text, "/proc/") && strings.ContainsAny(strings.TrimPrefix(w.text, "/proc/"), "/*") {
						switch path.Base(w.text) {
						case "environ", "mem", "maps", "cmdline", "fd", "root", "cwd", "*":
							return "it reads another process: " + w.text
						}
						if strings.Contains(w.text, "/fd/") || strings.Contains(w.text, "/root/") || strings.Contains(w.text, "/cwd/") || strings.Contains(w.text, "env") {
							return "it reads another process: " + w.text
						}
					}
				}
				return ""
			})(a)
		},
	},
	{
		Name: "git-credentials", Effect: permission.Deny,
		Sentence: "git credential prints the passwords that git keeps.",
		Fires:    "git credential fill", Spares: "git status",
		find: each(func(_ *analysis, c *call) string {
			if c.name == "git" {
				if sub, _ := gitSubcommand(c); sub == "credential" || strings.HasPrefix(sub, "credential-") {
					return "it prints or changes the passwords that git keeps: " + c.raw
				}
			}
			if strings.HasPrefix(c.name, "git-credential") {
				return "it prints or changes the passwords that git keeps: " + c.raw
			}
			return ""
		}),
	},
	{
		Name: "git-program", Effect: permission.Deny,
		Sentence: "git config is given a key that names a program which git runs from then on.",
		Fires:    "git config core.hooksPath ./hooks", Spares: "git config user.name",
		find: each(gitProgram),
	},
	{
		Name: "protected-write", Effect: permission.Deny,
		Sentence: "Writes what other programs run or obey: git hooks and settings, shell start-up files, settings of agents and editors, keys.",
		Fires:    "echo x > .git/hooks/pre-commit", Spares: "echo x > docs/hooks.md",
		find: func(a *analysis) []string {
			out := reaching("it writes a protected path", permission.Write, protected)(a)
			return append(out, each(protectedWord)(a)...)
		},
	},
	{
		Name: "settings-write", Effect: permission.Ask,
		Sentence: "Writes a file that chooses programs or options for build tools, package managers, hooks or editors.",
		Fires:    "echo x >> .npmrc", Spares: "echo x >> notes.txt",
		find: func(a *analysis) []string {
			return reaching("it writes settings that programs obey", permission.Write, settings)(a)
		},
	},
	{
		Name: "bare-repository", Effect: permission.Deny,
		Sentence: "Makes HEAD, objects and refs in a folder, which git then takes for a repository whose settings it obeys.",
		Fires:    "mkdir -p objects refs && echo 'ref: x' > HEAD", Spares: "mkdir -p src docs",
		find: func(a *analysis) []string {
			seen := map[string]int{}
			for _, x := range a.accesses {
				if x.Kind != permission.Write {
					continue
				}
				dir, base := path.Split(x.Target)
				switch strings.ToLower(base) {
				case "head":
					seen[dir] += 2
				case "objects", "refs", "config":
					seen[dir]++
				}
				if seen[dir] >= 2 && !strings.Contains(dir, "/node_modules/") {
					return []string{"it makes a folder look like a repository: " + dir}
				}
			}
			return nil
		},
	},
	{
		Name: "device-write", Effect: permission.Deny,
		Sentence: "Writes to a device: a disk, memory or the terminal's own.",
		Fires:    "echo x > /dev/sda", Spares: "echo x > /dev/null",
		find: func(a *analysis) []string {
			out := reaching("it writes to a device", permission.Write, func(_ *analysis, p string) bool { return deviceFile(p) })(a)
			return append(out, each(func(_ *analysis, c *call) string {
				switch c.name {
				case "dd", "dcfldd", "dc3dd":
					for _, w := range c.words[1:] {
						if of, ok := strings.CutPrefix(w.text, "of="); ok && deviceFile(of) {
							return "it writes to a device: " + of
						}
					}
				case "tee", "cp", "mv", "cat", "shred", "truncate", "badblocks":
					if n := len(c.words); n > 1 && c.name != "cat" && deviceFile(c.words[n-1].text) {
						return "it writes to a device: " + c.words[n-1].text
					}
				}
				return ""
			})(a)...)
		},
	},
	{
		Name: "history", Effect: permission.Ask,
		Sentence: "Changes or clears the history of the shell, or the records of who did what.",
		Fires:    "history -c", Spares: "echo history",
		find: each(func(_ *analysis, c *call) string {
			if c.name == "history" || c.name == "fc" || c.name == "auditctl" || c.name == "journalctl" && strings.Contains(c.raw, "--vacuum") {
				return "it changes or shows the history: " + c.raw
			}
			return ""
		}),
	},
	{
		Name: "set-user-id", Effect: permission.Ask,
		Sentence: "Gives a file the rights of its owner, or everybody the right to write.",
		Fires:    "chmod u+s a", Spares: "chmod +x a",
		find: each(func(_ *analysis, c *call) string {
			if c.name != "chmod" && c.name != "setcap" && c.name != "install" {
				return ""
			}
			for _, w := range c.words[1:] {
				if strings.Contains(w.text, "+s") || strings.HasPrefix(w.text, "4755") || strings.HasPrefix(w.text, "2755") ||
					strings.HasPrefix(w.text, "6755") || w.text == "777" || w.text == "0777" || strings.Contains(w.text, "cap_") || w.text == "a+w" || w.text == "o+w" {
					return "it gives rights away: " + c.raw
				}
			}
			return ""
		}),
	},
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// secretNames are files that hold secrets, by name, in any folder.
var secretNames = []string{
	".env", ".envrc", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".npmrc", ".pypirc", ".boto", ".s3cfg", ".dockercfg",
	".vault-token", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".history",
	".lesshst", ".viminfo", ".irb_history", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "identity", "shadow", "gshadow", "master.key", "credentials",
	"credentials.json", "client_secret.json", "service-account.json", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "terraform.tfstate", "kubeconfig",
	"authorized_keys", "known_hosts", "wallet.dat", "login.keychain-db", "cookies.sqlite", "logins.json", "key4.db",
}

// secretEndings are endings of such files.
var secretEndings = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg", ".ovpn", ".tfstate", ".tfvars", "_history", "_rsa", "_ed25519"}

// secretFolders are folders all of whose files count as secret, anywhere below another.
var secretFolders = []string{
	"/.ssh", "/.gnupg", "/.aws", "/.azure", "/.kube", "/.docker", "/.config/gcloud", "/.config/gh", "/.config/hub", "/.password-store", "/.local/share/keyrings",
	"/.mozilla", "/.config/google-chrome", "/.config/chromium", "/.config/op", "/Library/Keychains", "/.cargo/credentials", "/.gem/credentials", "/.terraform.d",
	"/.config/rclone", "/.vault", "/.electrum", "/.bitcoin", "/.claude/.credentials", "/.codex/auth", "/etc/ssl/private", "/etc/shadow", "/etc/sudoers", "/var/lib/docker",
}

// harmlessEnv are files named like .env that only show which variables there are.
var harmlessEnv = []string{".example", ".sample", ".template", ".dist", ".defaults"}

// secret reports whether a path names something that holds secrets. Names are compared without case.
func secret(a *analysis, p string) bool {
	p = strings.ToLower(filepath.ToSlash(p))
	base := path.Base(p)
	for _, folder := range secretFolders {
		if f := strings.ToLower(folder); strings.Contains(p+"/", f+"/") || strings.HasPrefix(p, f) {
			return true
		}
	}
	for _, ending := range harmlessEnv {
		if strings.HasSuffix(base, ending) {
			return false
		}
	}
	if strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env") {
		return true
	}
	for _, name := range secretNames {
		if base == name {
			return true
		}
	}
	for _, ending := range secretEndings {
		if strings.HasSuffix(base, ending) && base != ending {
			return true
		}
	}
	return agentSecret(a, p)
}

// secretSamples stand for secret files when a pattern is tried.
var secretSamples = []string{".env", ".env.local", ".env.production", "id_rsa", "id_ed25519", "server.pem", "server.key", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", "credentials", ".ssh", ".aws", ".gnupg"}

// secretWord finds secrets among the words of a command that reads, patterns included.
func secretWord(a *analysis, c *call) string {
	if len(c.words) == 0 || c.name == "echo" || c.name == "ls" || c.name == "printf" || c.name == "git" && c.use.Class.Looks() {
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
		if strings.ContainsAny(text, "/.") && !(i == 0 && patternFirst[c.name]) && secret(a, from(text, first(c.dirs))) {
			return "it reads secrets: " + w.show
		}
	}
	return ""
}

// patternFirst are programs whose first operand is a pattern and no file.
var patternFirst = map[string]bool{"grep": true, "egrep": true, "fgrep": true, "rg": true, "sed": true, "awk": true, "jq": true, "fd": true, "ag": true, "find": false}

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
var agentFolders = []string{".lathe", ".config/lathe", ".local/share/lathe", ".local/state/lathe", "Library/Application Support/lathe"}

// agentState reports whether a path lies in lathe's own state.
func agentState(a *analysis, p string) bool {
	for _, folder := range agentFolders {
		if below(strings.ToLower(p), strings.ToLower(filepath.Join(a.world.Home(), folder))) {
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
var protectedFolders = []string{".git", ".lathe", ".idea", ".ssh", ".gnupg", ".vscode", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".crush"}

// protectedFiles are such files: start-up files of shells, lists of servers and settings of agents, keys.
var protectedFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout",
	".cshrc", ".tcshrc", ".login", ".kshrc", ".mkshrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".inputrc", ".bash_env",
	".mcp.json", ".claude.json", ".netrc", "_netrc", ".git-credentials", ".pgpass", "authorized_keys", ".rhosts",
}

// protectedHome are paths below the home folder, protectedSystem absolute ones.
var (
	protectedHome = []string{
		".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/lathe", ".config/zsh", ".gitconfig",
		".local/share/lathe", ".local/state/lathe", "Library/LaunchAgents", "Library/Application Support/lathe", ".aws", ".kube", ".docker", ".npmrc", ".vimrc",
	}
	protectedSystem = []string{"/etc", "/boot", "/proc", "/sys", "/var/spool", "/Library/LaunchDaemons", "/Library/LaunchAgents"}
)

// settingsFiles choose programs or options of programs; settingsFolders hold such files.
var (
	settingsFiles = []string{
		".gitmodules", ".gitattributes", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml",
		".bazelrc", ".bazelversion", ".bazeliskrc", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
		"gradle-wrapper.properties", "maven-wrapper.properties", ".devcontainer.json", ".ripgreprc", "pyrightconfig.json", ".vimrc", ".exrc", ".nvimrc", ".tmux.conf",
		".screenrc", ".curlrc", ".wgetrc", ".gdbinit", ".lldbinit", ".psqlrc", ".irbrc", ".pryrc", ".pythonrc", ".pypirc", ".forward",
	}
	settingsFolders = []string{".husky", ".githooks", ".cargo", ".devcontainer", ".yarn", ".mvn", ".circleci", ".buildkite", ".direnv"}
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
	for _, name := range protectedHome {
		if below(full, home+"/"+strings.ToLower(name)) && rel == full {
			return true
		}
	}
	for _, abs := range protectedSystem {
		if below(p, abs) {
			return true
		}
	}
	parts := strings.Split(rel, "/")
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

// exempt are files in protected folders that nothing runs.
func exempt(folder string, rest []string) bool {
	if len(rest) == 0 {
		return false
	}
	last := rest[len(rest)-1]
	switch folder {
	case ".git":
		return strings.HasSuffix(last, ".lock") || strings.HasSuffix(last, "_msg") || strings.HasSuffix(last, "_editmsg") || last == "description" || last == "exclude" || rest[0] == "logs"
	case ".lathe", ".idea", ".ssh", ".gnupg":
		return false
	}
	return rest[0] == "worktrees" || strings.HasSuffix(last, ".md") || strings.HasSuffix(last, ".mdc") || strings.HasSuffix(last, ".txt")
}

// settings reports whether a path is one that chooses programs or options for them.
func settings(a *analysis, p string) bool {
	rel, _ := fromRoot(a, p)
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		if has(settingsFolders, part) || i == len(parts)-1 && has(settingsFiles, part) {
			return true
		}
	}
	return false
}

// writers are programs whose operands, or whose last one, are written.
var writers = map[string]bool{
	"tee": true, "cp": true, "mv": true, "ln": true, "install": true, "touch": true, "chmod": true, "chown": true, "truncate": true, "rm": true, "mkdir": true, "sed": true,
	"dd": true, "rsync": true, "sponge": true, "patch": true, "unlink": true, "shred": true, "chattr": true, "setfacl": true, "link": true, "symlink": true, "mkfifo": true, "ed": true, "ex": true,
	"vim": true, "vi": true, "nvim": true, "nano": true, "perl": true, "rmdir": true,
}

// protectedWord finds protected paths among the words of a program that writes.
func protectedWord(a *analysis, c *call) string {
	if !writers[c.name] || len(c.words) < 2 || c.use.Class.Looks() {
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
		if text == "" || strings.HasPrefix(text, "-") || strings.Contains(text, "\n") {
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
		strings.HasPrefix(rest, "fd/"), strings.HasPrefix(rest, "shm/"), strings.HasPrefix(rest, "tcp/"), strings.HasPrefix(rest, "udp/"):
		return false
	}
	return true
}

// gitProgram finds git config with a key that names a program.
func gitProgram(_ *analysis, c *call) string {
	if c.name != "git" {
		return ""
	}
	sub, rest := gitSubcommand(c)
	if sub != "config" {
		return ""
	}
	var operands []string
	for i := 0; i < len(rest); i++ {
		switch w := rest[i]; {
		case w == "-f" || w == "--file" || w == "--blob" || w == "--type" || w == "--default" || w == "--comment" || w == "--value" || w == "--url":
			i++
		case strings.HasPrefix(w, "--get") || w == "-l" || w == "--list" || strings.HasPrefix(w, "--unset") || w == "--name-only":
			return ""
		case strings.HasPrefix(w, "-"):
		default:
			operands = append(operands, w)
		}
	}
	if len(operands) > 0 && (operands[0] == "set" || operands[0] == "edit") {
		operands = operands[1:]
	} else if len(operands) < 2 || operands[0] == "get" || operands[0] == "list" || operands[0] == "unset" {
		return ""
	}
	if len(operands) > 0 && gitProgramKey(operands[0]) {
		return "git would run a program from then on: " + c.raw
	}
	return ""
}

// gitProgramKey reports whether a key of git's configuration names a program or brings in other settings.
func gitProgramKey(key string) bool {
	key = strings.ToLower(key)
	return among(key, "core.hookspath", "core.fsmonitor", "core.pager", "core.editor", "core.sshcommand", "core.askpass", "core.gitproxy", "core.alternaterefscommand",
		"core.attributesfile", "core.worktree", "diff.external", "sequence.editor", "gpg.*", "credential.*", "alias.*", "pager.*", "include.path", "includeif.*", "protocol.*", "uploadpack.*",
		"init.templatedir", "web.browser", "browser.*", "interactive.difffilter", "sendemail.*", "url.*", "http.proxy", "safe.*", "hook.*", "trailer.*") ||
		among(key, "*.command", "*.textconv", "*.clean", "*.smudge", "*.process", "*.driver", "*.cmd", "*.path", "*.helper", "*.program", "*.insteadof", "*.uploadpack", "*.receivepack", "*.vcs", "*.proxy")
}
