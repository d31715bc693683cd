package permission

import (
	"slices"
	"strings"
	"sync"
)

// The one list of names that matter beyond their content: who may write them may run anything later. The guards judge
// edits by it, the analysis the words of a line, the boundary what a command does.

// hold is what the sandbox does about a name.
type hold uint8

const (
	free    hold = iota // nothing: commands make it in everyday work, or it lies in the home folder
	unasked             // an unapproved command changes it nowhere
	top                 // as unasked, and no command changes it at the top of a working folder
	never               // no command makes it anywhere, or changes it at the top of a working folder
)

// guardedName is a row of names with one danger.
type guardedName struct {
	effect  Effect // of an edit
	hold    hold
	why     string
	folders string // matched with everything in them, at any depth; a/b is a folder b in a
	files   string // matched as the last name of a path; * stands for any text before
}

const (
	agentReads  = "an agent reads it as instructions"
	startUpFile = "a start-up file of the shell: it runs in every new terminal"
	inCI        = "it runs in CI, with the secrets there"
	versions    = "it sets the environment or the versions of programs for this folder"
	managers    = "the package manager runs what is named there"
	hooked      = "git runs the hooks that are named there"
	options     = "programs take options from there"
	gitNames    = "git's configuration names programs"
	// workspaceFile is the only name with a pattern.
	workspaceFile = "*.code-workspace"
	environment   = "editors and agents run programs from this environment later"
)

var guardedNames = []guardedName{
	{Deny, never, "lathe's own settings: who changes them decides what lathe may do", ".lathe", ""},
	{Deny, never, "the editor runs tasks from .idea", ".idea", ""},
	{Deny, free, "keys and hosts of ssh: whoever changes them can log in or be logged in to", ".ssh", ""},
	{Deny, free, "keys of GnuPG", ".gnupg", ""},
	{Ask, top, "git runs hooks from .husky", ".husky", ""},
	{Ask, unasked, "git may run hooks from .githooks", ".githooks", ""},
	{Ask, unasked, "cargo's configuration chooses programs", ".cargo", ""},
	{Ask, top, "the container of the editor is set up from .devcontainer", ".devcontainer", ""},
	{Ask, unasked, "yarn runs releases and plugins from .yarn", ".yarn/releases .yarn/plugins", ""},
	{Ask, free, "yarn runs releases and plugins from .yarn", ".yarn", ""},
	{Ask, unasked, "Maven takes options and wrappers from .mvn", ".mvn", ""},
	{Ask, unasked, inCI, ".circleci .buildkite .github/workflows .github/actions", ""},
	{Ask, free, "direnv loads the environment from .direnv", ".direnv", ""},
	{Ask, never, "the editor runs tasks from .fleet", ".fleet", ""},
	{Ask, unasked, "the editor runs tasks from .vs", ".vs", ""},
	{Ask, top, "Jujutsu's configuration of a repository names programs", ".jj/repo/config.toml", ""},
	{Ask, free, "Jujutsu's configuration of a repository names programs", ".jj", ""},
	{Deny, top, "Mercurial runs the hooks that are named there", ".hg/hgrc", ""},
	{Ask, free, environment, ".venv/bin venv/bin env/bin .env/bin .tox/bin .venv/scripts venv/scripts env/scripts " +
		".env/scripts .tox/scripts", ""},
	{Ask, free, "programs in node_modules/.bin are run later", "node_modules/.bin", ""},

	{
		Deny, free, startUpFile, "",
		".bashrc .bash_profile .bash_login .bash_aliases .bash_logout .profile .zshrc .zprofile .zshenv .zlogin .zlogout " +
			".cshrc .tcshrc .login .kshrc .mkshrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .inputrc .bash_env",
	},
	{Deny, never, "agents and editors start the servers that are named there", "", ".mcp.json"},
	{
		Deny, never, "the settings of an agent: who changes them decides what it may do", "",
		".claude.json opencode.json opencode.jsonc .opencode.json crush.json .crush.json",
	},
	{Deny, free, "credentials of other programs", "", ".netrc _netrc .git-credentials .pgpass authorized_keys .rhosts"},
	{
		Ask, unasked, agentReads, "",
		"AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md CODEX.md CRUSH.md OPENCODE.md QWEN.md " +
			"WARP.md copilot-instructions.md SKILL.md .cursorrules .windsurfrules .clinerules .roorules .goosehints .rules " +
			".augment-guidelines .aider.conf.yml .aiderignore .cursorignore .codeiumignore",
	},
	{Ask, top, gitNames, "", ".gitmodules"},
	{Ask, unasked, gitNames, "", ".gitconfig .gitattributes"},
	{Deny, free, "Mercurial runs the hooks that are named there", "", "hgrc .hgrc"},
	{Ask, never, versions, "", ".envrc"},
	{Ask, top, versions, "", ".tool-versions .mise.toml mise.toml rust-toolchain rust-toolchain.toml"},
	{Ask, unasked, versions, "", ".nvmrc"},
	{Ask, top, managers, "", ".yarnrc.yml"},
	{
		Ask, unasked, managers, "",
		".npmrc .yarnrc .pnpmfile.cjs bunfig.toml .bunfig.toml .bazelrc .bazelversion .bazeliskrc " +
			"gradle-wrapper.properties maven-wrapper.properties gradle-wrapper.jar .pypirc pip.conf",
	},
	{Ask, free, managers, "", ".pnp.cjs .pnp.loader.mjs"},
	{Ask, top, hooked, "", ".pre-commit-config.yaml lefthook.yml"},
	{
		Ask, unasked, hooked, "",
		".pre-commit-config.yml lefthook.yaml .lefthook.yml .lefthook.yaml lefthook.toml lefthook.json",
	},
	{Ask, top, options, "", ".ripgreprc"},
	{
		Ask, unasked, options, "",
		".devcontainer.json pyrightconfig.json mcp.json .curlrc .wgetrc .vimrc .exrc .nvimrc .gdbinit .lldbinit .screenrc " +
			".tmux.conf .psqlrc .irbrc .pryrc .pythonrc .forward",
	},
	{
		Ask, unasked, inCI, "",
		".gitlab-ci.yml .gitlab-ci.yaml .travis.yml .drone.yml Jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml " +
			"appveyor.yml .appveyor.yml cloudbuild.yaml buildspec.yml",
	},
	{Ask, unasked, "the settings and tasks of an editor's workspace", "", workspaceFile},
}

// agentDirs are the folders of agents and editors: texts there are read by a model, the rest is configuration that runs
// programs. No command makes them.
var agentDirs = []string{
	".claude", ".codex", ".cursor", ".gemini", ".opencode", ".crush", ".windsurf", ".roo", ".kiro", ".amazonq",
	".continue", ".goose", ".zed", ".vscode", ".cline", ".junie", ".agents", ".qwen", ".amp", ".factory", ".trae",
	".augment",
}

// namesHeld are the names of the rows with a hold, and the folders of agents with never.
func namesHeld(h hold) (out []string) {
	for _, row := range guardedNames {
		if row.hold == h {
			out = append(append(out, strings.Fields(row.folders)...), strings.Fields(row.files)...)
		}
	}
	if h == never {
		out = append(out, agentDirs...)
	}
	return out
}

// PlantNames returns the names that no command in a sandbox makes at any depth, or changes at the top of a working
// folder: they configure agents and editors, or the environment.
func PlantNames() []string { return namesHeld(never) }

// PluginState reports whether a file directly in a folder of PlantNames keeps the state of a plugin, and configures
// nothing: plugins of Claude Code write .claude/NAME.local.md, by way of a temporary file beside it.
func PluginState(dir, name string) bool {
	name = plainName(name)
	base, rest, ok := strings.Cut(name, ".local.md")
	if dir != ".claude" || !ok || base == "" || guardedFiles()[base+".md"].effect != "" {
		return false
	}
	return rest == "" || rest == ".tmp" || rest == ".lock" || strings.HasPrefix(rest, ".tmp.") &&
		strings.Trim(rest[len(".tmp."):], "0123456789") == ""
}

// RepositoryNames returns the paths that no command in a sandbox changes at the top of a working folder: they belong in
// a repository and choose what runs there.
func RepositoryNames() []string { return namesHeld(top) }

// UnaskedNames returns the paths that only an approved command makes or changes, PlantNames and RepositoryNames among
// them. A * stands for any text before.
func UnaskedNames() []string {
	return slices.Concat(namesHeld(unasked), namesHeld(top), namesHeld(never))
}

// DeniedNames returns the names that the guards let nobody write, in small letters.
var DeniedNames = sync.OnceValue(func() []string {
	out := append([]string{".git"}, agentDirs...)
	for _, row := range guardedNames {
		if row.effect == Deny {
			out = append(append(out, strings.Fields(row.folders)...), strings.Fields(row.files)...)
		}
	}
	return out
})

// guardedFiles are the rows of files by name, folders those of folders by their first name.
var (
	guardedFiles = sync.OnceValue(func() map[string]verdict {
		m := map[string]verdict{}
		for _, row := range guardedNames {
			for name := range strings.FieldsSeq(row.files) {
				m[foldName(name)] = verdict{effect: row.effect, why: row.why}
			}
		}
		return m
	})
	guardedFolders = sync.OnceValue(func() []guardedFolder {
		var out []guardedFolder
		for _, row := range guardedNames {
			for name := range strings.FieldsSeq(row.folders) {
				out = append(out, guardedFolder{strings.Split(name, "/"), verdict{effect: row.effect, why: row.why}})
			}
		}
		return out
	})
)

type guardedFolder struct {
	path []string
	verdict
}

// begins reports whether plain names begin with the folder.
func (f guardedFolder) begins(plain []string) bool {
	if len(plain) < len(f.path) {
		return false
	}
	for i, name := range f.path {
		if !isNamed(plain[i], name) {
			return false
		}
	}
	return true
}
