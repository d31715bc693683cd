package permission

import (
	"slices"
	"strings"
	"sync"
)

// guarded names: who may write them may run anything later. Names are plain (see plainName).

// guardedDirs are folders whose content is guarded at any depth.
var guardedDirs = []struct {
	name   string
	effect Effect
	why    string
}{
	{".lathe", Deny, "lathe's own settings: whoever changes them decides what lathe may do"},
	{".idea", Deny, "the editor runs tasks from .idea"},
	{".ssh", Deny, "keys and hosts of ssh: whoever changes them can log in or be logged in to"},
	{".gnupg", Deny, "keys of GnuPG"},
	{".husky", Ask, "git runs hooks from .husky"},
	{".githooks", Ask, "git may run hooks from .githooks"},
	{".cargo", Ask, "cargo's configuration chooses programs"},
	{".devcontainer", Ask, "the container of the editor is set up from .devcontainer"},
	{".yarn", Ask, "yarn runs releases and plugins from .yarn"},
	{".mvn", Ask, "Maven takes options and wrappers from .mvn"},
	{".circleci", Ask, "it runs in CI, with the secrets there"},
	{".buildkite", Ask, "it runs in CI, with the secrets there"},
	{".direnv", Ask, "direnv loads the environment from .direnv"},
	{".fleet", Ask, "the editor runs tasks from .fleet"},
	{".vs", Ask, "the editor runs tasks from .vs"},
	{".jj", Ask, "Jujutsu's configuration of a repository names programs"},
}

// guardedLists are the same, by their effect.
var guardedLists = []struct {
	effect Effect
	why    string
	names  string
}{
	{
		Deny, startUpFile,
		".bashrc .bash_profile .bash_login .bash_aliases .bash_logout .profile .zshrc .zprofile .zshenv .zlogin .zlogout " +
			".cshrc .tcshrc .login " +
			".kshrc .mkshrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .inputrc .bash_env",
	},
	{Deny, "agents and editors start the servers that are named there", ".mcp.json"},
	{Deny, "the settings of an agent: whoever changes them decides what it may do", agentSettings},
	{Deny, "credentials of other programs", ".netrc _netrc .git-credentials .pgpass authorized_keys"},
	{
		Ask, agentReads,
		"agents.md agents.override.md agent.md claude.md claude.local.md gemini.md codex.md crush.md opencode.md qwen.md " +
			"warp.md copilot-instructions.md skill.md " +
			".cursorrules .windsurfrules .clinerules .roorules .goosehints .rules .augment-guidelines .aider.conf.yml " +
			".aiderignore .cursorignore .codeiumignore",
	},
	{Ask, "git's configuration names programs", ".gitconfig .gitmodules .gitattributes"},
	{Deny, "Mercurial runs the hooks that are named there", "hgrc .hgrc"},
	{
		Ask, "it sets the environment or the versions of programs for this folder",
		".envrc .tool-versions .mise.toml mise.toml .nvmrc rust-toolchain rust-toolchain.toml",
	},
	{
		Ask, "the package manager runs what is named there",
		".npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs bunfig.toml .bunfig.toml .bazelrc " +
			".bazelversion .bazeliskrc " +
			"gradle-wrapper.properties maven-wrapper.properties gradle-wrapper.jar .pypirc pip.conf",
	},
	{Ask, "git runs the hooks that are named there", ".pre-commit-config.yaml .pre-commit-config.yml lefthook.yml " +
		"lefthook.yaml .lefthook.yml .lefthook.yaml lefthook.toml lefthook.json"},
	{Ask, "programs take options from there", ".devcontainer.json .ripgreprc pyrightconfig.json mcp.json .curlrc " +
		".wgetrc .vimrc .exrc .gdbinit .lldbinit .screenrc .tmux.conf .psqlrc"},
	{
		Ask, "it runs in CI, with the secrets there",
		".gitlab-ci.yml .gitlab-ci.yaml .travis.yml .drone.yml jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml " +
			"appveyor.yml .appveyor.yml cloudbuild.yaml buildspec.yml",
	},
}

const agentReads = "an agent reads it as instructions"

const startUpFile = "a start-up file of the shell: it runs in every new terminal"

// agentDirs are the folders of agents and editors: texts there are read by a model, the rest is
// configuration that runs programs.
var agentDirs = []string{
	".claude", ".codex", ".cursor", ".gemini", ".opencode", ".crush", ".windsurf", ".roo", ".kiro", ".amazonq",
	".continue", ".goose", ".zed",
	".vscode", ".cline", ".junie", ".agents", ".qwen", ".amp", ".factory", ".trae", ".augment",
}

// PlantNames returns the names of files and folders that configure agents and editors, or the environment. No command
// in a sandbox makes or writes them, at any depth.
func PlantNames() []string {
	return append(strings.Fields(agentSettings+" .lathe .mcp.json .idea .fleet .envrc"), agentDirs...)
}

// PluginState reports whether a file directly in a folder of PlantNames keeps the state of a plugin, and configures
// nothing: plugins of Claude Code write .claude/NAME.local.md, by way of a temporary file beside it.
func PluginState(dir, name string) bool {
	name = plainName(name)
	base, rest, ok := strings.Cut(name, ".local.md")
	if dir != ".claude" || !ok || base == "" || guardedNames()[base+".md"].effect != "" {
		return false
	}
	return rest == "" || rest == ".tmp" || rest == ".lock" || strings.HasPrefix(rest, ".tmp.") &&
		strings.Trim(rest[len(".tmp."):], "0123456789") == ""
}

// RepositoryNames returns the names of files that belong in a repository and choose what runs there. No command in a
// sandbox writes them at the top of a working folder.
func RepositoryNames() []string {
	return []string{
		".husky", ".devcontainer", ".pre-commit-config.yaml", "lefthook.yml", ".tool-versions", "mise.toml", ".mise.toml",
		"rust-toolchain.toml", "rust-toolchain", ".hg/hgrc", ".jj/repo/config.toml", ".gitmodules", ".ripgreprc",
		".yarnrc.yml",
	}
}

const agentSettings = ".claude.json opencode.json opencode.jsonc .opencode.json crush.json .crush.json"

// guardedNames is guardedLists by name.
var guardedNames = sync.OnceValue(func() map[string]verdict {
	m := map[string]verdict{}
	for _, l := range guardedLists {
		for name := range strings.FieldsSeq(l.names) {
			m[name] = verdict{effect: l.effect, why: l.why}
		}
	}
	return m
})

// names is a list of names in one text as a set.
func names(text string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		m[name] = true
	}
	return m
}

var gitHookNames = sync.OnceValue(func() map[string]bool { return names(gitHooks) })

// guardWrite judges writing by the parts of a path from its root.
func guardWrite(parts []string) verdict {
	plain := plainNames(parts)
	last := plain[len(plain)-1]
	for i, name := range plain {
		rest := plain[i+1:]
		if isNamed(name, ".git") {
			if v := guardGit(rest); v.effect != "" {
				return v
			}
		}
		for _, d := range guardedDirs {
			if isNamed(name, d.name) {
				return verdict{effect: d.effect, why: d.why}
			}
		}
		for _, d := range agentDirs {
			if isNamed(name, d) && !(len(rest) > 1 && rest[0] == "worktrees") && !(len(rest) == 1 && PluginState(d, last)) {
				return guardAgent(d, last, len(rest))
			}
		}
		if len(rest) > 0 {
			if why := runsFrom(name, rest); why != "" {
				return verdict{effect: Ask, why: why}
			}
		}
	}
	return guardFile(parts, plain)
}

// guardFile judges by the name of the file itself.
func guardFile(parts, plain []string) verdict {
	last := plain[len(plain)-1]
	if v, ok := guardedNames()[last]; ok {
		return v
	}
	within := ""
	if len(plain) > 1 {
		within = plain[len(plain)-2]
	}
	switch {
	case parts[len(parts)-1] == "HEAD":
		return verdict{effect: Deny, why: "a folder with a HEAD, objects and refs is a repository to git, which runs " +
			"programs that its config names"}
	case last == "head" || last == "config" || last == "config.worktree" || last == "commondir" || last == "gitdir":
		return verdict{effect: Ask, why: "it may be a part of a bare repository, whose config names programs that git runs"}
	case within == "hooks" && gitHookNames()[last]:
		return verdict{effect: Ask, why: "git may run it as a hook"}
	case strings.HasSuffix(last, ".code-workspace"):
		return verdict{effect: Ask, why: "the settings and tasks of an editor's workspace"}
	}
	if _, why := secretFile(plain); why != "" {
		return verdict{effect: Ask, why: why}
	}
	return verdict{}
}

const gitHooks = "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg " +
	"commit-msg post-commit pre-rebase " +
	"post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction " +
	"push-to-checkout pre-auto-gc " +
	"post-rewrite sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist " +
	"p4-pre-submit post-index-change"

// isNamed compares a plain name with a protected one, also by its short name on Windows.
func isNamed(name, protected string) bool { return name == protected || shortOf(name, protected) }

// guardGit judges files in a .git folder, or the file .git itself. Files that git only reads as text ask.
func guardGit(rest []string) verdict {
	if len(rest) == 1 {
		name := rest[0]
		if strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, "_msg") || strings.HasSuffix(name, "_editmsg") ||
			name == "description" {
			return verdict{effect: Ask, why: "it belongs to git's own state"}
		}
	}
	if len(rest) > 0 && (rest[0] == "logs" || slices.Equal(rest, []string{"info", "exclude"})) {
		return verdict{effect: Ask, why: "it belongs to git's own state"}
	}
	if len(rest) > 0 && rest[0] == "hooks" {
		return verdict{effect: Deny, why: "git runs the hooks in .git by itself"}
	}
	return verdict{effect: Deny, why: "the inside of a git repository: its configuration names programs that git runs"}
}

// guardAgent judges the folders of agents and editors.
func guardAgent(dir, last string, depth int) verdict {
	text := depth > 0 && (strings.HasSuffix(last, ".md") || strings.HasSuffix(last, ".mdc") || strings.HasSuffix(last,
		".txt"))
	switch {
	case text:
		return verdict{effect: Ask, why: agentReads}
	case dir == ".vscode":
		return verdict{effect: Deny, why: "the editor runs tasks and programs that are named in .vscode"}
	}
	return verdict{effect: Deny, why: "the settings of an agent in " + dir +
		": whoever changes them decides what it may do"}
}

// runsFrom names folders from which programs are run later.
func runsFrom(name string, rest []string) string {
	switch {
	case name == ".github" && slices.Contains([]string{"workflows", "actions"}, rest[0]):
		return "it runs in CI, with the secrets there"
	case slices.Contains([]string{".venv", "venv", "env", ".env", ".tox"}, name) && slices.Contains(
		[]string{"bin", "scripts"}, rest[0]):
		return "editors and agents run programs from this environment later"
	case name == "node_modules" && rest[0] == ".bin":
		return "programs in node_modules/.bin are run later"
	}
	return ""
}

// guardHomeWrite judges writing below the home folder, by the folded path from there. It is for paths
// outside all working roots.
func guardHomeWrite(rel string) verdict {
	first, rest, _ := strings.Cut(rel, "/")
	second, _, _ := strings.Cut(rest, "/")
	switch first {
	case ".config":
		switch second {
		case "fish", "autostart", "systemd", "git", "environment.d", "plasma-workspace", "claude", "opencode", "crush",
			"containers", "nushell":
			return verdict{effect: Deny, why: "programs start or change what they do by what lies in ~/.config/" + second}
		case "gh", "gcloud", "op", "rclone":
			return verdict{effect: Deny, why: "credentials lie in ~/.config/" + second}
		}
	case ".aws", ".azure", ".kube", ".docker", ".password-store":
		return verdict{effect: Deny, why: "credentials lie in ~/" + first}
	case ".gitconfig", ".npmrc", ".pypirc", ".vimrc", ".emacs", ".emacs.d", ".vim", ".tmux.conf", ".screenrc", ".curlrc",
		".wgetrc", ".gdbinit", ".oh-my-zsh":
		return verdict{effect: Deny, why: "programs run what ~/" + first + " names, in every folder"}
	case "library":
		if second == "launchagents" || second == "preferences" || second == "keychains" {
			return verdict{effect: Deny, why: "the system starts programs, or keeps keys, there"}
		}
	case "bin", ".local":
		if first == "bin" || second == "bin" {
			return verdict{effect: Ask, why: "programs there take the place of others of the same name"}
		}
	}
	return verdict{}
}

// guardSystem judges writing to the system's own folders. The path is absolute and slashed.
func guardSystem(path string) verdict {
	first, rest, _ := strings.Cut(strings.TrimPrefix(foldName(path), "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	switch first {
	case "dev":
		if path == "/dev/tty" || strings.HasPrefix(path, "/dev/shm/") || harmlessDevice(path) {
			return verdict{}
		}
		return verdict{effect: Deny, why: path + " is a device: what is written there reaches the hardware"}
	case "proc", "sys", "boot", "efi":
		return verdict{effect: Deny, why: path + " belongs to the kernel or the start of the machine"}
	case "etc":
		return verdict{effect: Deny, why: path + " sets up the whole machine"}
	case "var":
		if second == "spool" {
			return verdict{effect: Deny, why: path + " may be run by cron"}
		}
	case "":
		return verdict{effect: Deny, why: "it is the root of the file system"}
	}
	return verdict{}
}

// guardRead asks before files with secrets are read in the working folders; files outside them ask anyway,
// but a rule for a whole tree does not cover a secret.
func guardRead(path, rel string) verdict {
	var few [fewNames]string
	parts := splitPath(few[:0], path)
	if why := secretRead(parts, len(parts)-namesIn(rel)); why != "" {
		return verdict{effect: Ask, why: why}
	}
	if last := len(parts) - 1; namesIn(rel) > 1 && plainName(parts[last-1]) == ".git" && isNamed(plainName(parts[last]),
		"config") {
		return verdict{effect: Ask, why: "the addresses in .git/config may hold passwords"}
	}
	return verdict{}
}
