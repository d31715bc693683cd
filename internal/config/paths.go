package config

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
)

// Paths are the folders that lathe uses, all absolute. Resolving them creates nothing.
type Paths struct {
	Home       string // the user's home folder; "" where there is none
	ConfigHome string // lathe's folder for settings, agents, commands, skills, themes
	DataHome   string // lathe's folder for sessions
	StateHome  string // lathe's folder for logs, trust, prompt history, locks
	CacheHome  string // lathe's folder for data that can be fetched or rebuilt
	ClaudeHome string // ~/.claude or CLAUDE_CONFIG_DIR

	Dir  string // the folder the instance was started in
	Root string // the project's folder: see Load
}

// ResolvePaths finds the folders from XDG's variables (https://specifications.freedesktop.org/basedir-spec;
// relative values are ignored, as it says), on Windows from AppData and LocalAppData. environ has the form of
// os.Environ; home overrides the home folder when not empty. Dir and Root stay empty.
func ResolvePaths(environ []string, home string) Paths {
	return resolvePaths(newEnvironment(environ), home)
}

func resolvePaths(env environment, home string) Paths {
	if home == "" {
		home = homeDir(env)
	}
	base := func(variable string, fallback ...string) string {
		if dir, ok := env.lookup(variable); ok && filepath.IsAbs(dir) {
			return filepath.Join(dir, "lathe")
		}
		return filepath.Join(append(append([]string{home}, fallback...), "lathe")...)
	}
	p := Paths{
		Home:       home,
		ConfigHome: base("XDG_CONFIG_HOME", ".config"),
		DataHome:   base("XDG_DATA_HOME", ".local", "share"),
		StateHome:  base("XDG_STATE_HOME", ".local", "state"),
		CacheHome:  base("XDG_CACHE_HOME", ".cache"),
		ClaudeHome: filepath.Join(home, ".claude"),
	}
	if runtime.GOOS == "windows" {
		p.windows(env)
	}
	if dir, ok := env.lookup("CLAUDE_CONFIG_DIR"); ok && filepath.IsAbs(dir) {
		p.ClaudeHome = filepath.Clean(dir)
	}
	return p
}

// windows moves folders without an XDG variable to their usual place on Windows.
func (p *Paths) windows(env environment) {
	place := func(dir *string, variable, override string, sub ...string) {
		if set, _ := env.lookup(override); filepath.IsAbs(set) {
			return
		}
		if root, _ := env.lookup(variable); filepath.IsAbs(root) {
			*dir = filepath.Join(append([]string{root, "lathe"}, sub...)...)
		}
	}
	place(&p.ConfigHome, "APPDATA", "XDG_CONFIG_HOME")
	place(&p.DataHome, "LOCALAPPDATA", "XDG_DATA_HOME", "data")
	place(&p.StateHome, "LOCALAPPDATA", "XDG_STATE_HOME", "state")
	place(&p.CacheHome, "LOCALAPPDATA", "XDG_CACHE_HOME", "cache")
}

func homeDir(env environment) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir, ok := env.lookup(name); ok && filepath.IsAbs(dir) {
			return dir
		}
	}
	u, err := user.Current()
	switch {
	case err == nil && filepath.IsAbs(u.HomeDir):
		return u.HomeDir
	case runtime.GOOS == "windows":
		return ""
	}
	return noHome
}

// noHome is the home folder of a user who has none, as in a container with any user id. It is not there and no one can
// make it, so nothing is read and nothing is kept there.
const noHome = "/proc/no-home"

// projectRoot returns the nearest folder from dir upwards with .lathe, .claude or .git in it, else dir. The
// home folder and its parents never count: their .claude is the user's own.
func projectRoot(dir, home string) string {
	if real, err := filepath.EvalSymlinks(home); err == nil && within(dir, real) {
		home = real
	}
	for at := dir; at != home; {
		for _, mark := range []string{".lathe", ".claude", ".git"} {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at
			}
		}
		parent := filepath.Dir(at)
		if parent == at || home != "" && within(home, parent) && within(dir, home) {
			break
		}
		at = parent
	}
	return dir
}

// managedPaths lists the policy files of administrators, lowest first; lathe's own win over Claude Code's.
func managedPaths(env environment) []string {
	dirs := []string{"/etc/claude-code", "/etc/lathe"}
	switch runtime.GOOS {
	case "darwin":
		dirs = []string{"/Library/Application Support/ClaudeCode", "/Library/Application Support/lathe"}
	case "windows":
		root, _ := env.lookup("PROGRAMFILES")
		if !filepath.IsAbs(root) {
			root = `C:\Program Files`
		}
		dirs = []string{filepath.Join(root, "ClaudeCode"), filepath.Join(root, "lathe")}
	}
	var out []string
	for _, dir := range dirs {
		out = append(out, filepath.Join(dir, "managed-settings.json"))
	}
	return out
}
