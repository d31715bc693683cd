package permission

import (
	"path/filepath"
	"slices"
)

// A command that the full sandbox holds runs unasked, whatever programs it turns out to run: the kernel limits what
// they do. A question comes before it only where a person alone can know: what the words plainly change, destroy or
// reach.

// held reports whether the full sandbox holds the command of the call.
func (c *call) held() bool {
	return slices.ContainsFunc(c.Accesses, func(a Access) bool { return a.Command != nil && a.Command.Held })
}

// heldChecks are the checks that ask before a held command runs. The others find tricks that hide a command from its
// reader, which the sandbox holds like any other.
var heldChecks = []string{
	"remove", "git-discard", "privilege", "persistence", "network", "network-device", "remote-script",
	"secret-read", "settings-write", "set-user-id", "history",
}

// heldAsks says why a held command needs a rule or a person; "" where it needs neither.
func (c *call) heldAsks(cmd *Command) string {
	for _, f := range cmd.Findings {
		if f.Check == "remove" && (c.removesTemp(cmd) || c.removesNothing(cmd)) {
			continue
		}
		if f.Effect != Ask || slices.Contains(heldChecks, f.Check) {
			return f.Text
		}
	}
	edits := c.Mode == AcceptEdits || c.Mode == Auto
	for i := range cmd.Parts {
		part := &cmd.Parts[i]
		switch {
		case part.Covered, c.filesInTemp(part), c.removesNothing(cmd):
		case part.Class == ClassDestructive, part.Changes && !edits:
			if part.Reason != "" {
				return part.Reason
			}
			return part.Program + " changes files"
		}
	}
	return ""
}

// filing are programs that change nothing but the files that they name.
var filing = []string{
	"cp", "mv", "mkdir", "touch", "rm", "rmdir", "ln", "tee", "install", "split", "csplit", "dd", "tar", "zip", "unzip",
	"truncate", "sqlite3", "sort", "sed", "gzip", "gunzip", "chmod",
}

// filesInTemp reports whether a part only changes files that its words name, all of them in the session's /tmp.
func (c *call) filesInTemp(part *Part) bool {
	if !part.Exact || !slices.Contains(filing, part.Program) {
		return false
	}
	writes := false
	for i := range c.Accesses {
		if a := &c.Accesses[i]; a.Kind == Write && !harmlessDevice(a.Target) {
			if writes = ownTemp(c.p.roots, a.Target); !writes {
				return false
			}
		}
	}
	return writes
}

// removesTemp reports whether all that a command plainly removes lies in the session's /tmp.
func (c *call) removesTemp(cmd *Command) bool {
	found := false
	for i := range cmd.Parts {
		if p := &cmd.Parts[i]; slices.Contains([]string{"rm", "rmdir", "unlink", "shred", "truncate"}, p.Program) {
			if found = c.filesInTemp(p); !found {
				return false
			}
		}
	}
	return found
}

// removesNothing reports whether none of the files is there that a command, the only one of its line, would remove.
func (c *call) removesNothing(cmd *Command) bool {
	if len(cmd.Parts) != 1 || !cmd.Parts[0].Exact || cmd.Parts[0].Class != ClassDestructive {
		return false
	}
	removes := false
	for i := range c.Accesses {
		if a := &c.Accesses[i]; a.Kind == Write {
			if removes = a.Node == Missing && !a.Below; !removes {
				return false
			}
		}
	}
	return removes
}

// changes reports whether the words of the command plainly say that it changes something.
func (c *Command) changes() bool {
	return c.Class == ClassDestructive || slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Changes })
}

// reach is what an allowed command may do to the working folders. Rules and persons allow what the line says; a mode
// allows a view.
func (c *call) reach(d Decision) Reach {
	switch {
	case d.Effect != Allow || !c.held():
		return ReachWrite
	case c.Mode == Plan:
		return ReachRead
	case c.Mode == Bypass:
		return ReachOpen
	case d.Rule != "":
		return ReachWrite
	case !c.changes() && c.readOnlyCommand():
		return ReachRead
	case c.Mode == AcceptEdits || c.Mode == Auto:
		return ReachEdit
	}
	return ReachView
}

// readOnlyCommand reports whether every command of the call is read-only by its words.
func (c *call) readOnlyCommand() bool {
	return !slices.ContainsFunc(c.Accesses,
		func(a Access) bool { return a.Command != nil && !a.Command.Class.ReadOnly() })
}

func (c *call) heldReason() string {
	switch {
	case c.Mode == Plan:
		return "the sandbox lets it read the project and change nothing"
	case c.Mode == AcceptEdits || c.Mode == Auto:
		return "the sandbox holds it, and the mode is " + string(c.Mode)
	}
	return "it runs in a private view of the project"
}

// ownTemp reports whether a path is in the session's own /tmp, which only its commands see.
func ownTemp(roots []string, path string) bool {
	_, ok := below("/tmp", slashed(path))
	return ok && !slices.ContainsFunc(roots, func(root string) bool {
		_, in := below(slashed(root), slashed(path))
		_, above := below(slashed(path), slashed(root))
		return in || above
	})
}

// shown reports whether a held command sees a path outside of the working folders: all of the system, and nothing of
// the home folder but toolchains and caches.
func shown(home, path string) bool {
	path = slashed(path)
	if _, in := below(slashed(home), path); !in || home == "" {
		return !slices.ContainsFunc(homes, func(dir string) bool { _, in := below(dir, path); return in })
	}
	return slices.ContainsFunc(homeShown, func(name string) bool {
		_, in := below(slashed(filepath.Join(home, name)), path)
		return in
	})
}

// homes are where home folders lie.
var homes = []string{"/home", "/root", "/Users", "/var/root"}

// Homes returns where home folders lie.
func Homes() []string { return homes }

// HomeShown returns what an unapproved command sees of the home folder, relative to it.
func HomeShown() []string { return homeShown }

// homeShown are toolchains, caches and public configuration in the home folder. Credentials among them are masked.
var homeShown = []string{
	".cache", ".cargo", ".rustup", "go", "sdk", ".local/lib", ".local/bin", ".local/share/pnpm", ".local/share/mise",
	".local/share/uv", ".local/share/virtualenvs", ".local/share/fnm", ".npm", ".nvm", ".fnm", ".volta", ".yarn",
	".bun", ".deno", ".pyenv", ".rbenv", ".rvm", ".gem", ".bundle", ".sdkman", ".asdf", ".m2", ".gradle", ".ivy2", ".sbt",
	".nuget", ".dotnet", ".pub-cache", ".composer", ".conda", "miniconda3", "anaconda3", ".julia", ".opam", ".ghcup",
	".cabal", ".stack", ".mix", ".hex", "Library/Caches", ".config/git/config", ".config/git/ignore",
	".config/git/attributes", ".config/go", ".ripgreprc", ".config/ripgrep", ".jdks", ".jenv", "Android/Sdk", ".swiftpm",
	".gitconfig", ".gitignore", ".gitattributes", ".editorconfig", ".inputrc", ".terminfo",
}
