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
		if strings.ContainsAny(text, "/.") && !(i == 0 && inList("pattern first", c.name)) && secret(a, from(text, first(c.dirs))) {
			return "it reads secrets: " + w.show
		}
	}
	return ""
}

// secretPattern reports whether a pattern was made to reach secret files: it says more than a bare *.
func secretPattern(pattern string) bool {
	for part := range strings.SplitSeq(pattern, "/") {
		letters := strings.Trim(part, "*?[]!^")
		if len(letters) == 0 || !hasMeta(part) {
			continue
		}
		for _, sample := range names("secret samples") {
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

// protected reports whether a path is one that other programs run or obey.
func protected(a *analysis, p string) bool { return namedWrite(a, p) == permission.Deny }

// settings reports whether a path is one that chooses programs or options for them.
func settings(a *analysis, p string) bool { return namedWrite(a, p) == permission.Ask }

// namedWrite is what the guards say of writing a path, but for devices, which have a check of their own.
func namedWrite(a *analysis, p string) permission.Effect {
	if p == "/" || below(p, "/dev") {
		return ""
	}
	return permission.NamedWrite(a.world.Roots(), a.world.Home(), p)
}

// protectedWord finds protected paths among the words of a program that writes.
func protectedWord(a *analysis, c *call) string {
	if len(c.words) < 2 || c.use.Class.ReadOnly() || !inList("writers", c.name) {
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
