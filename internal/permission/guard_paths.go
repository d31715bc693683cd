package permission

import (
	"slices"
	"strings"
	"sync"
)

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
	if v := guardNames(parts); v.effect != "" {
		return v
	}
	return guardFile(parts, plainNames(parts))
}

// guardNames judges writing by the list of names.
func guardNames(parts []string) verdict {
	plain := plainNames(parts)
	last := plain[len(plain)-1]
	for i, name := range plain {
		rest := plain[i+1:]
		if isNamed(name, ".git") {
			if v := guardGit(rest); v.effect != "" {
				return v
			}
		}
		for _, d := range guardedFolders() {
			if d.begins(plain[i:]) {
				return d.verdict
			}
		}
		for _, d := range agentDirs {
			if isNamed(name, d) && !(len(rest) > 1 && rest[0] == "worktrees") && !(len(rest) == 1 && PluginState(d, last)) {
				return guardAgent(d, last, len(rest))
			}
		}
	}
	if strings.HasSuffix(last, workspaceFile[1:]) {
		last = foldName(workspaceFile)
	}
	return guardedFiles()[last]
}

// guardFile judges by the name of a file that is in no list.
func guardFile(parts, plain []string) verdict {
	last := plain[len(plain)-1]
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
		": who changes them decides what it may do"}
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
