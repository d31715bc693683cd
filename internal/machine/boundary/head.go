package boundary

import (
	"os"
	"path/filepath"
	"regexp"
)

// heads are the files .git/HEAD of working folders before a command, by path. With a broken one git passes over the
// repository, and takes the one above it or a bare one among the project's files, with that one's configuration.
type heads map[string]string

func headsOf(folders []string) heads {
	out := heads{}
	for _, dir := range folders {
		path := filepath.Join(dir, ".git", "HEAD")
		if text, _, err := readRegular(path); err == nil && validHead.Match(text) {
			out[path] = string(text)
		}
	}
	return out
}

var validHead = regexp.MustCompile(`^(ref: refs/[^\x00-\x20]+|[0-9a-f]{40}|[0-9a-f]{64})\n?$`)

// restore puts back what a command broke in a repository that is still there, and returns a line for each.
func (h heads) restore() (lines []string) {
	for path, was := range h {
		text, _, err := readRegular(path)
		if err == nil && validHead.Match(text) || !there(filepath.Join(filepath.Dir(path), "objects")) {
			continue
		}
		if err := writeHead(path, was); err != nil {
			lines = append(lines, "The command broke "+path+", and it could not be restored: "+err.Error())
			continue
		}
		lines = append(lines, "The command broke "+path+"; lathe put the one before back.")
	}
	return lines
}

// writeHead follows no link: the command may have made one.
func writeHead(path, text string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.RemoveAll("HEAD"); err != nil {
		return err
	}
	return root.WriteFile("HEAD", []byte(text), 0o644)
}
