package files

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// GlobalIgnore is the path of the user's own ignore file for all repositories, or "" where there is none:
// core.excludesFile of ~/.gitconfig, else of $XDG_CONFIG_HOME/git/config, else $XDG_CONFIG_HOME/git/ignore
// (gitignore(5)).
func GlobalIgnore() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	path := filepath.Join(config, "git", "ignore")
	for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")} {
		if set := excludesFile(readOwn(file)); set != "" {
			path = filepath.FromSlash(set)
			break
		}
	}
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok {
		path = filepath.Join(home, filepath.FromSlash(rest))
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// excludesFile is core.excludesFile in the text of a git configuration, the last one; "" where it is not set.
func excludesFile(text string) (path string) {
	core := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			core = strings.EqualFold(strings.TrimSpace(strings.Trim(line, "[]")), "core")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if core && ok && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			path = configValue(strings.TrimSpace(value))
		}
	}
	return path
}

// configValue is a value as git reads it: in quotes, with a backslash before what stands for itself, up to a comment.
func configValue(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// globalRules are the rules of the user's own ignore file for a walk that starts in a folder; nil where there are none.
func globalRules(start string) *rules {
	path := GlobalIgnore()
	if path == "" {
		return nil
	}
	return parseRules(filepath.ToSlash(start), readOwn(path))
}

// readOwn reads a file of the user's, which may be a link; "" where that cannot be done.
func readOwn(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return ""
	}
	return string(data)
}
