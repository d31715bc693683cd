package shell

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// hidesFiles reports whether a program gets the names of files that it reads or copies from elsewhere, so that a deny
// rule on files cannot be applied to them.
func hidesFiles(c *call) bool {
	if takesNamesFromFile(c) || among(c.name, "sed", "gsed") && !c.use.Class.ReadOnly() && !c.use.InPlace {
		return true
	}
	if c.use.Class.ReadOnly() && c.use.Class != permission.ClassRead && c.use.Class != permission.ClassSearch ||
		!inList("copies files", c.name) && !readsOperands(c) {
		return false
	}
	for i, w := range c.words[1:] {
		if w.unknown && !w.listed && !w.stays(c, i+1) && (c.name != "curl" && c.name != "wget" || sendsFile(c.words[i], w)) {
			return true
		}
	}
	return false
}

// sendsFile reports whether a word of curl or wget, behind the word before, may name a file that is sent.
func sendsFile(before, w word) bool {
	return strings.ContainsRune(w.text, '@') || among(w.text, "-T*", "--upload-file*", "--post-file*", "--body-file*") ||
		among(before.text, "-T", "-K", "-d", "-F", "-E", "--upload-file", "--config", "--data*", "--form*", "--json",
			"--cert", "--key", "--post-file", "--body-file", "-i", "--input-file")
}

// readsOperands reports whether a command that is not a copier of files reads the ones that it names.
func readsOperands(c *call) bool {
	switch {
	case c.use.Class == permission.ClassRead, c.use.Class == permission.ClassSearch:
		return true
	case among(c.name, "docker", "podman", "kubectl"):
		return c.arg(1) == "cp"
	case c.name == "aws":
		return c.arg(1) == "s3"
	case c.name == "git":
		return among(c.arg(1), "add", "stage", "mv", "hash-object", "apply", "am", "update-index")
	}
	return false
}

// takesNamesFromFile reports whether a program reads the files that a list in another file or its input names.
func takesNamesFromFile(c *call) bool {
	flags, ok := lists()["files in "+c.name]
	if !ok {
		return false
	}
	for i, w := range c.words[1:] {
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case i == 0 && strings.HasSuffix(c.name, "tar") && !strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "T"):
			return true // tar cTf list x
		case slices.ContainsFunc(flags, func(f string) bool {
			if strings.HasPrefix(f, "--") {
				return len(name) > 3 && strings.HasPrefix(f, name)
			}
			if f == "@" {
				return strings.HasPrefix(w.text, f)
			}
			return strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, f)
		}):
			return true
		}
	}
	return has(flags, "always")
}
