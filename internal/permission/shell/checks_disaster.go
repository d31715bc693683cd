package shell

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

func disasterChecks() []check {
	return []check{
		{"catastrophic-removal", deny, false, each(disaster)},
		{"agent-state", deny, false, reaching("it changes lathe's own state", permission.Write, agentState)},
		{"disk", deny, false, each(func(_ *analysis, c *call) string {
			if wipesDisk(c.name) {
				return "it formats, partitions or wipes a disk: " + c.raw
			}
			return ""
		})},
		{"power", deny, false, each(func(_ *analysis, c *call) string {
			switch c.name {
			case "shutdown", "reboot", "halt", "poweroff":
				return "it turns the machine off: " + c.raw
			case "systemctl", "loginctl":
				args := texts(c.words[min(1, len(c.words)):])
				for _, verb := range []string{
					"reboot", "poweroff", "halt", "kexec", "suspend", "hibernate", "rescue",
					"emergency", "isolate",
				} {
					if has(args, verb) {
						return "it turns the machine off: " + c.raw
					}
				}
			case "init", "telinit":
				args := texts(c.words[min(1, len(c.words)):])
				if has(args, "0") || has(args, "6") {
					return "it turns the machine off: " + c.raw
				}
			}
			return ""
		})},
		{"kill-all", deny, false, each(func(_ *analysis, c *call) string {
			switch c.name {
			case "killall5":
				return "it ends every process: " + c.raw
			case "kill":
				args := texts(c.words[1:])
				for i, arg := range args {
					if (arg == "-1" && i > 0) || (arg == "1" && i == len(args)-1 &&
						!(i > 0 && (args[i-1] == "-s" || args[i-1] == "-n"))) {
						return "it ends every process, or the first one: " + c.raw
					}
				}
			case "pkill":
				if has(texts(c.words), ".") || has(texts(c.words), ".*") {
					return "it ends every process: " + c.raw
				}
			}
			return ""
		})},
		{"fork-bomb", deny, false, sees("it multiplies without end", oddForkBomb)},
	}
}

// wipesDisk reports whether a program formats, partitions or wipes disks.
func wipesDisk(name string) bool {
	return among(name, names("disk programs")...)
}

// disaster reports a protected thing that a command would destroy.
func disaster(a *analysis, c *call) string {
	targets := condemned(c)
	for _, w := range targets {
		for _, dir := range dirsOrRoot(c.dirs) {
			if what := fatal(a, c, w, dir); what != "" {
				return "it destroys " + what + ": " + c.raw
			}
		}
	}
	return ""
}

// condemned are the words for files that a command destroys, moves away or changes as a whole.
func condemned(c *call) []word {
	if len(c.words) < 2 {
		return nil
	}
	switch c.name {
	case "rm", "rmdir", "unlink", "shred", "srm", "trash", "trash-put", "wipe", "zf_rm", "rimraf", "del", "rd":
		return operands(c.words[1:])
	case "gio", "npx", "gvfs-trash":
		if has(texts(c.words), "trash") || has(texts(c.words), "rimraf") {
			return operands(c.words[2:])
		}
	case "chown", "chmod", "chgrp", "setfacl", "chattr", "xattr":
		list := operands(c.words[1:])
		if !hasFlag(c.words, "--reference") && len(list) > 0 {
			list = list[1:]
		}
		if recursive(c.words) {
			return list
		}
	case "mv", "zf_mv":
		list := operands(c.words[1:])
		if hasFlag(c.words, "-t") || hasFlag(c.words, "--target") {
			return list
		}
		return list[:max(0, len(list)-1)]
	case "find", "bfs", "gfind", "fd", "fdfind":
		return found(c)
	case "rsync":
		if strings.Contains(c.raw, "--del") || strings.Contains(c.raw, "--remove-source") {
			return operands(c.words[1:])
		}
	case "tar":
		if strings.Contains(c.raw, "--remove-files") {
			return operands(c.words[1:])
		}
	case "git":
		return cleaned(c)
	}
	return nil
}

// cleaned are the words for files that git rm and git clean would delete.
func cleaned(c *call) []word {
	sub, _ := gitSubcommand(c)
	if sub != "rm" || !recursive(c.words) {
		return nil
	}
	var out []word
	for _, w := range operands(c.words[2:]) {
		if w.text != "rm" {
			out = append(out, w)
		}
	}
	return out
}

func operands(words []word) []word {
	var out []word
	plain := false
	for _, w := range words {
		if w.text == "--" && !plain {
			plain = true
			continue
		}
		if strings.HasPrefix(w.text, "-") && !plain {
			continue
		}
		out = append(out, w)
	}
	return out
}

func recursive(words []word) bool {
	return short(texts(words), 'R') || short(texts(words), 'r') || has(texts(words), "--recursive")
}

// found are the folders that find starts from when it removes its matches or hands them over.
func found(c *call) []word {
	fatal, filtered := false, false
	for _, w := range c.words[1:] {
		switch w.text {
		case "-delete":
			fatal = true
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-mtime", "-mmin", "-newer", "-size",
			"-empty", "-atime", "-ctime", "-user", "-perm", "-maxdepth", "-inum", "-samefile":
			filtered = true
		}
	}
	for _, words := range c.use.Inner {
		if len(words) == 0 {
			continue
		}
		switch filepath.Base(words[0].Text) {
		case "rm", "shred", "unlink", "rmdir", "mv", "chmod", "chown", "truncate", "dd", "sh", "bash", "srm", "chgrp", "tee",
			"cp":
			fatal = true
		}
	}
	if !fatal {
		return nil
	}
	var out []word
	for _, w := range c.words[1:] {
		if strings.HasPrefix(w.text, "-") || w.text == "(" || w.text == "!" {
			break
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		out = []word{{text: "."}}
	}
	if !filtered {
		return out
	}
	// With a filter only the matches are removed: that asks, and only the great folders are refused.
	var great []word
	for _, w := range out {
		if w.text == "/" || w.text == "//" || (filepath.IsAbs(w.text) && !strings.Contains(
			strings.Trim(filepath.Clean(w.text), "/"), "/")) || w.tilde {
			great = append(great, w)
		}
	}
	return great
}

// fatal is the protected thing that a word names from dir, "" for none.
func fatal(a *analysis, c *call, w word, dir string) string {
	text := w.text
	if w.unknown || w.guessed {
		// An empty variable leaves the rest: "$DIR"/ is the root then.
		if trimmed := strings.TrimRight(text, "/*."); trimmed == "" && strings.HasPrefix(text, "/") {
			return "the root if the variable is empty"
		}
		if text == "" || !filepath.IsAbs(text) {
			return ""
		}
		if inList("system folders", filepath.Clean(text)) {
			return filepath.Clean(text) + " if the variable is empty"
		}
		return ""
	}
	if text == "" {
		return ""
	}
	contents := false
	if w.glob {
		trimmed := strings.TrimRight(text, "/")
		parent, last := path.Split(trimmed)
		if !inList("whole folder", last) {
			return fatalPattern(text)
		}
		contents, text = true, unescape(parent)
		if text == "" {
			text = "."
		}
		if hasMeta(parent) {
			return fatalPattern(parent)
		}
	}
	named, node := a.resolve(from2(text, dir))
	for _, p := range []string{named, node.Real} {
		if p == "" {
			continue
		}
		if what := great(a, p, contents, c); what != "" {
			return what
		}
	}
	return ""
}

// from2 joins without cleaning, so that .. behind links is followed as the kernel does.
func from2(name, dir string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}

// fatalPattern tries a pattern against the folders at the top.
func fatalPattern(pattern string) string {
	pattern = strings.TrimRight(pattern, "/")
	for _, folder := range names("system folders") {
		if ok, err := path.Match(pattern, folder); err == nil && ok {
			return "what matches " + pattern
		}
	}
	return ""
}

// great is the protected thing at p; with contents, only the files in it are affected.
func great(a *analysis, p string, contents bool, c *call) string {
	p = filepath.Clean(p)
	folded := strings.ToLower(p)
	home := a.world.Home()
	changes := c.name == "chmod" || c.name == "chown" || c.name == "chgrp" || c.name == "setfacl"
	switch {
	case p == "/" || p == "." && !filepath.IsAbs(p) || strings.HasSuffix(p, `:\`):
		return "the root"
	case home != "" && below(home, p):
		return "the home folder"
	case !contents && path.Dir(p) == "/" && p != "/tmp":
		return "a folder at the top: " + p
	case inList("system folders", p):
		return "a folder of the system: " + p
	case below(folded, strings.ToLower(home+"/.ssh")), !contents && (folded == strings.ToLower(home)+"/.config" ||
		folded == strings.ToLower(home)+"/.local"):
		return "what the home folder cannot do without: " + p
	case !changes && !contents && strings.EqualFold(path.Base(p), ".git"):
		return "the repository's history: " + p
	}
	for _, root := range append([]string{a.start}, a.world.Roots()...) {
		if below(root, p) && (!changes || p != root) {
			return "the folder that is worked in, or one above it: " + p
		}
	}
	return ""
}
