package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Programs names the keys with which the configuration of the repository that git would use in dir names
// programs, includes other files or leads git to another folder, in the order of the files and each once.
// Only the repository's own files are read, no process is started. The error says why that cannot be told:
// a file that cannot be read, or a folder that git would take for a repository without a .git.
func Programs(dir string) ([]string, error) {
	repo, bare := findAny(dir)
	if bare != "" {
		return nil, fmt.Errorf("git would take %s for a repository, although it has no .git", bare)
	}
	if repo.Root == "" {
		return nil, nil
	}
	paths := []string{
		filepath.Join(repo.CommonDir, "config"), filepath.Join(repo.GitDir, "config.worktree"),
		filepath.Join(repo.Root, ".gitmodules"),
	}
	var keys []string
	for _, path := range paths {
		b, err := readSmall(path, 256<<10)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the repository's configuration cannot be read: %w", err)
		}
		settings, err := parseConfig(string(b))
		if err != nil {
			return nil, fmt.Errorf("the repository's configuration %s cannot be read: %w", path, err)
		}
		for _, s := range settings {
			if repo.names(s) && !slices.Contains(keys, s.key) {
				keys = append(keys, s.key)
			}
		}
	}
	return keys, nil
}

// findAny is Find that also sees a bare repository: a folder with HEAD, objects and
// refs, or with HEAD and a commondir that leads to them (gitrepository-layout(5)).
func findAny(dir string) (repo Repo, bare string) {
	for {
		if repo, ok := open(dir); ok {
			return repo, ""
		}
		if there(dir, "HEAD") && (there(dir, "commondir") || there(dir, "objects") && there(dir, "refs")) {
			return Repo{}, dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Repo{}, ""
		}
		dir = parent
	}
}

// Bare reports whether git, run in dir, would use a bare repository.
func Bare(dir string) bool {
	_, bare := findAny(dir)
	return bare != ""
}

func there(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// running are the keys with a fixed name whose value is a program, or leads to one or to other
// configuration (git-config(1)).
var running = []string{
	"core.gitproxy", "core.alternaterefscommand", "diff.external", "gpg.program", "gpg.ssh.defaultkeycommand",
	"uploadpack.packobjectshook", "include.path", "sendemail.sendmailcmd", "web.browser", "help.browser", "imap.tunnel",
	"init.templatedir", "core.notesrewriteref", "ssh.variant", "receive.procreceiverefs",
}

// Not among them are keys for hooks, editors, pagers, tools and credentials (core.hooksPath, core.editor, merge.tool):
// commands that only read start none of these, or ReadOnlyEnv overrides them.

// runningEnds are the last parts of such keys, by section, where the middle is a name of anybody's choice.
var runningEnds = map[string][]string{
	"filter": {"clean", "smudge", "process"}, "diff": {"command", "textconv"}, "merge": {"driver"}, "gpg": {"program"},
	"difftool": {"cmd", "path"}, "mergetool": {"cmd", "path"}, "includeif": {"path"},
	"remote": {"uploadpack", "receivepack", "vcs"}, "browser": {"cmd", "path"}, "man": {"cmd", "path"}, "guitool": {"cmd"},
	"trailer": {"command", "cmd"}, "tar": {"command"}, "sendemail": {"sendmailcmd", "tocmd", "cccmd", "headercmd"},
	"hook": {"command"},
}

// names reports whether a setting names a program, or leads git elsewhere.
func (r Repo) names(s setting) bool {
	section, rest, _ := strings.Cut(s.key, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	switch {
	case s.key == "core.fsmonitor": // a boolean chooses git's own daemon, which the environment keeps off
		return !boolean(s.value)
	case s.key == "core.worktree":
		return !r.leadsHome(s.value)
	case section == "alias":
		return strings.HasPrefix(s.value, "!")
	case section == "submodule" && last == "ignore": // git looks into the submodule, by its filters
		return s.value != "all" && s.value != "dirty"
	case section == "submodule" && last == "update":
		return strings.HasPrefix(s.value, "!")
	case section == "pager":
		return !boolean(s.value)
	case strings.HasPrefix(s.key, "filter.lfs.") && (strings.HasPrefix(s.value, "git-lfs ") ||
		strings.HasPrefix(s.value, "git lfs ")):
		return false // ReadOnlyEnv takes it away, and elsewhere it is the user's own git-lfs
	case s.value == "" && section != "include" && section != "includeif":
		return false // it takes a program away
	}
	return slices.Contains(running, s.key) || slices.Contains(runningEnds[section], last)
}

func boolean(v string) bool {
	return slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "1", "0", ""}, strings.ToLower(v))
}

// leadsHome reports whether core.worktree is where the work tree is anyway, as in submodules.
func (r Repo) leadsHome(value string) bool {
	named, err := filepath.EvalSymlinks(absolute(r.GitDir, value))
	if err != nil {
		return false
	}
	root, err := filepath.EvalSymlinks(r.Root)
	return err == nil && named == root
}

// ReadOnlyEnv are the variables for a git command that is to run nothing but git itself, in dir:
// variables to be put into one that has no GIT_* variable. Where the repository's configuration can name
// filters or drivers git is asked for them, which takes a process. The user's own filters stay: files would
// look changed without them.
func (g *Git) ReadOnlyEnv(ctx context.Context, dir string) ([]string, error) {
	var over [][2]string
	if repo, ok := Find(dir); ok {
		program, err := g.program(repo.Root)
		if err != nil {
			return nil, err
		}
		if over, err = g.overrides(ctx, program, repo, repository); err != nil {
			return nil, err
		}
	}
	return hardening(over), nil
}
